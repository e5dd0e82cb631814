package deliveries

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/core"
)

// failure is a failed call, reduced to what decides what happens next.
type failure struct {
	class      core.FailureClass
	text       string // Content-free, at most maxErrorText bytes.
	retryAfter time.Duration
	whole      bool
	single     bool
	address    string
}

const (
	maxErrorText = 200 // Bytes; the bound of Delivery.LastErrorText.
	firstBackoff = time.Second
	maxBackoff   = 10 * time.Minute
	authPause    = time.Minute // Between two tries with refused credentials.
	maxHops      = 5           // Moves that are followed at once; more than that waits with backoff.
)

// classify reads what a channel returned for a call that posts something, or for
// an edit. A post that it cannot place may have arrived: only a platform's word,
// or a call that never left, says otherwise. An edit can simply be repeated.
func classify(err error, posts bool) failure {
	f := read(err)
	if f.class == core.FailureAmbiguous && !posts {
		f.class = core.FailureTemporary
	}
	return f
}

func read(err error) failure {
	if isDial(err) {
		return failure{class: core.FailureTemporary, text: "no connection"}
	}
	var e *channels.Error
	if !errors.As(err, &e) {
		return failure{class: core.FailureAmbiguous, text: "no answer"}
	}
	f := failure{
		class: e.Class, text: bounded(e.Detail), retryAfter: e.RetryAfter, whole: e.Whole, single: e.Single, address: e.Address,
	}
	switch e.Class {
	case core.FailureRejected, core.FailureGone, core.FailureMoved, core.FailureRateLimited, core.FailureAuth:
	case core.FailureTemporary:
		if !e.NotSent {
			f.class = core.FailureAmbiguous
		}
	case core.FailureAmbiguous, core.FailureNone:
		f.class = core.FailureAmbiguous
	default:
		f.class = core.FailureAmbiguous
	}
	return f
}

// isDial reports an error from before the connection stood: not a byte was sent.
func isDial(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

func bounded(s string) string {
	if len(s) <= maxErrorText {
		return strings.ToValidUTF8(s, "")
	}
	s = s[:maxErrorText]
	for !utf8.ValidString(s) && len(s) > maxErrorText-utf8.UTFMax {
		s = s[:len(s)-1]
	}
	return strings.ToValidUTF8(s, "")
}

// backoff doubles from 1 s to 10 min with the attempts of the row; the upper half
// of each step is jitter, so that rows which failed together do not return
// together.
func (t *turn) backoff() time.Duration {
	d := maxBackoff
	if n := max(t.d.Attempts-1, 0); n < 20 {
		d = min(firstBackoff<<n, maxBackoff)
	}
	return d/2 + time.Duration(t.w.deps.Jitter()*float64(d/2))
}

func randomJitter() float64 {
	return rand.Float64() //nolint:gosec // Spreads retries; nothing secret depends on it.
}

// blocked obeys a rate limit or refused credentials. The platform's delay is kept
// to the millisecond and never shortened.
func (t *turn) blocked(ctx context.Context, f failure) {
	d, whole := f.retryAfter, f.whole
	if d <= 0 {
		d = t.backoff()
	}
	if f.single { // Whatever else waits for this chat need not wait for it.
		t.heldUp(ctx, ceilMillis(d), f)
		return
	}
	if f.class == core.FailureAuth {
		d, whole = max(d, authPause), true
		t.refusedOnce(ctx, f)
	}
	address := t.address
	if whole {
		address = ""
	}
	t.w.blocks.add(t.ref, address, d)
	t.w.deps.Pacer.Hold(ctx, t.ref, address, d)
	t.notSent(ctx, core.ReleaseDelivery{
		RetryIn: ceilMillis(d), BlockFor: ceilMillis(d), BlockAll: whole, Class: f.class, ErrorText: f.text,
	})
}

// heldUp obeys a limit of this one message. Where it delays the final answer for long,
// the row is due at once, and the chat is told beside the card.
func (t *turn) heldUp(ctx context.Context, wait core.Millis, f failure) {
	r := core.ReleaseDelivery{RetryIn: wait, EditFor: wait, Class: f.class, ErrorText: f.text}
	held := t.d
	held.EditAfter = t.now() + wait
	if held.Telling(t.now(), t.a.Status.Terminal(), t.a.CardRevision) {
		r.RetryIn = 0
	}
	t.notSent(ctx, r)
}

// moved follows a chat to its new address at once; a chat that keeps moving waits.
func (t *turn) moved(ctx context.Context, f failure) {
	if f.address == "" || f.address == t.address {
		t.closeFailed(ctx, failure{class: core.FailureGone, text: "the chat moved to nowhere"})
		return
	}
	r := core.ReleaseDelivery{Class: f.class, ErrorText: f.text, Address: f.address}
	if t.d.Attempts > maxHops {
		r.RetryIn = ceilMillis(t.backoff())
	}
	t.notSent(ctx, r)
}
