package slack

import (
	"strings"
	"time"

	"github.com/saysohq/sayso/channels/fakes"
)

// User is one account of the workspace, or one that it can see.
type User struct {
	ID         string
	Team       string // "" takes the fake's own.
	Name       string
	Deleted    bool
	Bot        bool
	AppUser    bool
	Guest      bool     // Multi-channel guest.
	SingleOnly bool     // Single-channel guest.
	Stranger   bool     // From a connected workspace.
	Hidden     bool     // users.info does not show it.
	OrgTeams   []string // Workspaces of the same organisation that it is in.
	NoMessages bool     // The app's messages tab is off for it.
}

type conversation struct {
	id       string
	user     string // Of a direct chat with the bot; "" for shared ones.
	left     bool   // The bot is not in it.
	archived bool
}

type message struct {
	conversation *conversation
	ts           string
	thread       string // ts of the root; "" for none.
	user         string // BotUser, or a person.
	text         string
	blocks       []block
	history      []string
	edits        int
	deleted      bool
	ephemeral    bool
	answers      string // Id of the typed command that an ephemeral message answers.
}

// trigger lets one dialog be opened, soon.
type trigger struct {
	made        time.Time
	used        bool
	user        string
	interaction *interaction
}

// The times that the platform gives.
const (
	triggerLife  = 3 * time.Second
	ackTime      = 3 * time.Second
	responseLife = 30 * time.Minute
	responseUses = 5
)

// AddUser makes a person known and opens their direct chat with the bot.
func (s *Server) AddUser(u User) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if u.Team == "" {
		u.Team = Team
	}
	s.users[u.ID] = &u
	d := directID(u.ID)
	s.conversations[d] = &conversation{id: d, user: u.ID}
}

// ChangeUser changes a person.
func (s *Server) ChangeUser(id string, change func(*User)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s.users[id])
}

// directID is the id of a person's direct chat with the bot.
func directID(user string) string { return "D" + user[1:] }

// AddChannel makes a shared channel with the bot in it.
func (s *Server) AddChannel(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conversations[id] = &conversation{id: id}
}

// AddThread posts a person's message and returns its ts, under which others can reply.
func (s *Server) AddThread(channel, user string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := &message{conversation: s.conversations[channel], ts: s.ts(), user: user, text: "a thread"}
	s.messages = append(s.messages, m)
	return m.ts
}

// CloseChat takes the bot out of a channel, or turns a person's messages tab off.
func (s *Server) CloseChat(address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id, _, _ := strings.Cut(address, "/")
	if u := s.users[id]; u != nil {
		u.NoMessages = true
		return
	}
	s.conversations[id].left = true
}

// Archive closes a channel for everybody.
func (s *Server) Archive(channel string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conversations[channel].archived = true
}

// Delete removes a message, as its people can.
func (s *Server) Delete(locator string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.at(locator)
	if m == nil {
		return errNoMessage
	}
	m.deleted = true
	return nil
}

// address spells a place as the channel under test does: people by their own id.
func (s *Server) address(channel, thread string) string {
	if c := s.conversations[channel]; c != nil && c.user != "" {
		channel = c.user
	}
	if thread != "" {
		return channel + "/" + thread
	}
	return channel
}

func (m *message) locator() string { return m.conversation.id + ":" + m.ts }

// at finds a message by its locator.
func (s *Server) at(locator string) *message {
	channel, ts, _ := strings.Cut(locator, ":")
	return s.find(channel, ts)
}

func (s *Server) find(channel, ts string) *message {
	for _, m := range s.messages {
		if m.conversation.id == channel && m.ts == ts {
			return m
		}
	}
	return nil
}

func (m *message) view(s *Server) fakes.Message {
	v := fakes.Message{
		Locator: m.locator(), Address: s.address(m.conversation.id, m.thread), Text: shown(m.text, m.blocks),
		Buttons: buttons(m.blocks), History: append([]string(nil), m.history...), Edits: m.edits,
		Pings: pings(m.text, m.blocks), Deleted: m.deleted, ReplyTo: m.answers,
	}
	if m.thread != "" {
		v.ReplyTo = m.conversation.id + ":" + m.thread
	}
	return v
}
