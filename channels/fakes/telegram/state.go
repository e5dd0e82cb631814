package telegram

import (
	"slices"

	"github.com/saysohq/sayso/channels/fakes"
)

// chat is a private chat, group or supergroup, and what keeps the bot out of it.
type chat struct {
	wire        wireChat
	started     bool // Private: the person pressed Start at least once.
	blocked     bool
	deactivated bool
	kicked      bool
	muted       bool // The bot may not write.
	movedTo     int64
	topics      map[int]*topic
}

type topic struct {
	closed  bool
	deleted bool
	falls   bool // Messages to the deleted topic land in General, silently.
}

// message is a message with everything that it has shown.
type message struct {
	id       int
	chat     *chat
	thread   int
	from     wireUser
	sender   *wireChat
	forward  *wireOrigin
	date     int64
	edited   int64
	text     string
	entities []wireEntity
	markup   *wireMarkup
	document *upload
	replyTo  *message
	history  []string
	deleted  bool
}

func (m *message) wire() *wireMessage {
	w := &wireMessage{
		MessageID: m.id, ThreadID: m.thread, IsTopicMessage: m.thread != 0, Date: m.date, EditDate: m.edited,
		Chat: m.chat.wire, Text: m.text, Entities: m.entities, SenderChat: m.sender, ForwardOrigin: m.forward,
		From: &m.from,
	}
	if m.markup != nil && len(m.markup.InlineKeyboard) > 0 {
		w.Markup = m.markup
	}
	if m.replyTo != nil {
		w.ReplyTo = m.replyTo.wire()
		w.ReplyTo.ReplyTo = nil // Replies are told one level deep.
	}
	if m.document != nil {
		w.Text, w.Caption, w.Entities = "", m.text, nil
		w.Document = &wireDocument{FileID: "file-" + formatID(int64(m.id)), UniqueID: "u" + formatID(int64(m.id)), FileName: m.document.name, FileSize: len(m.document.data)}
	}
	return w
}

func (m *message) locator() string { return formatID(m.chat.wire.ID) + ":" + formatID(int64(m.id)) }

func (m *message) address() string {
	if m.thread != 0 {
		return formatID(m.chat.wire.ID) + "/" + formatID(int64(m.thread))
	}
	return formatID(m.chat.wire.ID)
}

func (m *message) view() fakes.Message {
	v := fakes.Message{
		Locator: m.locator(), Address: m.address(), Text: m.text, History: slices.Clone(m.history),
		Edits: len(m.history) - 1, Pings: pings(m.text, m.entities), Deleted: m.deleted,
	}
	if m.replyTo != nil {
		v.ReplyTo = m.replyTo.locator()
	}
	if m.document != nil {
		v.File, v.FileName = m.document.data, m.document.name
	}
	if m.markup == nil {
		return v
	}
	v.Asks = m.markup.ForceReply
	for _, row := range m.markup.InlineKeyboard {
		for _, b := range row {
			button := fakes.Button{Label: b.Text, URL: b.URL}
			if b.CallbackData != nil {
				button.Payload = *b.CallbackData
			}
			v.Buttons = append(v.Buttons, button)
		}
	}
	return v
}

// reachable says why the bot cannot act in a chat.
func (s *Server) reachable(id int64) (*chat, *apiError) {
	c, ok := s.chats[id]
	if !ok {
		return nil, badRequest("chat not found")
	}
	switch {
	case c.movedTo != 0:
		e := badRequest("group chat was upgraded to a supergroup chat")
		e.parameters = map[string]any{"migrate_to_chat_id": c.movedTo}
		return nil, e
	case c.wire.Type == "private" && !c.started:
		return nil, badRequest("chat not found")
	case c.blocked:
		return nil, forbidden("bot was blocked by the user")
	case c.deactivated:
		return nil, forbidden("user is deactivated")
	case c.kicked:
		return nil, forbidden("bot was kicked from the " + c.wire.Type + " chat")
	}
	return c, nil
}

// writable also checks the right to write and the thread, and returns the thread
// in which the message will land.
func (s *Server) writable(q *request) (*chat, int, *apiError) {
	c, refusal := s.reachable(q.integer("chat_id"))
	if refusal != nil {
		return nil, 0, refusal
	}
	if c.muted {
		return nil, 0, badRequest("not enough rights to send text messages to the chat")
	}
	thread := int(q.integer("message_thread_id"))
	if thread == 0 {
		return c, 0, nil
	}
	t, ok := c.topics[thread]
	switch {
	case thread == generalTopic || !ok || (t.deleted && !t.falls):
		return nil, 0, badRequest("message thread not found")
	case t.deleted:
		return c, 0, nil
	case t.closed:
		return nil, 0, badRequest("TOPIC_CLOSED")
	}
	return c, thread, nil
}

func (s *Server) find(chatID int64, id int) *message {
	for _, m := range s.messages {
		if m.chat.wire.ID == chatID && m.id == id {
			return m
		}
	}
	return nil
}

func (s *Server) add(m *message) *message {
	s.nextID++
	m.id = s.nextID
	m.date = s.Clock.Now().Unix()
	m.history = []string{m.text}
	s.messages = append(s.messages, m)
	s.signal.Notify()
	return m
}
