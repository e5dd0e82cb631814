package discord

import "strings"

// AddUser makes a person, bot or system account known.
func (s *Server) AddUser(id, username, globalName string, bot bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.users[id] = &person{wireUser: wireUser{ID: id, Username: username, GlobalName: globalName, Bot: bot}}
}

// AddChannel makes a server's channel.
func (s *Server) AddChannel(id string) { s.addChannel(id, typeText) }

// AddThread makes a thread in a server.
func (s *Server) AddThread(id string) { s.addChannel(id, typeThread) }

func (s *Server) addChannel(id string, kind int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.channels[id] = &channel{id: id, kind: kind, guild: "800000000000000001"}
}

// CloseDirect lets a person take no direct messages any more.
func (s *Server) CloseDirect(user string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.users[user].closed = true
}

// LeaveServers takes the last server away that a person and the bot had in common.
func (s *Server) LeaveServers(user string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.users[user].stranger = true
}

// Archive archives a thread; a locked one is not opened again by anybody.
func (s *Server) Archive(id string, locked bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.channels[id].archived, s.channels[id].locked = true, locked
}

// Mute takes the bot's right to write away.
func (s *Server) Mute(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.channels[id].muted = true
}

// Blind takes the bot's right to read what was said before away.
func (s *Server) Blind(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.channels[id].blind = true
}

// Remove takes the bot out of a channel for good.
func (s *Server) Remove(address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.chat(address); c != nil {
		c.gone = true
	}
}

// Delete deletes a message.
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

// Own hands a message to somebody else, as if the bot had never written it.
func (s *Server) Own(locator, user string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.at(locator)
	if m == nil || s.users[user] == nil {
		return errNoMessage
	}
	m.author = s.users[user].wireUser
	return nil
}

// chat finds a channel by its address.
func (s *Server) chat(address string) *channel {
	if user, ok := strings.CutPrefix(address, "@"); ok {
		if s.users[user] == nil {
			return nil
		}
		return s.directWith(user)
	}
	return s.channels[address]
}

// Intents of the gateway.
const (
	intentGuildMessages  = 1 << 9
	intentDirectMessages = 1 << 12
)

// Typed is a written message.
type Typed struct {
	User    string
	Address string
	Text    string
	ReplyTo string // Locator; "" for none.
	// Attached sends a file with it.
	Attached bool
}

// Type writes a message and returns its locator. The bot hears of it only with the
// intent for that kind of chat, and over the gateway alone.
func (s *Server) Type(t Typed) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, p := s.chat(t.Address), s.users[t.User]
	if c == nil || p == nil {
		return "", errNoUser
	}
	m := &message{channel: c, author: p.wireUser, content: strings.TrimSpace(t.Text)}
	if t.ReplyTo != "" {
		if m.replyTo = s.at(t.ReplyTo); m.replyTo == nil {
			return "", errNoMessage
		}
	}
	s.add(m)
	intent := intentGuildMessages
	if c.kind == typeDirect {
		intent = intentDirectMessages
	}
	w := s.wire(m)
	w.GuildID = c.guild
	if t.Attached {
		w.Attachments = []wireAttachment{{ID: s.newID(), Filename: "picture.png", Size: 9}}
	}
	s.dispatch("MESSAGE_CREATE", w, func(g *gatewaySession) bool { return g.intents&intent != 0 })
	return m.locator(), nil
}
