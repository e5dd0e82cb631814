package telegram

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/saysohq/sayso/channels/fakes"
)

// How long the real server keeps what nobody fetched, and how long a query can be
// answered (not published; the real one allows some tens of seconds).
const (
	keepQuery   = 150 * time.Second
	keepMessage = 24 * time.Hour
	answerTime  = 60 * time.Second
	maxLimit    = 100
)

// updates is the queue of the bot.
type updates struct {
	next       int64
	list       []*update
	generation int // Raised by every poll: an older one that waits has lost.
	allowed    []string
}

type update struct {
	wire     wireUpdate
	key      string // What the real server serialises by: the user of a query, the chat of a message.
	at       time.Time
	busy     bool // Under way to the webhook.
	attempts int
	sent     int // How often it was handed out.
}

func (u *update) kind() string {
	if u.wire.Query != nil {
		return "callback_query"
	}
	return "message"
}

func (u *update) stale(now time.Time) bool {
	if u.wire.Query != nil {
		return now.Sub(u.at) > keepQuery
	}
	return now.Sub(u.at) > keepMessage
}

// query is a pressed button that waits for its one answer.
type query struct {
	at      time.Time
	answers []fakes.Reply
	copies  int // Times that its update was queued or handed out again: each may be answered.
}

// push queues an update unless the bot did not ask for its kind.
func (s *Server) push(w wireUpdate, key string) {
	u := &update{wire: w, key: key, at: s.Clock.Now()}
	if len(s.queue.allowed) > 0 && !slices.Contains(s.queue.allowed, u.kind()) {
		return
	}
	if u.wire.ID == 0 {
		s.queue.next++
		u.wire.ID = s.queue.next
	}
	if q := s.queryOf(u); q != nil {
		q.copies++
	}
	s.queue.list = append(s.queue.list, u)
	s.signal.Notify()
}

// queryOf is the pressed button that an update tells of; nil for none.
func (s *Server) queryOf(u *update) *query {
	if u.wire.Query == nil {
		return nil
	}
	return s.queries[u.wire.Query.ID]
}

func (s *Server) dropStale() {
	now := s.Clock.Now()
	s.queue.list = slices.DeleteFunc(s.queue.list, func(u *update) bool { return u.stale(now) })
}

func (s *Server) allow(q *request) *apiError {
	text, ok := q.values["allowed_updates"]
	if !ok {
		return nil // The list of the call before stays in force.
	}
	var list []string
	if json.Unmarshal([]byte(text), &list) != nil {
		return s.refuse(q.method, "can't parse allowed updates")
	}
	s.queue.allowed = list
	return nil
}

func conflict(what string) *apiError { return &apiError{code: 409, description: "Conflict: " + what} }

// getUpdates confirms what lies below the offset and waits for more. A poll that
// waits is ended by the next one.
func (s *Server) getUpdates(ctx context.Context, q *request) (any, *apiError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hook.url != "" {
		return nil, conflict("can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first")
	}
	if refusal := s.allow(q); refusal != nil {
		return nil, refusal
	}
	s.queue.generation++
	mine := s.queue.generation
	if offset := q.integer("offset"); offset > 0 {
		s.queue.list = slices.DeleteFunc(s.queue.list, func(u *update) bool { return u.wire.ID < offset })
	}
	s.signal.Notify()
	timer := time.NewTimer(time.Duration(q.integer("timeout")) * time.Second)
	defer timer.Stop()
	for {
		changed := s.signal.Changed()
		if refusal := s.interrupted(mine); refusal != nil {
			return nil, refusal
		}
		if batch := s.batch(int(q.integer("limit"))); len(batch) > 0 || q.integer("timeout") == 0 {
			return batch, nil
		}
		s.mu.Unlock()
		ended := false
		select {
		case <-changed:
		case <-timer.C:
			ended = true
		case <-ctx.Done():
			ended = true
		}
		s.mu.Lock()
		if ended {
			return []wireUpdate{}, nil
		}
	}
}

func (s *Server) interrupted(generation int) *apiError {
	switch {
	case s.revoked:
		return &apiError{code: 401, description: "Unauthorized"}
	case s.hook.url != "":
		return conflict("terminated by setWebhook request")
	case s.queue.generation != generation:
		return conflict("terminated by other getUpdates request; make sure that only one bot instance is running")
	}
	return nil
}

func (s *Server) batch(limit int) []wireUpdate {
	if limit <= 0 || limit > maxLimit {
		limit = maxLimit
	}
	s.dropStale()
	batch := []wireUpdate{}
	for _, u := range s.queue.list {
		if len(batch) == limit {
			break
		}
		u.sent++
		if q := s.queryOf(u); q != nil && u.sent > 1 {
			q.copies++
		}
		batch = append(batch, u.wire)
	}
	return batch
}

// answerCallbackQuery takes one answer, in time. Answering twice what was
// delivered once is a fault of the caller.
func (s *Server) answerCallbackQuery(q *request) (any, *apiError) {
	if units(q.values["text"]) > maxAnswer {
		return nil, s.refuse(q.method, "MESSAGE_TOO_LONG")
	}
	open, ok := s.queries[q.values["callback_query_id"]]
	tooOld := badRequest("query is too old and response timeout expired or query ID is invalid")
	if !ok || s.Clock.Now().Sub(open.at) > answerTime {
		return nil, tooOld
	}
	if len(open.answers) > 0 {
		if len(open.answers) >= open.copies {
			s.Violations.Add("%s: a query was answered twice", q.method)
		}
		open.answers = append(open.answers, fakes.Reply{})
		return nil, tooOld
	}
	open.answers = append(open.answers, fakes.Reply{Text: q.values["text"], Alert: q.boolean("show_alert")})
	return true, nil
}
