package telegram

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// The accounts behind which real people hide in groups.
const (
	groupAnonymousBot = 1087968824
	channelBot        = 136817688
)

// AddUser makes a person whom the bot knows nothing of yet.
func (s *Server) AddUser(id int64, firstName, username string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.users[id] = wireUser{ID: id, FirstName: firstName, Username: username}
	if _, ok := s.chats[id]; !ok {
		s.chats[id] = &chat{wire: wireChat{ID: id, Type: "private", FirstName: firstName}}
	}
}

// AddBot makes another bot.
func (s *Server) AddBot(id int64, name string) {
	s.AddUser(id, name, name)
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.users[id]
	u.IsBot = true
	s.users[id] = u
}

// StartChat lets the person press Start; payload is what the link carried. The
// bot sees the command.
func (s *Server) StartChat(id int64, payload string) error {
	s.Change(id, func(c *Chat) { c.Started, c.Blocked = true, false })
	_, err := s.Type(Typed{User: id, Chat: id, Text: strings.TrimSpace("/start " + payload)})
	return err
}

// AddGroup makes a group, or a supergroup for an id below -1000000000000.
func (s *Server) AddGroup(id int64, title string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kind := "group"
	if id < -1_000_000_000_000 {
		kind = "supergroup"
	}
	s.chats[id] = &chat{wire: wireChat{ID: id, Type: kind, Title: title}}
}

// AddTopic makes the supergroup a forum with this topic.
func (s *Server) AddTopic(chatID int64, thread int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.chats[chatID]
	c.wire.IsForum = true
	if c.topics == nil {
		c.topics = map[int]*topic{}
	}
	c.topics[thread] = &topic{}
}

// Chat is what a test may change of a chat.
type Chat struct {
	Started     bool // Private: the person pressed Start.
	Blocked     bool // Private: the person blocked the bot.
	Deactivated bool // Private: the account is gone.
	Kicked      bool // The bot was removed.
	Muted       bool // The bot may not write.
	MovedTo     int64
}

// Change edits the state of a chat.
func (s *Server) Change(id int64, edit func(*Chat)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.chats[id]
	v := Chat{Started: c.started, Blocked: c.blocked, Deactivated: c.deactivated, Kicked: c.kicked, Muted: c.muted, MovedTo: c.movedTo}
	edit(&v)
	c.started, c.blocked, c.deactivated, c.kicked, c.muted, c.movedTo = v.Started, v.Blocked, v.Deactivated, v.Kicked, v.Muted, v.MovedTo
}

// CloseTopic closes a topic.
func (s *Server) CloseTopic(chatID int64, thread int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.chats[chatID].topics[thread].closed = true
}

// DeleteTopic deletes a topic. With falls, messages to it land in General.
func (s *Server) DeleteTopic(chatID int64, thread int, falls bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.chats[chatID].topics[thread]
	t.deleted, t.falls = true, falls
}

// Migrate upgrades a group to a supergroup. Old messages stay behind.
func (s *Server) Migrate(id, to int64) {
	s.AddGroup(to, "upgraded")
	s.Change(id, func(c *Chat) { c.MovedTo = to })
}

// DeleteMessage lets a person delete a message.
func (s *Server) DeleteMessage(locator string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.at(locator)
	if m == nil {
		return errNoMessage
	}
	m.deleted = true
	s.signal.Notify()
	return nil
}

var errNoMessage = errors.New("there is no such message")

// at finds a message by "<chat>:<message>".
func (s *Server) at(locator string) *message {
	chatText, idText, _ := strings.Cut(locator, ":")
	chatID, err := strconv.ParseInt(chatText, 10, 64)
	if err != nil {
		return nil
	}
	id, err := strconv.Atoi(idText)
	if err != nil {
		return nil
	}
	return s.find(chatID, id)
}

// Press is a pressed button.
type Press struct {
	User         int64
	Message      string // "<chat>:<message>".
	Label        string // The button; ignored with Data.
	Data         string // Forged: what a modified client sends.
	Forwarded    bool   // On a copy that the person forwarded to their own chat.
	Inaccessible bool   // The platform tells only where the message was.
	Inline       bool   // The platform tells no message at all.
	Anonymous    bool   // As the anonymous admin of the group.
}

// Press sends a callback query and returns its id.
func (s *Server) Press(p Press) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.at(p.Message)
	if m == nil {
		return "", errNoMessage
	}
	data := p.Data
	if data == "" {
		button, ok := m.view().Button(p.Label)
		if !ok || button.Payload == "" {
			return "", fmt.Errorf("the message has no such button (%d buttons)", len(m.view().Buttons))
		}
		data = button.Payload
	}
	from, ok := s.users[p.User]
	if !ok {
		return "", errors.New("there is no such user")
	}
	if p.Anonymous {
		from = wireUser{ID: groupAnonymousBot, IsBot: true, FirstName: "Group", Username: "GroupAnonymousBot"}
	}
	q := &wireQuery{ID: fmt.Sprintf("q%d", len(s.queries)+1), From: from, ChatInstance: "ci", Data: data}
	switch {
	case p.Inline:
		q.InlineMessageID = "inline-1"
	case p.Inaccessible:
		q.Message = wireInaccessible{Chat: m.chat.wire, MessageID: m.id}
	case p.Forwarded:
		q.Message = s.forward(m, from).wire()
	default:
		q.Message = m.wire()
	}
	s.queries[q.ID] = &query{at: s.Clock.Now()}
	s.push(wireUpdate{Query: q}, "user:"+formatID(from.ID))
	return q.ID, nil
}

func (s *Server) forward(m *message, by wireUser) *message {
	return s.add(&message{
		chat: s.chats[by.ID], from: by, text: m.text, entities: m.entities, markup: m.markup,
		forward: &wireOrigin{Type: "user", Date: m.date, SenderUser: m.from},
	})
}

// Typed is a message that a person writes.
type Typed struct {
	User      int64
	Chat      int64
	Thread    int
	Text      string
	ReplyTo   string // "<chat>:<message>"; "" for none.
	Anonymous bool   // As the anonymous admin of the group.
	Channel   int64  // On behalf of this channel.
	Attached  bool   // With a file, whose caption the text is.
}

// Type writes a message and returns its locator. The bot sees it where privacy
// mode lets it: in private chats, commands, and replies to its own messages.
func (s *Server) Type(t Typed) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, ok := s.chats[t.Chat]
	if !ok {
		return "", errors.New("there is no such chat")
	}
	m := &message{chat: c, thread: t.Thread, from: s.users[t.User], text: t.Text}
	if t.Anonymous {
		m.from = wireUser{ID: groupAnonymousBot, IsBot: true, FirstName: "Group", Username: "GroupAnonymousBot"}
		m.sender = &c.wire
	}
	if t.Channel != 0 {
		m.from = wireUser{ID: channelBot, IsBot: true, FirstName: "Channel", Username: "Channel_Bot"}
		m.sender = &wireChat{ID: t.Channel, Type: "channel", Title: "a channel"}
	}
	if t.ReplyTo != "" {
		if m.replyTo = s.at(t.ReplyTo); m.replyTo == nil {
			return "", errNoMessage
		}
	}
	if t.Attached {
		m.document = &upload{name: "picture.png", data: []byte("a picture")}
	}
	s.add(m)
	if strings.HasPrefix(t.Text, "/") {
		end := strings.IndexAny(t.Text+" ", " \n")
		m.entities = []wireEntity{{Type: "bot_command", Length: units(t.Text[:end])}}
	}
	toUs := m.replyTo != nil && m.replyTo.from.ID == s.bot.ID
	if c.wire.Type == "private" || strings.HasPrefix(t.Text, "/") || toUs {
		s.push(wireUpdate{Message: m.wire()}, "chat:"+formatID(c.wire.ID))
	}
	return m.locator(), nil
}

// Redeliver queues the update of a query again, under the same id, as the
// platform does when it never learned that the first copy was taken.
func (s *Server) Redeliver(queryID string, from Press) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.at(from.Message)
	if m == nil || s.queries[queryID] == nil {
		return errNoMessage
	}
	button, ok := m.view().Button(from.Label)
	data := button.Payload
	if !ok {
		data = from.Data
	}
	q := &wireQuery{ID: queryID, From: s.users[from.User], ChatInstance: "ci", Data: data, Message: m.wire()}
	s.push(wireUpdate{Query: q}, "user:"+formatID(from.User))
	return nil
}
