package telegram

import (
	"context"

	"github.com/saysohq/sayso/channels/fakes"
)

// Messages lists what the bot has sent, oldest first, deleted ones included.
func (s *Server) Messages() []fakes.Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []fakes.Message
	for _, m := range s.messages {
		if m.from.ID == s.bot.ID {
			list = append(list, m.view())
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
	return m.view(), true
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

// AwaitReply waits for the answer to a pressed button.
func (s *Server) AwaitReply(ctx context.Context, queryID string) (fakes.Reply, error) {
	return fakes.Await(ctx, &s.signal, func() (fakes.Reply, bool) {
		s.mu.Lock()
		defer s.mu.Unlock()
		q := s.queries[queryID]
		if q == nil || len(q.answers) == 0 {
			return fakes.Reply{}, false
		}
		return q.answers[0], true
	})
}

// Unconfirmed is the number of updates that the bot has not taken for good.
func (s *Server) Unconfirmed() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropStale()
	return len(s.queue.list)
}

// HandedOut is how often updates that are not confirmed yet were given to a poll.
func (s *Server) HandedOut() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, u := range s.queue.list {
		n += u.sent
	}
	return n
}

// AwaitConfirmed waits until no update is left.
func (s *Server) AwaitConfirmed(ctx context.Context) error {
	_, err := fakes.Await(ctx, &s.signal, func() (bool, bool) { return true, s.Unconfirmed() == 0 })
	return err
}
