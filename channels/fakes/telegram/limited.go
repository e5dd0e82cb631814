package telegram

import (
	"fmt"
	"net/http"
	"time"

	"github.com/saysohq/sayso/channels/fakes"
)

// DocumentedLimits are 30 messages a second for the bot, 20 a minute in a group, and
// about one a second in a direct chat. That one may be exceeded for a moment, how far
// is not said: it is kept over a minute here, with five to spare. Edits count like
// messages.
func DocumentedLimits() fakes.Limits {
	return fakes.Limits{
		Account: fakes.Limit{Calls: 30, Per: time.Second},
		Direct:  fakes.Limit{Calls: 65, Per: time.Minute},
		Shared:  fakes.Limit{Calls: 20, Per: time.Minute},
		Unit:    time.Second,
	}
}

// Traffic reports what posted or edited messages, where the fake has limits.
func (s *Server) Traffic() fakes.Traffic { return s.limiter.Traffic() }

// limited counts a request, and refuses it where there are too many or the fault says
// so. It returns true when that was the answer.
func (s *Server) limited(w http.ResponseWriter, op fakes.Op, q *request, fault *fakes.Fault) bool {
	switch op {
	case fakes.OpSend, fakes.OpEdit, fakes.OpFile:
	default:
		return false
	}
	var scripted time.Duration
	if fault != nil && fault.Kind == fakes.FaultRateLimit {
		scripted = fault.Delay
	}
	wait, _ := s.limiter.Admit(fakes.Request{
		Chat: q.values["chat_id"], Direct: q.integer("chat_id") > 0, Edit: op == fakes.OpEdit, At: time.Now(),
	}, scripted)
	if wait > 0 {
		s.reply(w, nil, tooMany(wait))
	}
	return wait > 0
}

// tooMany tells how long to stay away, in whole seconds; 0 does not tell.
func tooMany(wait time.Duration) *apiError {
	e := &apiError{code: 429, description: "Too Many Requests: retry later"}
	if wait > 0 {
		seconds := int((wait + time.Second - 1) / time.Second)
		e.description = fmt.Sprintf("Too Many Requests: retry after %d", seconds)
		e.parameters = map[string]any{"retry_after": seconds}
	}
	return e
}
