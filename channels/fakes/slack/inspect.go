package slack

import (
	"context"

	"github.com/saysohq/sayso/channels/fakes"
)

// Messages lists what the bot has sent, oldest first, deleted ones and the answers to
// typed commands included.
func (s *Server) Messages() []fakes.Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []fakes.Message
	for _, m := range s.messages {
		if m.user == BotUser {
			list = append(list, m.view(s))
		}
	}
	return list
}

// Message finds one by its locator.
func (s *Server) Message(locator string) (fakes.Message, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.at(locator)
	if m == nil {
		return fakes.Message{}, false
	}
	return m.view(s), true
}

// AwaitMessage waits for a message of the bot that fits: a new one, or an edit.
func (s *Server) AwaitMessage(ctx context.Context, fits func(fakes.Message) bool) (fakes.Message, error) {
	return fakes.Await(ctx, &s.signal, func() (fakes.Message, bool) {
		for _, m := range s.Messages() {
			if fits(m) {
				return m, true
			}
		}
		return fakes.Message{}, false
	})
}

// NotTaken is what a person sees when nobody takes what they did.
const NotTaken = "This app is not responding."

// AwaitReply waits for the answer to a press, a command or a dialog that was sent
// off: a private message, or a dialog that has come to its content.
func (s *Server) AwaitReply(ctx context.Context, name string) (fakes.Reply, error) {
	return fakes.Await(ctx, &s.signal, func() (fakes.Reply, bool) {
		s.mu.Lock()
		defer s.mu.Unlock()
		i := s.interactions[name]
		switch {
		case i == nil:
			return fakes.Reply{}, false
		case len(i.replies) > 0:
			return i.replies[0], true
		case i.view != nil && i.view.interaction == i && i.view.settled():
			return fakes.Reply{Text: i.view.text()}, true
		case i.view != nil && i.view.interaction != i && len(i.view.interaction.replies) > 0:
			return i.view.interaction.replies[0], true // A dialog's answer comes where it was opened.
		case i.failed:
			return fakes.Reply{Text: NotTaken}, true
		}
		return fakes.Reply{}, false
	})
}

// Taken reports whether an interaction was acknowledged in time.
func (s *Server) Taken(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.interactions[name]
	return i != nil && i.taken
}

// settled is false while a dialog still waits for its content.
func (v *view) settled() bool { return v.updates > 0 || v.shown.input() != nil }

// text is what a dialog says, "" where it asks.
func (v *view) text() string {
	if v.shown.input() != nil {
		return ""
	}
	return shown("", v.shown.Blocks)
}
