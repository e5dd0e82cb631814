package discord

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/saysohq/sayso/channels/fakes"
)

// The types of channel.
const (
	typeText   = 0
	typeDirect = 1
	typeThread = 11
)

type person struct {
	wireUser
	closed   bool // Takes no direct messages from the bot.
	stranger bool // Has no server in common with the bot.
}

// channel is a server's channel, a thread or a direct chat.
type channel struct {
	id       string
	kind     int
	guild    string
	with     string // Direct chat: whose.
	archived bool
	locked   bool
	gone     bool // Deleted, or the bot was taken out.
	muted    bool // The bot may not write.
	blind    bool // The bot may not read what was said before.
	oldEdits int  // Edits of old messages that the present minute still takes.
	oldUntil time.Time
}

// address is how the channel under test spells it.
func (c *channel) address() string {
	if c.with != "" {
		return "@" + c.with
	}
	return c.id
}

// message is a message with everything that it has shown.
type message struct {
	id         string
	channel    *channel
	author     wireUser
	content    string
	embeds     []wireEmbed
	components []wireRow
	flags      int
	created    time.Time
	nonce      string
	replyTo    *message
	file       []byte
	fileName   string
	history    []string
	deleted    bool
	only       string // Ephemeral: the one who sees it.
}

func (s *Server) wire(m *message) *wireMessage {
	w := &wireMessage{
		ID: m.id, ChannelID: m.channel.id, Author: m.author, Content: m.content, Embeds: m.embeds, Components: m.components,
		Flags: m.flags, Timestamp: m.created.Format(time.RFC3339), Nonce: m.nonce,
	}
	if w.Embeds == nil {
		w.Embeds = []wireEmbed{}
	}
	if w.Components == nil {
		w.Components = []wireRow{}
	}
	if m.author.ID == s.bot.ID {
		w.ApplicationID = s.bot.ID
	}
	if m.replyTo != nil {
		w.Type = 19
		w.Reference = &wireReference{MessageID: m.replyTo.id, ChannelID: m.replyTo.channel.id}
		w.Referenced = s.wire(m.replyTo)
		w.Referenced.Referenced = nil // One level deep.
	}
	return w
}

func (m *message) locator() string { return m.channel.id + ":" + m.id }

// shown is the text of a message as a person reads it.
func (m *message) shown() (text string, pings []string) {
	text, pings = Show(m.content)
	for _, e := range m.embeds {
		for _, part := range append([]string{e.Title, e.Description}, fieldTexts(e)...) {
			more, found := Show(part)
			text, pings = text+"\n"+more, append(pings, found...)
		}
	}
	return strings.TrimSpace(text), pings
}

func fieldTexts(e wireEmbed) []string {
	var list []string
	for _, f := range e.Fields {
		list = append(list, f.Name, f.Value)
	}
	return list
}

func (m *message) view() fakes.Message {
	text, pings := m.shown()
	v := fakes.Message{
		Locator: m.locator(), Address: m.channel.address(), Text: text, History: slices.Clone(m.history),
		Edits: len(m.history) - 1, Pings: pings, Deleted: m.deleted, File: m.file, FileName: m.fileName,
	}
	if m.replyTo != nil {
		v.ReplyTo = m.replyTo.locator()
	}
	for _, row := range m.components {
		for _, b := range row.Components {
			v.Buttons = append(v.Buttons, fakes.Button{Label: b.Label, Payload: b.CustomID, URL: b.URL})
		}
	}
	return v
}

// add files a message.
func (s *Server) add(m *message) *message {
	m.id, m.created = s.newID(), s.Clock.Now()
	text, _ := m.shown()
	m.history = []string{text}
	s.messages = append(s.messages, m)
	return m
}

func (s *Server) find(channelID, id string) *message {
	i := slices.IndexFunc(s.messages, func(m *message) bool { return m.id == id && m.channel.id == channelID })
	if i < 0 {
		return nil
	}
	return s.messages[i]
}

func (s *Server) at(locator string) *message {
	channelID, id, _ := strings.Cut(locator, ":")
	return s.find(channelID, id)
}

// reachable says why the bot cannot act in a channel.
func (s *Server) reachable(id string) (*channel, *apiError) {
	c := s.channels[id]
	switch {
	case c == nil:
		return nil, refused(404, 10003, "Unknown Channel")
	case c.gone:
		return nil, refused(403, 50001, "Missing Access")
	}
	return c, nil
}

func (s *Server) writable(id string) (*channel, *apiError) {
	c, refusal := s.reachable(id)
	if refusal != nil {
		return nil, refusal
	}
	switch p := s.users[c.with]; {
	case c.muted:
		return nil, refused(403, 50013, "Missing Permissions")
	case c.locked:
		return nil, refused(403, 160005, "Thread is locked")
	case p != nil && p.stranger:
		return nil, refused(403, 50278, "Cannot send messages to this user due to having no mutual guilds")
	case p != nil && p.closed:
		return nil, refused(403, 50007, "Cannot send messages to this user")
	}
	return c, nil
}

// decode reads a body strictly and checks it.
func (s *Server) decode(q *request, edit bool) (*wireIn, *apiError) {
	in := new(wireIn)
	d := json.NewDecoder(bytes.NewReader(q.body))
	d.DisallowUnknownFields()
	if err := d.Decode(in); err != nil {
		return nil, s.violated(q, "body", err.Error())
	}
	if field, rule := checkMessage(in); rule != "" {
		return nil, s.violated(q, field, rule)
	}
	if rule := checkMentions(in.Mentions); rule != "" {
		s.Violations.Add("%s %s: %s", q.method, q.path[0], rule)
	}
	const suppressEmbeds, componentsV2 = 1 << 2, 1 << 15
	if edit && in.Flags&^(suppressEmbeds|componentsV2) != 0 {
		return nil, s.violated(q, "flags", "NOT_EDITABLE")
	}
	empty := (in.Content == nil || strings.TrimSpace(*in.Content) == "") && (in.Embeds == nil || len(*in.Embeds) == 0) && q.file == nil
	if empty && !edit {
		s.Violations.Add("%s %s: an empty message", q.method, q.path[0])
		return nil, refused(400, 50006, "Cannot send an empty message")
	}
	return in, nil
}

// violated records a broken rule of the platform and words the refusal.
func (s *Server) violated(q *request, field, rule string) *apiError {
	s.Violations.Add("%s %s: %s: %s", q.method, strings.Join(q.path, "/"), field, rule)
	return invalidForm(field, rule)
}

// apply makes a message show what a body gives; what it leaves out stays.
func (s *Server) apply(m *message, in *wireIn) {
	if in.Content != nil {
		m.content = strings.TrimSpace(*in.Content)
	}
	if in.Embeds != nil {
		m.embeds = *in.Embeds
	}
	if s.noEmbeds {
		m.embeds = nil
	}
	if in.Components != nil {
		m.components = *in.Components
	}
	m.flags = in.Flags
}

func (s *Server) openDirect(q *request) (any, *apiError) {
	var in struct {
		Recipient string `json:"recipient_id"`
	}
	_ = json.Unmarshal(q.body, &in) // The body is JSON.
	if s.users[in.Recipient] == nil {
		return nil, refused(400, 50033, "Invalid Recipient(s)")
	}
	return map[string]any{"id": s.directWith(in.Recipient).id, "type": typeDirect}, nil
}

// directWith is the direct chat with a person, the same one each time.
func (s *Server) directWith(user string) *channel {
	for _, c := range s.channels {
		if c.with == user {
			return c
		}
	}
	c := &channel{id: s.newID(), kind: typeDirect, with: user}
	s.channels[c.id] = c
	return c
}

// nonceLife is how long a nonce is remembered.
const nonceLife = 3 * time.Minute

func (s *Server) createMessage(q *request) (any, *apiError) {
	c, refusal := s.writable(q.path[1])
	if refusal != nil {
		return nil, refusal
	}
	in, refusal := s.decode(q, false)
	if refusal != nil {
		return nil, refusal
	}
	if in.Nonce != nil && in.Enforce {
		for _, m := range s.messages {
			if m.channel == c && m.nonce == *in.Nonce && s.Clock.Now().Sub(m.created) < nonceLife {
				return s.wire(m), nil
			}
		}
	}
	m := &message{channel: c, author: s.bot, file: q.file, fileName: q.name}
	if in.Nonce != nil {
		m.nonce = *in.Nonce
	}
	if r := in.Reference; r != nil {
		if c.blind {
			return nil, refused(400, 160002, "Cannot reply without permission to read message history")
		}
		m.replyTo = s.find(c.id, r.MessageID)
		if (m.replyTo == nil || m.replyTo.deleted) && r.Must {
			return nil, refused(400, 50035, "Unknown message")
		}
	}
	c.archived = false // Writing opens a thread again.
	s.apply(m, in)
	return s.wire(s.add(m)), nil
}

// Edits of messages older than an hour: a small budget of their own for each channel.
const (
	oldAfter  = time.Hour
	oldBudget = 3
	oldWindow = time.Minute
)

func (s *Server) editMessage(q *request) (any, *apiError) {
	c, refusal := s.reachable(q.path[1])
	if refusal != nil {
		return nil, refusal
	}
	m := s.find(c.id, q.path[3])
	switch {
	case m == nil || m.deleted || m.only != "":
		return nil, refused(404, 10008, "Unknown Message")
	case m.author.ID != s.bot.ID:
		return nil, refused(403, 50005, "Cannot edit a message authored by another user")
	case c.archived:
		return nil, refused(400, 50083, "Thread is archived")
	}
	if now := s.Clock.Now(); now.Sub(m.created) > oldAfter {
		if !now.Before(c.oldUntil) {
			c.oldEdits, c.oldUntil = oldBudget, now.Add(s.old)
		}
		if c.oldEdits == 0 {
			return nil, tooMany(30046, c.oldUntil.Sub(now), false)
		}
		c.oldEdits--
	}
	in, refusal := s.decode(q, true)
	if refusal != nil {
		return nil, refusal
	}
	before := *m
	s.apply(m, in)
	if !reflect.DeepEqual(before.content, m.content) || !reflect.DeepEqual(before.embeds, m.embeds) || !reflect.DeepEqual(before.components, m.components) {
		text, _ := m.shown()
		m.history = append(m.history, text)
	}
	return s.wire(m), nil
}

func (s *Server) editThread(q *request) (any, *apiError) {
	c, refusal := s.reachable(q.path[1])
	if refusal != nil {
		return nil, refusal
	}
	var in struct {
		Archived *bool `json:"archived"`
	}
	switch {
	case json.Unmarshal(q.body, &in) != nil || in.Archived == nil || c.kind != typeThread:
		return nil, s.violated(q, "archived", "UNION_TYPE_CHOICES")
	case c.locked:
		return nil, refused(http.StatusForbidden, 50013, "Missing Permissions")
	}
	c.archived = *in.Archived
	return map[string]any{"id": c.id, "type": c.kind}, nil
}

var (
	errNoMessage = errors.New("no such message")
	errNoUser    = errors.New("no such person")
	errNoButton  = errors.New("no such button")
)
