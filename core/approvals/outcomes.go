package approvals

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/saysohq/sayso/core"
)

// AftermathOffer is what a person may still do about an outcome: what a card or a page
// offers. The write that follows has the last word.
type AftermathOffer struct {
	Dismiss  bool // The action may have happened, and nobody has dismissed that yet.
	AskAgain bool // A new request may be asked for, and a runtime listens.
}

// Aftermath says what anybody who may decide this approval may still do about its
// outcome. Most approvals are answered without a read. Errors: those of the store.
func (s *Service) Aftermath(ctx context.Context, a *core.Approval) (AftermathOffer, error) {
	offer := AftermathOffer{Dismiss: a.Dismissable()}
	if !a.AskableAgain() {
		return offer, nil
	}
	listens, err := s.deps.Store.Listens(ctx, a)
	if err != nil {
		return AftermathOffer{}, fmt.Errorf("read listeners: %w", err)
	}
	offer.AskAgain = listens
	return offer, nil
}

// Dismiss records that a person has seen what may have happened (R86). Doing it again
// changes nothing, whoever did it first.
//
// Errors: ErrNotFound (unknown, unauthorised, or the right was lost before the write),
// ErrForbidden (may see, may not decide), ErrConflict with the record (there is nothing
// to dismiss), ErrOutcomeUnknown.
func (s *Service) Dismiss(ctx context.Context, c core.Caller, l core.Lookup) (core.Approval, error) {
	return s.act(ctx, c, l, "outcome dismissed", s.deps.Store.DismissOutcome)
}

// AskAgain records that a person wants the runtime to make a new request, and puts that
// among the updates of the agent (K3). It allows nothing: the new request is asked like
// any other. Doing it again changes nothing.
//
// Errors: as those of Dismiss; ErrConflict where there is nothing to ask for again,
// ErrNotOffered where no runtime listens.
func (s *Service) AskAgain(ctx context.Context, c core.Caller, l core.Lookup) (core.Approval, error) {
	return s.act(ctx, c, l, "asked for a new request", s.deps.Store.AskAgain)
}

func (s *Service) act(ctx context.Context, c core.Caller, l core.Lookup, what string,
	do func(context.Context, core.ActOn) (core.Approval, error),
) (core.Approval, error) {
	before, err := s.find(ctx, c, l)
	if err != nil {
		return core.Approval{}, err
	}
	if err := s.mayDecide(ctx, c, &before); err != nil {
		return core.Approval{}, err
	}
	p := c.Person
	a, err := do(ctx, core.ActOn{
		ID: before.ID, By: p.ID, Name: p.Name, Guard: core.Guard{PersonID: p.ID, PersonRevision: p.Revision},
	})
	if err != nil {
		return a, fmt.Errorf("act on outcome: %w", err)
	}
	if a.Revision > before.Revision {
		s.deps.Logger.LogAttrs(ctx, slog.LevelInfo, what,
			slog.String("approval", a.ID), slog.String("surface", string(c.Surface)))
		s.publish(ctx, hintOf(&a))
	}
	return a, nil
}
