package slack

import (
	"net/http"
	"strconv"
	"time"

	"github.com/saysohq/sayso/channels/fakes"
)

// DocumentedLimits are one chat.postMessage a second in a channel, and 50 chat.update a
// minute for the workspace (tier 3). Posts may exceed theirs for a moment, how far is
// not said: it is kept over a minute here, with five to spare.
func DocumentedLimits() fakes.Limits {
	posts := fakes.Limit{Calls: 65, Per: time.Minute}
	return fakes.Limits{
		Direct: posts, Shared: posts, Edits: fakes.Limit{Calls: 50, Per: time.Minute},
		Unit: time.Second,
	}
}

// Traffic reports what posted or edited messages, where the fake has limits.
func (s *Server) Traffic() fakes.Traffic { return s.limiter.Traffic() }

// limited counts a request, and refuses it where there are too many or the fault says
// so. It returns true when that was the answer.
func (s *Server) limited(w http.ResponseWriter, op fakes.Op, q *request, fault *fakes.Fault) bool {
	if op != fakes.OpSend && op != fakes.OpEdit {
		return false
	}
	var scripted time.Duration
	if fault != nil && fault.Kind == fakes.FaultRateLimit {
		scripted = fault.Delay
	}
	s.mu.Lock()
	chat := s.address(q.args["channel"], "")
	direct := s.users[chat] != nil
	s.mu.Unlock()
	wait, _ := s.limiter.Admit(fakes.Request{Chat: chat, Direct: direct, Edit: op == fakes.OpEdit, At: time.Now()}, scripted)
	if wait > 0 {
		tooMany(w, wait)
	}
	return wait > 0
}

// tooMany tells how long to stay away, in whole seconds; 0 does not tell.
func tooMany(w http.ResponseWriter, wait time.Duration) {
	if wait > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int((wait+time.Second-1)/time.Second)))
	}
	write(w, http.StatusTooManyRequests, answer{"ok": false, "error": "ratelimited"})
}
