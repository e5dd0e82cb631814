package discord

import (
	"context"

	"github.com/saysohq/sayso/channels/fakes"
)

// Messages lists what the bot has sent to chats, oldest first, deleted ones included.
func (s *Server) Messages() []fakes.Message {
	return s.list(func(m *message) bool { return m.only == "" })
}

// Private lists what the bot has said to one person alone.
func (s *Server) Private() []fakes.Message {
	return s.list(func(m *message) bool { return m.only != "" })
}

func (s *Server) list(fits func(*message) bool) []fakes.Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []fakes.Message
	for _, m := range s.messages {
		if m.author.ID == s.bot.ID && fits(m) {
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

// AwaitMessage waits for a message of the bot that fits, also one that one person alone
// sees: a new one, or an edit.
func (s *Server) AwaitMessage(ctx context.Context, fits func(fakes.Message) bool) (fakes.Message, error) {
	return fakes.Await(ctx, &s.signal, func() (fakes.Message, bool) {
		for _, m := range s.list(func(*message) bool { return true }) {
			if fits(m) {
				return m, true
			}
		}
		return fakes.Message{}, false
	})
}

// AwaitReply waits for the first answer to an interaction; an acknowledgement and a
// dialog have no text.
func (s *Server) AwaitReply(ctx context.Context, id string) (fakes.Reply, error) {
	list, err := s.AwaitReplies(ctx, id, 1)
	if err != nil {
		return fakes.Reply{}, err
	}
	return list[0], nil
}

// AwaitReplies waits for n answers to an interaction.
func (s *Server) AwaitReplies(ctx context.Context, id string, n int) ([]fakes.Reply, error) {
	return fakes.Await(ctx, &s.signal, func() ([]fakes.Reply, bool) {
		s.mu.Lock()
		defer s.mu.Unlock()
		i := s.interactions[id]
		if i == nil || len(i.replies) < n {
			return nil, false
		}
		return i.replies, true
	})
}

// Responded is the type of the first response to an interaction, 0 before it.
func (s *Server) Responded(id string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := s.interactions[id]; i != nil {
		return i.responded
	}
	return 0
}

// AwaitListening waits until exactly n connections to the gateway are up.
func (s *Server) AwaitListening(ctx context.Context, n int) error {
	_, err := fakes.Await(ctx, &s.signal, func() (int, bool) {
		s.mu.Lock()
		defer s.mu.Unlock()
		return n, len(s.live()) == n
	})
	return err
}

// Sessions counts how often a session was begun, and how often one was continued.
func (s *Server) Sessions() (identified, resumed int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.identified, s.resumed
}

// AwaitSessions waits until sessions were begun and continued so often.
func (s *Server) AwaitSessions(ctx context.Context, identified, resumed int) error {
	_, err := fakes.Await(ctx, &s.signal, func() (bool, bool) {
		i, r := s.Sessions()
		return true, i >= identified && r >= resumed
	})
	return err
}
