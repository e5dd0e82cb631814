package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/saysohq/sayso/channels/fakes"
)

// interaction is something that a person did and that the app owes an answer.
type interaction struct {
	id      string
	command bool
	place   *conversation
	thread  string
	replies []fakes.Reply
	view    *view
	taken   bool // Acknowledged in time.
	failed  bool // Nobody took it: the person sees a warning.
	clicked *message
}

// responseURL is where an answer to an interaction goes.
type responseURL struct {
	made        time.Time
	uses        int
	interaction *interaction
}

// Press is a pressed button.
type Press struct {
	User    string
	Message string // Locator.
	Label   string
	Forged  string // A payload that no button has; then Label is not used.
	// Team replaces the person's workspace in the payload.
	Team string
}

// Press presses a button and returns a name for its answer.
func (s *Server) Press(p Press) (string, error) {
	s.mu.Lock()
	m, u := s.at(p.Message), s.users[p.User]
	if m == nil || u == nil || m.deleted {
		s.mu.Unlock()
		return "", errNoMessage
	}
	b := block{ActionID: "forged", Value: p.Forged}
	if p.Forged == "" {
		var ok bool
		if b, ok = pressed(m.blocks, p.Label); !ok {
			s.mu.Unlock()
			return "", fmt.Errorf("there is no button %q", p.Label)
		}
	}
	i, trigger, response := s.interact(u.ID, m.conversation, m.thread)
	i.clicked = m
	if m.ephemeral {
		i.thread = ""
	}
	container := map[string]any{
		"type": "message", "channel_id": m.conversation.id, "message_ts": m.ts, "is_ephemeral": m.ephemeral,
	}
	payload := map[string]any{
		"type": "block_actions", "team": map[string]any{"id": Team, "domain": "fake"}, "user": s.wireUser(u, p.Team),
		"api_app_id": App, "token": "deprecated", "container": container, "trigger_id": trigger, "response_url": response,
		"channel": map[string]any{"id": m.conversation.id, "name": "a-name"},
		"actions": []any{map[string]any{
			"type": "button", "action_id": b.ActionID, "block_id": "block-1", "value": b.Value, "action_ts": s.ts(),
			"text": map[string]any{"type": "plain_text", "text": p.Label},
		}},
	}
	if m.thread != "" {
		container["thread_ts"] = m.thread
	}
	if !m.ephemeral {
		payload["message"] = s.wire(m)
	}
	s.mu.Unlock()
	s.hand(&envelope{kind: "interactive", person: u.ID, payload: payload, interaction: i})
	return i.id, nil
}

func pressed(blocks []block, label string) (block, bool) {
	for _, b := range blocks {
		if i := slices.IndexFunc(b.Elements, func(e block) bool { return e.Type == "button" && e.Text.Text == label }); i >= 0 {
			return b.Elements[i], true
		}
	}
	return block{}, false
}

// interact makes what every interaction comes with. It runs under the lock.
func (s *Server) interact(user string, place *conversation, thread string) (i *interaction, triggerID, response string) {
	i = &interaction{id: s.id("interaction-"), place: place, thread: thread}
	s.interactions[i.id] = i
	triggerID = s.id("1000.2000.")
	s.triggers[triggerID] = &trigger{made: s.Clock.Now(), user: user, interaction: i}
	id := s.id("r")
	s.responses[id] = &responseURL{made: s.Clock.Now(), interaction: i}
	return i, triggerID, s.base + "/actions/" + id
}

func (s *Server) wireUser(u *User, team string) map[string]any {
	if team == "" {
		team = u.Team
	}
	return map[string]any{"id": u.ID, "username": u.Name, "name": u.Name, "team_id": team}
}

// Command types "/sayso <text>" in a conversation and returns its trigger id, which
// also names its answer.
func (s *Server) Command(user, channel, text string) (string, error) {
	s.mu.Lock()
	u, c := s.users[user], s.conversations[channel]
	if u == nil || c == nil {
		s.mu.Unlock()
		return "", errors.New("there is no such person or channel")
	}
	i, trigger, response := s.interact(u.ID, c, "")
	delete(s.interactions, i.id)
	i.id, i.command = trigger, true
	s.interactions[trigger] = i
	payload := map[string]any{
		"token": "deprecated", "team_id": Team, "team_domain": "fake", "channel_id": c.id, "channel_name": "a-name",
		"user_id": u.ID, "user_name": u.Name, "command": "/sayso", "text": text, "api_app_id": App,
		"is_enterprise_install": "false", "response_url": response, "trigger_id": trigger,
	}
	s.mu.Unlock()
	s.hand(&envelope{kind: "slash_commands", person: u.ID, payload: payload, interaction: i})
	return trigger, nil
}

// Typed is a written message.
type Typed struct {
	User    string
	Channel string // Id of the conversation.
	Text    string
	ReplyTo string // Locator of the message below which it is written; "" for none.
	Subtype string // Of an unusual message.
	Bot     bool   // Another app wrote it.
	// Attached sends a file with it.
	Attached bool
}

// Type writes a message and returns its locator. The app hears of it only in direct
// chats: it is subscribed to no others.
func (s *Server) Type(t Typed) (string, error) {
	s.mu.Lock()
	u, c := s.users[t.User], s.conversations[t.Channel]
	if u == nil || c == nil {
		s.mu.Unlock()
		return "", errors.New("there is no such person or channel")
	}
	m := &message{conversation: c, ts: s.ts(), user: u.ID, text: escape(t.Text)}
	if root := s.at(t.ReplyTo); root != nil {
		m.thread = root.ts
		if root.thread != "" {
			m.thread = root.thread
		}
	}
	s.messages = append(s.messages, m)
	event := s.wire(m)
	event["channel"], event["channel_type"], event["event_ts"] = c.id, "im", m.ts
	if t.Subtype != "" {
		event["subtype"] = t.Subtype
	}
	if t.Attached {
		event["subtype"], event["files"] = "file_share", []map[string]any{{"id": "F0PICTURE", "name": "picture.png"}}
	}
	if t.Bot {
		event["bot_id"] = "B0OTHER01"
	}
	payload := map[string]any{
		"type": "event_callback", "team_id": Team, "api_app_id": App, "event": event,
		"event_id": s.id("Ev"), "event_time": s.Clock.Now().Unix(),
	}
	s.mu.Unlock()
	if c.user != "" {
		s.hand(&envelope{kind: "events_api", person: u.ID, payload: payload})
	}
	return m.locator(), nil
}

// AnswerDialog waits for the dialog that a press opened and sends it off with a text.
func (s *Server) AnswerDialog(ctx context.Context, press, user, text string) (string, error) {
	v, err := fakes.Await(ctx, &s.signal, func() (*view, bool) {
		s.mu.Lock()
		defer s.mu.Unlock()
		i := s.interactions[press]
		if i == nil || i.view == nil || i.view.shown.input() == nil {
			return nil, false
		}
		return i.view, true
	})
	if err != nil {
		return "", err
	}
	s.mu.Lock()
	u := s.users[user]
	input := v.shown.input()
	i, trigger, _ := s.interact(user, v.interaction.place, v.interaction.thread)
	i.view = v
	wire := s.wireView(v)
	wire["state"] = map[string]any{"values": map[string]any{
		input.BlockID: map[string]any{input.Element.ActionID: map[string]any{"type": "plain_text_input", "value": text}},
	}}
	payload := map[string]any{
		"type": "view_submission", "team": map[string]any{"id": Team, "domain": "fake"}, "user": s.wireUser(u, ""),
		"api_app_id": App, "token": "deprecated", "trigger_id": trigger, "view": wire, "response_urls": []any{},
	}
	s.mu.Unlock()
	s.hand(&envelope{kind: "interactive", person: user, payload: payload, interaction: i})
	return i.id, nil
}

// hand gives a payload to the app, by push or by socket.
func (s *Server) hand(e *envelope) {
	s.mu.Lock()
	push := s.push
	s.mu.Unlock()
	if push == "" {
		s.deliver(e)
		return
	}
	s.tasks.Go(func() { s.pushTo(push, e) })
}

// acked takes an acknowledgement. It runs under the lock.
func (s *Server) acked(i *interaction, sent time.Time, body json.RawMessage) {
	if s.Clock.Now().Sub(sent) > ackTime {
		i.failed = true
		return
	}
	i.taken = true
	if i.view == nil || i.command {
		return
	}
	text := strings.TrimSpace(string(body))
	if text == "" || text == "null" {
		if i.view.interaction != i { // A submission: the empty body closes the dialog.
			i.view.closed = true
		}
		return
	}
	var response struct {
		Action string `json:"response_action"`
	}
	known := []string{"errors", "update", "push", "clear"}
	if json.Unmarshal(body, &response) != nil || !slices.Contains(known, response.Action) {
		s.Violations.Add("a dialog was answered with neither nothing nor an action")
	}
}

// serveResponse takes an answer at a response URL.
func (s *Server) serveResponse(w http.ResponseWriter, r *http.Request) {
	fault := s.Script.Take(fakes.OpAnswer, "")
	if fault != nil {
		if fault.Kind == fakes.FaultReject {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte("invalid_blocks"))
			return
		}
		if s.misbehave(w, r, fakes.OpAnswer, fault) {
			return
		}
	}
	var body struct {
		Text            string  `json:"text"`
		Blocks          []block `json:"blocks"`
		ResponseType    string  `json:"response_type"`
		ReplaceOriginal bool    `json:"replace_original"`
		DeleteOriginal  bool    `json:"delete_original"`
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(&body); err != nil {
		s.Violations.Add("response: the body is not JSON")
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if wrong := checkBlocks(body.Blocks, maxBlocks); len(wrong) > 0 {
		s.Violations.Add("response: %s", strings.Join(wrong, "; "))
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	u := s.responses[r.PathValue("id")]
	switch {
	case u == nil:
		s.mu.Unlock()
		s.Violations.Add("response: nobody was given this URL")
		w.WriteHeader(http.StatusNotFound)
		return
	case u.uses >= responseUses, s.Clock.Now().Sub(u.made) > responseLife:
		s.mu.Unlock()
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte("used_url"))
		return
	}
	u.uses++
	i := u.interaction
	replaces := body.ReplaceOriginal && i.clicked != nil && (i.clicked.ephemeral || i.clicked.conversation.user != "")
	if body.ResponseType != "ephemeral" && !replaces || body.ReplaceOriginal && !replaces || body.DeleteOriginal {
		s.Violations.Add("response: an answer that others see, or that replaces what others see")
	}
	if replaces {
		i.clicked.text, i.clicked.blocks = body.Text, body.Blocks
		i.clicked.edits++
		i.clicked.history = append(i.clicked.history, shown(body.Text, body.Blocks))
	}
	if i.command || !replaces && hasButtons(body.Blocks) { // Others pass without being pressed.
		s.messages = append(s.messages, &message{
			conversation: i.place, ts: s.ts(), user: BotUser, text: body.Text, blocks: body.Blocks,
			history: []string{shown(body.Text, body.Blocks)}, ephemeral: true, answers: i.answers(),
		})
	}
	if p := pings(body.Text, body.Blocks); len(p) > 0 {
		s.Violations.Add("response: it mentions or links %v", p)
	}
	i.replies = append(i.replies, fakes.Reply{Text: shown(body.Text, body.Blocks)})
	s.mu.Unlock()
	if fault != nil && fault.Kind == fakes.FaultResetAfter {
		reset(w)
	} else {
		_, _ = w.Write([]byte("ok"))
	}
	s.signal.Notify()
}

func hasButtons(blocks []block) bool {
	return slices.ContainsFunc(blocks, func(b block) bool { return b.Type == "actions" && len(b.Elements) > 0 })
}

// answers is the id of the typed command that is answered; "" for a click.
func (i *interaction) answers() string {
	if i.command {
		return i.id
	}
	return ""
}
