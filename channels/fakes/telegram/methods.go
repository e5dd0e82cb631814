package telegram

import (
	"reflect"
	"slices"
	"strings"
)

// refuse records a broken rule of the platform and words the refusal.
func (s *Server) refuse(method, rule string) *apiError {
	s.Violations.Add("%s: %s", method, rule)
	return badRequest(rule)
}

// content reads and checks text, entities and markup of a message.
func (s *Server) content(q *request, private bool) (string, []wireEntity, *wireMarkup, *apiError) {
	text := q.values["text"]
	if rule := checkText(text, maxText); rule != "" {
		return "", nil, nil, s.refuse(q.method, rule)
	}
	if q.values["parse_mode"] != "" {
		return "", nil, nil, s.refuse(q.method, "can't parse entities: this server reads the entities parameter only")
	}
	var entities []wireEntity
	if refusal := q.object("entities", "entities", &entities); refusal != nil {
		return "", nil, nil, s.refuse(q.method, refusal.description)
	}
	if rule := checkEntities(text, entities); rule != "" {
		return "", nil, nil, s.refuse(q.method, rule)
	}
	markup, refusal := s.markup(q, private)
	return text, entities, markup, refusal
}

func (s *Server) markup(q *request, private bool) (*wireMarkup, *apiError) {
	if q.values["reply_markup"] == "" {
		return nil, nil
	}
	markup := new(wireMarkup)
	if refusal := q.object("reply_markup", "reply markup", markup); refusal != nil {
		return nil, s.refuse(q.method, refusal.description)
	}
	if rule := checkMarkup(markup, private); rule != "" {
		return nil, s.refuse(q.method, rule)
	}
	for _, row := range markup.InlineKeyboard {
		for i := range row {
			if row[i].CopyText != nil && row[i].CopyText.Text == "" {
				row[i].CopyText = nil
			}
		}
	}
	if len(markup.InlineKeyboard) == 0 && !markup.ForceReply {
		return nil, nil
	}
	return markup, nil
}

// repliedTo finds the message that a new one replies to.
func (s *Server) repliedTo(q *request, c *chat) (*message, *apiError) {
	var p wireReplyTo
	if refusal := q.object("reply_parameters", "reply parameters", &p); refusal != nil || p.MessageID == 0 {
		return nil, refusal
	}
	m := s.find(c.wire.ID, p.MessageID)
	if (m == nil || m.deleted) && !p.AllowMissing {
		return nil, badRequest("message to be replied not found")
	}
	if m != nil && m.deleted {
		return nil, nil
	}
	return m, nil
}

func (s *Server) sendMessage(q *request) (any, *apiError) {
	c, thread, refusal := s.writable(q)
	if refusal != nil {
		return nil, refusal
	}
	text, entities, markup, refusal := s.content(q, c.wire.Type == "private")
	if refusal != nil {
		return nil, refusal
	}
	replyTo, refusal := s.repliedTo(q, c)
	if refusal != nil {
		return nil, refusal
	}
	m := &message{chat: c, thread: thread, from: s.bot, text: strings.TrimRight(text, " \n\t"), entities: entities, markup: markup, replyTo: replyTo}
	return s.add(m).wire(), nil
}

func (s *Server) sendDocument(q *request) (any, *apiError) {
	c, thread, refusal := s.writable(q)
	if refusal != nil {
		return nil, refusal
	}
	file, ok := q.files["document"]
	if !ok || len(file.data) == 0 {
		return nil, s.refuse(q.method, "file must be non-empty")
	}
	if caption := q.values["caption"]; caption != "" {
		if rule := checkText(caption, maxCaption); rule != "" {
			return nil, s.refuse(q.method, rule)
		}
	}
	replyTo, refusal := s.repliedTo(q, c)
	if refusal != nil {
		return nil, refusal
	}
	return s.add(&message{chat: c, thread: thread, from: s.bot, document: &file, replyTo: replyTo}).wire(), nil
}

// editable finds a message of ours that can be edited.
func (s *Server) editable(q *request) (*message, *apiError) {
	c, refusal := s.reachable(q.integer("chat_id"))
	if refusal != nil {
		return nil, refusal
	}
	m := s.find(c.wire.ID, int(q.integer("message_id")))
	switch {
	case m == nil || m.deleted:
		return nil, badRequest("message to edit not found")
	case m.from.ID != s.bot.ID || m.forward != nil, m.markup != nil && m.markup.ForceReply:
		return nil, badRequest("message can't be edited")
	}
	return m, nil
}

const notModified = "message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message"

func (s *Server) editMessageText(q *request) (any, *apiError) {
	m, refusal := s.editable(q)
	if refusal != nil {
		return nil, refusal
	}
	if m.document != nil {
		return nil, badRequest("there is no text in the message to edit")
	}
	text, entities, markup, refusal := s.content(q, m.chat.wire.Type == "private")
	if refusal != nil {
		return nil, refusal
	}
	if markup != nil && markup.ForceReply {
		return nil, s.refuse(q.method, "inline keyboard expected")
	}
	text = strings.TrimRight(text, " \n\t")
	if text == m.text && slices.EqualFunc(entities, m.entities, func(a, b wireEntity) bool { return reflect.DeepEqual(a, b) }) && reflect.DeepEqual(markup, m.markup) {
		return nil, badRequest(notModified)
	}
	m.text, m.entities, m.markup = text, entities, markup
	m.edited = s.Clock.Now().Unix()
	m.history = append(m.history, text)
	return m.wire(), nil
}

func (s *Server) editMessageReplyMarkup(q *request) (any, *apiError) {
	m, refusal := s.editable(q)
	if refusal != nil {
		return nil, refusal
	}
	markup, refusal := s.markup(q, m.chat.wire.Type == "private")
	if refusal != nil {
		return nil, refusal
	}
	if reflect.DeepEqual(markup, m.markup) {
		return nil, badRequest(notModified)
	}
	m.markup = markup
	m.edited = s.Clock.Now().Unix()
	m.history = append(m.history, m.text)
	return m.wire(), nil
}

func (s *Server) deleteMessage(q *request) (any, *apiError) {
	c, refusal := s.reachable(q.integer("chat_id"))
	if refusal != nil {
		return nil, refusal
	}
	m := s.find(c.wire.ID, int(q.integer("message_id")))
	if m == nil || m.deleted {
		return nil, badRequest("message to delete not found")
	}
	m.deleted = true
	return true, nil
}
