package callbacks

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/approvals"
	"github.com/saysohq/sayso/presentation"
)

// settleWithin bounds the second look after a write whose outcome is unknown.
const settleWithin = 3 * time.Second

// decide lets the service decide and words its answer from the committed record.
func (t *turn) decide(ctx context.Context, r approvals.Resolve) channels.Answer {
	res, err := t.decided(ctx, r)
	if err != nil {
		return t.failed(ctx, err)
	}
	return t.resolved(ctx, res)
}

// decided makes the call, and looks again where its outcome is unknown.
func (t *turn) decided(ctx context.Context, r approvals.Resolve) (approvals.Resolved, error) {
	t.deciding = true
	res, err := t.deps.Resolver.Resolve(ctx, r)
	if uncertain(err) {
		t.log(ctx, "the outcome of an answer is unknown, looking again", err)
		t.settled = true
		res, err = t.settle(ctx, r)
	}
	return res, err
}

func (t *turn) resolved(ctx context.Context, res approvals.Resolved) channels.Answer {
	text := presentation.AnswerResolved(res.Approval, res.Applied, res.Idempotent, t.place(ctx))
	won := res.Applied && res.Approval.Reason != core.ReasonHashMismatch
	mine := res.Idempotent && res.Approval.ResolverID == t.person.ID
	return channels.Answer{Text: text, Alert: !won && !mine}
}

// settle turns an unknown outcome into a known one, on time of its own. A terminal
// record answers it. A record that still waits is asked for the same decision once
// more, which is harmless where the first write comes after all: the same person's
// same answer counts once. Only where that is lost too nobody can tell, and nobody
// is told that nothing was recorded.
func (t *turn) settle(ctx context.Context, r approvals.Resolve) (approvals.Resolved, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleWithin)
	defer cancel()
	a, err := t.deps.Reader.Get(ctx, r.Caller, r.Lookup)
	switch {
	case errors.Is(err, core.ErrNotFound):
		return approvals.Resolved{}, err
	case err != nil:
		return approvals.Resolved{}, fmt.Errorf("%w: read back: %w", core.ErrOutcomeUnknown, err)
	case a.Status.Terminal():
		same := a.Decision == r.Decision
		ours := same && a.ResolverID == r.Caller.Person.ID && a.DeliveryID == r.DeliveryID
		return approvals.Resolved{Approval: a, Applied: ours, Idempotent: same && !ours}, nil
	}
	res, err := t.deps.Resolver.Resolve(ctx, r)
	if uncertain(err) {
		return res, fmt.Errorf("%w: asked twice: %w", core.ErrOutcomeUnknown, err)
	}
	return res, err
}

// uncertain reports whether a write may have been recorded in spite of the error:
// every error that does not say the contrary, an ended context included.
func uncertain(err error) bool {
	if err == nil {
		return false
	}
	if errors.Is(err, core.ErrOutcomeUnknown) {
		return true
	}
	for _, nothing := range []error{
		core.ErrNotFound, core.ErrForbidden, core.ErrInvalid, core.ErrWrongKind, core.ErrNotOffered,
		core.ErrNotShown, core.ErrHashRequired, core.ErrConflict, core.ErrCorrupt,
		core.ErrStorageFull, core.ErrUnavailable, core.ErrSealed,
	} {
		if errors.Is(err, nothing) {
			return false
		}
	}
	return true
}

// failed words an error. Its own text is for the log alone (conformance 102).
func (t *turn) failed(ctx context.Context, err error) channels.Answer {
	switch {
	case errors.Is(err, core.ErrOutcomeUnknown):
		t.log(ctx, "an answer stays unclear", err)
		return refusal(presentation.AnswerUnclear)
	case errors.Is(err, core.ErrNotFound):
		return t.notYours()
	case errors.Is(err, core.ErrForbidden):
		return refusal(presentation.AnswerMayNotDecide)
	case errors.Is(err, core.ErrNotOffered):
		return refusal(presentation.AnswerNotOffered)
	case errors.Is(err, core.ErrNotShown), errors.Is(err, core.ErrHashRequired):
		return refusal(presentation.AnswerNotShown)
	case errors.Is(err, core.ErrConflict), errors.Is(err, core.ErrWrongKind):
		return refusal(presentation.AnswerOpenOriginal)
	case errors.Is(err, core.ErrCorrupt):
		t.log(ctx, "an answer met a damaged record", err)
		return refusal(presentation.AnswerDamaged)
	case errors.Is(err, core.ErrStorageFull):
		t.log(ctx, "an answer could not be recorded", err)
		return refusal(presentation.AnswerStorageFull)
	}
	t.log(ctx, "an answer could not be recorded", err)
	return refusal(presentation.AnswerNotRecorded)
}

// log names the error by its stable code: an error's text may come from anywhere.
func (t *turn) log(ctx context.Context, msg string, err error) {
	t.deps.Logger.WarnContext(ctx, msg,
		"channel", t.account.Channel, "person", t.person.ID, "code", core.CodeOf(err), "ended", ctx.Err() != nil)
}
