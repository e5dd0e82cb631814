package slack

import (
	"encoding/json"
	"errors"
	"strings"
)

var errNoMessage = errors.New("there is no such message")

func (s *Server) authTest(*request) (answer, string) {
	return answer{
		"url": "https://fake.slack.com/", "team": "Fake", "user": "sayso",
		"team_id": Team, "user_id": BotUser, "bot_id": BotID,
	}, ""
}

func (s *Server) botsInfo(q *request) (answer, string) {
	if q.args["bot"] != BotID {
		return nil, "bot_not_found"
	}
	return answer{"bot": map[string]any{"id": BotID, "app_id": App, "user_id": BotUser, "name": "sayso"}}, ""
}

func (s *Server) usersInfo(q *request) (answer, string) {
	u := s.users[q.args["user"]]
	switch {
	case u == nil:
		return nil, "user_not_found"
	case u.Hidden:
		return nil, "user_not_visible"
	}
	org := map[string]any{}
	if u.OrgTeams != nil {
		org["id"], org["teams"] = u.ID, u.OrgTeams
	}
	return answer{"user": map[string]any{
		"enterprise_user": org, "id": u.ID, "team_id": u.Team, "name": u.Name, "real_name": u.Name, "deleted": u.Deleted, "is_bot": u.Bot,
		"is_app_user": u.AppUser, "is_restricted": u.Guest || u.SingleOnly, "is_ultra_restricted": u.SingleOnly,
		"is_stranger": u.Stranger, "profile": map[string]any{"display_name": u.Name},
	}}, ""
}

// open resolves the channel of a send: a person's id means their direct chat.
func (s *Server) open(id string) (*conversation, string) {
	if u := s.users[id]; u != nil {
		id = directID(u.ID)
	}
	c := s.conversations[id]
	switch {
	case c == nil:
		return nil, "channel_not_found"
	case c.archived:
		return nil, "is_archived"
	case c.left:
		return nil, "not_in_channel"
	case c.user != "" && s.users[c.user].NoMessages:
		return nil, "messages_tab_disabled"
	}
	return c, ""
}

// content reads and checks what a message shows.
func (s *Server) content(q *request, m *message) string {
	m.text = q.args["text"]
	m.blocks = nil
	raw, hasBlocks := q.args["blocks"]
	if !hasBlocks && m.text == "" {
		return "no_text"
	}
	if len(m.text) > maxText {
		s.Violations.Add("%s: a text beyond %d characters is truncated", q.method, maxText)
	}
	if q.args["parse"] != "none" || q.args["link_names"] == "1" || q.args["link_names"] == "true" {
		s.Violations.Add("%s: names in the text may turn into mentions", q.method)
	}
	if !hasBlocks {
		return ""
	}
	if err := json.Unmarshal([]byte(raw), &m.blocks); err != nil {
		s.Violations.Add("%s: blocks: %v", q.method, err)
		return "invalid_blocks_format"
	}
	wrong := append(s.specs.blocks(raw), checkBlocks(m.blocks, maxBlocks)...)
	if len(wrong) > 0 {
		s.Violations.Add("%s: blocks: %s", q.method, strings.Join(wrong, "; "))
		return "invalid_blocks"
	}
	return ""
}

func (s *Server) postMessage(q *request) (answer, string) {
	c, refused := s.open(q.args["channel"])
	if refused != "" {
		return nil, refused
	}
	m := &message{conversation: c, user: BotUser, thread: q.args["thread_ts"]}
	if q.args["unfurl_links"] != "false" || q.args["unfurl_media"] != "false" {
		s.Violations.Add("chat.postMessage: what a card links to would be fetched")
	}
	if m.thread != "" {
		root := s.find(c.id, m.thread)
		if root == nil || root.thread != "" {
			return nil, "cannot_reply_to_message"
		}
	}
	if refused := s.content(q, m); refused != "" {
		return nil, refused
	}
	m.ts = s.ts()
	m.history = []string{shown(m.text, m.blocks)}
	s.messages = append(s.messages, m)
	return answer{"channel": c.id, "ts": m.ts, "message": s.wire(m)}, ""
}

func (s *Server) update(q *request) (answer, string) {
	c := s.conversations[q.args["channel"]] // Never a person's id.
	switch {
	case c == nil:
		return nil, "channel_not_found"
	case c.left, c.archived:
		return nil, "is_inactive"
	}
	m := s.find(c.id, q.args["ts"])
	switch {
	case m == nil, m.deleted, m.ephemeral:
		return nil, "message_not_found"
	case m.user != BotUser:
		return nil, "cant_update_message"
	}
	next := *m
	if refused := s.content(q, &next); refused != "" {
		return nil, refused
	}
	if len(next.blocks) > 0 && hasRichText(m.blocks) && !hasRichText(next.blocks) {
		return nil, "block_mismatch"
	}
	m.text, m.blocks = next.text, next.blocks
	m.edits++
	m.history = append(m.history, shown(m.text, m.blocks))
	return answer{"channel": c.id, "ts": m.ts, "text": m.text, "message": s.wire(m)}, ""
}

// wire is a message as payloads and answers carry it.
func (s *Server) wire(m *message) map[string]any {
	w := map[string]any{"type": "message", "user": m.user, "text": m.text, "ts": m.ts, "team": Team}
	if m.user == BotUser {
		w["bot_id"], w["app_id"] = BotID, App
	}
	if m.thread != "" {
		w["thread_ts"] = m.thread
	}
	if m.blocks != nil {
		w["blocks"] = m.blocks
	}
	return w
}

func (s *Server) connectionsOpen(*request) (answer, string) {
	ticket := s.id("ticket")
	s.sockets.tickets[ticket] = true
	return answer{"url": "ws" + strings.TrimPrefix(s.base, "http") + "/link?ticket=" + ticket + "&app_id=" + App}, ""
}
