package discord

import (
	"net/http"
	"strings"
	"time"

	"github.com/saysohq/sayso/channels/fakes"
)

// DocumentedLimits are 50 calls a second for the bot, which are documented, and 5 in 5
// seconds in a channel, which is what was observed: posts and edits together here, the
// stricter reading.
func DocumentedLimits() fakes.Limits {
	chat := fakes.Limit{Calls: 5, Per: 5 * time.Second}
	return fakes.Limits{Account: fakes.Limit{Calls: 50, Per: time.Second}, Direct: chat, Shared: chat, Whole: true}
}

// Traffic reports what posted or edited messages, where the fake has limits.
func (s *Server) Traffic() fakes.Traffic { return s.limiter.Traffic() }

// limited counts a request, and refuses it where there are too many or the fault says
// so. It returns true when that was the answer.
func (s *Server) limited(w http.ResponseWriter, op fakes.Op, q *request, fault *fakes.Fault) bool {
	if q.path[0] != "channels" || len(q.path) < 3 { // Not about messages.
		return false
	}
	chat := s.addressOf(q)
	var scripted time.Duration
	if fault != nil && fault.Kind == fakes.FaultRateLimit {
		scripted = fault.Delay
	}
	wait, whole := s.limiter.Admit(fakes.Request{
		Chat: chat, Direct: strings.HasPrefix(chat, "@"), Edit: op == fakes.OpEdit, At: time.Now(),
	}, scripted)
	if wait > 0 {
		s.reply(w, nil, tooMany(0, wait, whole))
	}
	return wait > 0
}
