package discord

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/saysohq/sayso/channels/fakes"
)

// How long the platform takes responses.
const (
	responseTime = 3 * time.Second
	tokenLife    = 15 * time.Minute
)

// The types of interaction and of response.
const (
	kindCommand = 2
	kindClick   = 3
	kindModal   = 5

	respondMessage   = 4
	respondDeferred  = 5
	respondAck       = 6
	respondUpdate    = 7
	respondWithModal = 9
)

const ephemeral = 1 << 6

// interaction is something a person did, and what was answered.
type interaction struct {
	id        string
	token     string
	kind      int
	user      string
	channel   *channel
	message   *message // The clicked one; nil for commands.
	created   time.Time
	responded int // Type of the first response; 0 before it.
	original  *message
	modal     *wireModal
	replies   []fakes.Reply
}

// respond takes the first response.
func (s *Server) respond(q *request) (any, *apiError) {
	i := s.interactions[q.path[1]]
	if i == nil || i.token != q.path[2] || i.responded == 0 && s.Clock.Now().Sub(i.created) > responseTime {
		return nil, refused(http.StatusNotFound, 10062, "Unknown interaction")
	}
	if i.responded != 0 {
		return nil, refused(http.StatusBadRequest, 40060, "Interaction has already been acknowledged.")
	}
	var r wireResponse
	if json.Unmarshal(q.body, &r) != nil {
		return nil, s.violated(q, "body", "UNION_TYPE_CHOICES")
	}
	switch {
	case r.Type == respondMessage:
		m, refusal := s.answerMessage(q, r.Data, i, false)
		if refusal != nil {
			return nil, refusal
		}
		s.answered(i, r.Type, m)
	case r.Type == respondDeferred:
		i.responded = r.Type
		i.original = s.add(&message{channel: i.channel, author: s.bot, only: i.user})
	case r.Type == respondAck && i.kind != kindCommand:
		i.responded = r.Type
		i.replies = append(i.replies, fakes.Reply{})
	case r.Type == respondUpdate && i.message != nil:
		in, refusal := s.decode(&request{method: q.method, path: q.path, body: r.Data}, true)
		if refusal != nil {
			return nil, refusal
		}
		s.apply(i.message, in)
		text, _ := i.message.shown()
		i.message.history = append(i.message.history, text)
		i.responded = r.Type
		i.replies = append(i.replies, fakes.Reply{})
	case r.Type == respondWithModal && i.kind != kindModal:
		return s.openModal(q, i, r.Data)
	default:
		return nil, s.violated(q, "type", "UNION_TYPE_CHOICES")
	}
	return nil, nil
}

func (s *Server) openModal(q *request, i *interaction, raw []byte) (any, *apiError) {
	m := new(wireModal)
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(m); err != nil {
		return nil, s.violated(q, "data", err.Error())
	}
	if rule := checkModal(m); rule != "" {
		return nil, s.violated(q, "data", rule)
	}
	i.responded, i.modal = respondWithModal, m
	i.replies = append(i.replies, fakes.Reply{})
	return nil, nil
}

// answerMessage makes a private message of a body.
func (s *Server) answerMessage(q *request, raw []byte, i *interaction, edit bool) (*message, *apiError) {
	in, refusal := s.decode(&request{method: q.method, path: q.path, body: raw}, edit)
	if refusal != nil {
		return nil, refusal
	}
	if in.Flags&ephemeral == 0 && !edit {
		s.Violations.Add("%s: an answer for everybody to see", q.path[0])
	}
	if in.Nonce != nil || in.Reference != nil {
		return nil, s.violated(q, "nonce", "UNKNOWN_FIELD")
	}
	m := &message{channel: i.channel, author: s.bot, only: i.user}
	s.apply(m, in)
	m.flags = ephemeral
	return m, nil
}

// answered files a private message as an answer.
func (s *Server) answered(i *interaction, kind int, m *message) {
	if i.responded == 0 {
		i.responded = kind
	}
	s.add(m)
	i.original = m
	text, pings := m.shown()
	for _, p := range pings {
		s.Violations.Add("an answer mentions or links: %s", p)
	}
	i.replies = append(i.replies, fakes.Reply{Text: text})
}

// followable finds the interaction of a token that still takes follow-ups.
func (s *Server) followable(q *request) (*interaction, *apiError) {
	for _, i := range s.interactions {
		if i.token != q.path[2] {
			continue
		}
		switch {
		case q.path[1] != s.bot.ID, i.responded == 0:
			return nil, refused(http.StatusNotFound, 10015, "Unknown Webhook")
		case s.Clock.Now().Sub(i.created) > tokenLife:
			return nil, refused(http.StatusUnauthorized, 50027, "Invalid Webhook Token")
		}
		return i, nil
	}
	return nil, refused(http.StatusNotFound, 10015, "Unknown Webhook")
}

func (s *Server) followUp(q *request) (any, *apiError) {
	i, refusal := s.followable(q)
	if refusal != nil {
		return nil, refusal
	}
	m, refusal := s.answerMessage(q, q.body, i, false)
	if refusal != nil {
		return nil, refusal
	}
	s.answered(i, 0, m)
	return s.wire(m), nil
}

// editOriginal fills in what a deferred response left open.
func (s *Server) editOriginal(q *request) (any, *apiError) {
	i, refusal := s.followable(q)
	if refusal != nil {
		return nil, refusal
	}
	if i.original == nil && i.responded == respondAck && i.message != nil {
		return s.editClicked(q, i)
	}
	if i.original == nil {
		return nil, refused(http.StatusNotFound, 10008, "Unknown Message")
	}
	m, refusal := s.answerMessage(q, q.body, i, true)
	if refusal != nil {
		return nil, refusal
	}
	i.original.content, i.original.components = m.content, m.components
	text, _ := m.shown()
	i.replies = append(i.replies, fakes.Reply{Text: text})
	return s.wire(i.original), nil
}

// editClicked changes the clicked message after an acknowledgement without an answer.
func (s *Server) editClicked(q *request, i *interaction) (any, *apiError) {
	in, refusal := s.decode(&request{method: q.method, path: q.path, body: q.body}, true)
	if refusal != nil {
		return nil, refusal
	}
	s.apply(i.message, in)
	text, _ := i.message.shown()
	i.message.history = append(i.message.history, text)
	i.replies = append(i.replies, fakes.Reply{Text: text})
	return s.wire(i.message), nil
}

// open files an interaction and hands it over: to the endpoint where there is one, to
// the gateway otherwise. It returns its id.
func (s *Server) open(i *interaction, data map[string]any) string {
	i.id, i.created = s.newID(), s.Clock.Now()
	i.token = "interaction-token-" + i.id
	s.interactions[i.id] = i
	u := s.users[i.user].wireUser
	w := wireInteraction{
		ID: i.id, ApplicationID: s.bot.ID, Type: i.kind, Token: i.token, ChannelID: i.channel.id, Data: data, Version: 1,
		Channel: map[string]any{"id": i.channel.id, "type": i.channel.kind},
	}
	if i.channel.kind == typeDirect {
		w.User, w.Context = &u, 1
	} else {
		w.GuildID, w.Member = i.channel.guild, map[string]any{"user": u, "roles": []string{}}
	}
	if i.message != nil {
		w.Message = s.wire(i.message)
	}
	raw, _ := json.Marshal(w) // Its own structs.
	if s.endpoint == "" {
		s.dispatch("INTERACTION_CREATE", json.RawMessage(raw), nil)
		return i.id
	}
	s.tasks.Go(func() { _, _ = s.Push(raw, Signing{}) })
	return i.id
}

// Press is a pressed button.
type Press struct {
	User     string
	Message  string // Locator.
	Label    string // The button.
	CustomID string // Instead of a button's own: a modified client.
}

// Press presses a button and returns the id of the interaction. Where nobody listens
// the person sees that it failed.
func (s *Server) Press(p Press) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.at(p.Message)
	switch {
	case m == nil || m.deleted:
		return "", errNoMessage
	case s.users[p.User] == nil:
		return "", errNoUser
	}
	id := p.CustomID
	if id == "" {
		b, ok := m.view().Button(p.Label)
		if !ok || b.Payload == "" {
			return "", errNoButton
		}
		id = b.Payload
	}
	i := &interaction{kind: kindClick, user: p.User, channel: m.channel, message: m}
	return s.open(i, map[string]any{"custom_id": id, "component_type": 2}), nil
}

// Command gives /sayso with a subcommand, in a chat by its address.
func (s *Server) Command(user, address, sub string, options map[string]string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.chat(address)
	if c == nil || s.users[user] == nil {
		return "", errNoUser
	}
	list := []any{}
	for name, value := range options {
		list = append(list, map[string]any{"name": name, "type": 3, "value": value})
	}
	data := map[string]any{"id": "1", "name": "sayso", "type": 1, "options": []any{map[string]any{"name": sub, "type": 1, "options": list}}}
	return s.open(&interaction{kind: kindCommand, user: user, channel: c}, data), nil
}

// Modal is the dialog that an interaction opened.
func (s *Server) Modal(id string) (title, question, customID string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.interactions[id]
	if i == nil || i.modal == nil {
		return "", "", "", false
	}
	for _, p := range i.modal.Components {
		if p.Type == 10 {
			question, _ = Show(p.Content)
		}
	}
	return i.modal.Title, question, i.modal.CustomID, true
}

// Submit sends off the dialog that an interaction opened, and returns the id of the
// interaction that this is. old uses the form of components from before labels.
func (s *Server) Submit(id, user, text string, old bool) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	from := s.interactions[id]
	if from == nil || from.modal == nil {
		return "", errNoButton
	}
	var parts []any
	for _, p := range from.modal.Components {
		if p.Component == nil {
			continue
		}
		input := map[string]any{"type": 4, "custom_id": p.Component.CustomID, "value": strings.TrimSpace(text)}
		if old {
			parts = append(parts, map[string]any{"type": 1, "components": []any{input}})
		} else {
			parts = append(parts, map[string]any{"type": 18, "component": input})
		}
	}
	i := &interaction{kind: kindModal, user: user, channel: from.channel, message: from.message}
	return s.open(i, map[string]any{"custom_id": from.modal.CustomID, "components": parts}), nil
}
