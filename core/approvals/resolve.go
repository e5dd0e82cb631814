package approvals

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/saysohq/sayso/core"
)

// Outcomes of the race for an answer, as the observer counts them (R202).
const (
	raceWinner     = "winner"
	raceIdempotent = "idempotent"
	raceConflict   = "conflict"
	raceExpired    = "expired"
)

// maxNote bounds a person's note in code points.
const maxNote = 1_000

// readBack bounds how long a lost answer is looked for, after the caller's own
// context has ended.
const readBack = 5 * time.Second

// Resolve records a person's answer, once. The order of the checks is fixed: find,
// authorise, kind, already answered, offer, what the surface had shown, hash, write.
//
// Errors: ErrNotFound (unknown, unauthorised, or the right was lost before the
// write), ErrForbidden (may see, may not decide), ErrInvalid, ErrWrongKind,
// ErrNotOffered, ErrNotShown, ErrHashRequired, ErrConflict (a click that cannot be
// adopted), ErrOutcomeUnknown. None of them changes the record. A wrong hash from
// an authorised person is no error: it denies, and the record says so (K9).
func (s *Service) Resolve(ctx context.Context, r Resolve) (Resolved, error) {
	a, err := s.find(ctx, r.Caller, r.Lookup)
	if err != nil {
		return Resolved{}, err
	}
	if r.ShownOf != nil {
		if r.Shown, err = r.ShownOf(&a); err != nil {
			return Resolved{}, err
		}
	}
	if err := s.mayDecide(ctx, r.Caller, &a); err != nil {
		return Resolved{}, err
	}
	if r.Kind != a.Kind {
		return Resolved{Approval: a}, core.ErrWrongKind
	}
	if !r.Decision.Valid() {
		return Resolved{Approval: a}, core.Invalid("decision", "must be allow-once, allow-always or deny")
	}
	if a.Status.Terminal() && r.Adopt == nil {
		return s.answered(&a, r.Decision, r.DecisionKey), nil
	}
	mismatch := false // A message that is adopted too late to decide is still driven to the truth.
	if !a.Status.Terminal() {
		if mismatch, err = checkShown(&a, &r); err != nil {
			return Resolved{Approval: a}, err
		}
	}
	rule, err := s.ruleFrom(&a, &r, mismatch)
	if err != nil {
		return Resolved{Approval: a}, err
	}
	return s.decide(ctx, core.Decide{
		ID:    a.ID,
		Rule:  rule,
		Guard: core.Guard{PersonID: r.Caller.Person.ID, PersonRevision: r.Caller.Person.Revision},
		To:    s.terminal(&a, &r, mismatch),
		Adopt: r.Adopt,
		Seen:  &a,

		AnswerDelay: r.AnswerDelay,
	}, r.DecisionKey)
}

// mayDecide tells apart what may be told apart: whoever may see the record learns
// that they may not decide it.
func (s *Service) mayDecide(ctx context.Context, c core.Caller, a *core.Approval) error {
	if c.Person == nil { // A machine never answers, its own question least of all (K8).
		return core.ErrForbidden
	}
	owners, err := s.ownersFor(ctx, c.Person, a)
	if err != nil {
		return err
	}
	if !core.MayDecide(c.Person, a, owners) {
		return core.ErrForbidden
	}
	return nil
}

// checkShown applies the rules on what the surface had shown. Deny passes them
// all: it is always offered and needs no hash.
func checkShown(a *core.Approval, r *Resolve) (mismatch bool, err error) {
	if !r.Decision.Allows() {
		return false, nil
	}
	if !a.Offers(r.Decision) {
		return false, core.ErrNotOffered
	}
	whole := r.Shown.Complete && a.DetailOmitted == 0
	ticked := r.Shown.PartialView && a.DetailOmitted > 0
	if !whole && !ticked || !rendered(r.Shown.Offered, r.Decision) {
		return false, core.ErrNotShown
	}
	if r.Shown.ActionHash == "" && r.ArgumentsHash == "" {
		return false, core.ErrHashRequired
	}
	if r.Shown.ActionHash == "" && a.Operation.ID != "" && r.OperationID == "" {
		return false, core.Invalid("operation_id", "is required to allow")
	}
	mismatch = r.Shown.ActionHash != "" && r.Shown.ActionHash != a.ActionHash ||
		r.ArgumentsHash != "" && r.ArgumentsHash != a.ArgumentsHash ||
		r.OperationID != "" && r.OperationID != a.Operation.ID
	return mismatch, nil
}

// rendered reports whether the surface had a control for d; nil means that the
// surface offers whatever the record does.
func rendered(offered []core.Decision, d core.Decision) bool {
	if offered == nil {
		return true
	}
	return slices.Contains(offered, d)
}

func (s *Service) terminal(a *core.Approval, r *Resolve, mismatch bool) core.Terminal {
	p := r.Caller.Person
	t := core.Terminal{
		Status: r.Decision.Status(), Decision: r.Decision, Reason: core.ReasonUser,
		Note: s.note(r.Note), ByMessage: r.ByMessage, DecisionKey: r.DecisionKey,
		ResolverKind: core.ResolverHuman, ResolverID: p.ID, ResolverName: p.Name,
		Surface: r.Caller.Surface, DeliveryID: r.DeliveryID,
		PartialView: r.Decision.Allows() && a.DetailOmitted > 0,
	}
	switch {
	case mismatch:
		t.Status, t.Decision, t.Reason, t.PartialView = core.StatusDenied, core.DecisionDeny, core.ReasonHashMismatch, false
	case r.ByMessage:
		t.Reason = core.ReasonMessage
	}
	return t
}

// note is a person's words as one safe line: line breaks of a chat would show as
// escapes, and an agent's prompt has no use for them.
func (s *Service) note(words string) string {
	return s.deps.Describer.Text(strings.Join(strings.Fields(words), " "), maxNote)
}

// decide makes the one guarded write and tells everyone to look again.
func (s *Service) decide(ctx context.Context, cmd core.Decide, key string) (Resolved, error) {
	cmd.AttemptID = s.deps.NewID()
	done, err := s.deps.Store.Decide(ctx, cmd)
	if errors.Is(err, core.ErrOutcomeUnknown) {
		done, err = s.readBack(ctx, cmd)
	}
	if err != nil {
		return Resolved{Approval: done.Approval}, fmt.Errorf("decide: %w", err)
	}
	a := &done.Approval
	if done.Applied || done.Expired || cmd.Adopt != nil {
		s.publish(ctx, hintOf(a))
	}
	if done.Applied {
		if cmd.Rule != nil { // Whoever looks at what the agent may do sees it.
			s.publish(ctx, core.Hint{ApprovalID: core.AgentHint(a.Runtime, a.Agent)})
		}
		s.deps.Observer.Raced(raceWinner)
		return Resolved{Approval: *a, Applied: true}, nil
	}
	return s.answered(a, cmd.To.Decision, key), nil
}

// readBack finds out what became of a write whose answer was lost: the attempt's
// id is in the row exactly when this write won. A row that is still pending means
// that the write may yet come, and nobody may be told that it will not.
func (s *Service) readBack(ctx context.Context, cmd core.Decide) (core.Decided, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readBack)
	defer cancel()
	a, err := s.deps.Store.Approval(ctx, core.Lookup{ID: cmd.ID})
	if err != nil {
		return core.Decided{}, fmt.Errorf("%w: read back: %w", core.ErrOutcomeUnknown, err)
	}
	if !a.Status.Terminal() {
		return core.Decided{Approval: a}, core.ErrOutcomeUnknown
	}
	return core.Decided{Approval: a, Applied: a.AttemptID == cmd.AttemptID}, nil
}

// answered is the result for an approval that had its answer before this call.
func (s *Service) answered(a *core.Approval, d core.Decision, key string) Resolved {
	same := a.Decision == d && d != core.DecisionNone || key != "" && a.DecisionKey == key
	switch {
	case same:
		s.deps.Observer.Raced(raceIdempotent)
	case a.Status == core.StatusExpired:
		s.deps.Observer.Raced(raceExpired)
	default:
		s.deps.Observer.Raced(raceConflict)
	}
	return Resolved{Approval: *a, Idempotent: same}
}

// Cancel withdraws a pending approval: by its own runtime, or by an admin. An
// approval that has its answer keeps it.
// Errors: ErrNotFound, ErrForbidden (a person who is no admin).
func (s *Service) Cancel(ctx context.Context, c core.Caller, l core.Lookup) (Resolved, error) {
	a, err := s.find(ctx, c, l)
	if err != nil {
		return Resolved{}, err
	}
	to := core.Terminal{Status: core.StatusCancelled}
	cmd := core.Decide{ID: a.ID, Seen: &a}
	switch {
	case c.Token != nil:
		if err := s.machine(ctx, c, core.ScopeRequest); err != nil {
			return Resolved{}, err
		}
		to.Reason, to.ResolverKind = core.ReasonWithdrawn, core.ResolverRuntime
		to.ResolverID, to.ResolverName = c.Token.Runtime, c.Token.Runtime
	case c.Admin():
		to.Reason, to.ResolverKind = core.ReasonAdmin, core.ResolverHuman
		to.ResolverID, to.ResolverName, to.Surface = c.Person.ID, c.Person.Name, c.Surface
		cmd.Guard = core.Guard{PersonID: c.Person.ID, PersonRevision: c.Person.Revision}
	default:
		return Resolved{}, core.ErrForbidden
	}
	if a.Status.Terminal() {
		return Resolved{Approval: a, Idempotent: a.Status == core.StatusCancelled}, nil
	}
	cmd.To = to
	done, err := s.decide(ctx, cmd, "")
	done.Idempotent = done.Idempotent || err == nil && !done.Applied && done.Approval.Status == core.StatusCancelled
	return done, err
}

// DenyMalformed denies a runtime's own approval because a trusted verdict for it
// could not be understood (R18, K8). Errors: ErrNotFound, ErrForbidden.
func (s *Service) DenyMalformed(ctx context.Context, c core.Caller, l core.Lookup) (Resolved, error) {
	if err := s.machine(ctx, c, core.ScopeRequest); err != nil {
		return Resolved{}, err
	}
	a, err := s.find(ctx, c, l)
	if err != nil {
		return Resolved{}, err
	}
	if a.Status.Terminal() {
		return s.answered(&a, core.DecisionDeny, ""), nil
	}
	return s.decide(ctx, core.Decide{ID: a.ID, To: core.Terminal{
		Status: core.StatusDenied, Decision: core.DecisionDeny, Reason: core.ReasonMalformedVerdict,
		ResolverKind: core.ResolverRuntime, ResolverID: c.Token.Runtime, ResolverName: c.Token.Runtime,
	}}, "")
}
