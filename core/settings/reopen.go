package settings

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/saysohq/sayso/core"
)

// Reopen lets an action that a person declined be asked again (K34): its next call asks
// as if nobody had declined. The answer itself stays what it was. Given a denial that
// only points to a decline, it re-opens that one. Whoever is first is recorded; doing it
// again changes nothing.
//
// Errors: core.ErrNotFound (also for what the caller may not see), core.ErrForbidden
// (they may not decide it), core.ErrUnauthenticated, core.ErrConflict (it is no person's
// decline).
func (s *Service) Reopen(ctx context.Context, c core.Caller, approvalID string) (core.Reopened, error) {
	if c.Person == nil {
		if c.Token == nil && !c.Operator {
			return core.Reopened{}, core.ErrUnauthenticated
		}
		return core.Reopened{}, core.ErrForbidden
	}
	a, err := s.decidable(ctx, c.Person, approvalID)
	if err == nil && a.Reason == core.ReasonStickyDecline && a.StickyOf != "" {
		a, err = s.decidable(ctx, c.Person, a.StickyOf)
	}
	if err != nil {
		return core.Reopened{}, err
	}
	done, err := s.deps.Declines.ReopenDecline(ctx, core.ReopenDecline{
		ApprovalID: a.ID, By: c.Person.ID, Name: c.Person.Name, Guard: guardOf(c),
	})
	if err != nil {
		return core.Reopened{}, fmt.Errorf("reopen: %w", err)
	}
	s.deps.Publisher.Publish(context.WithoutCancel(ctx), core.Hint{ApprovalID: a.ID, Revision: a.Revision})
	s.deps.Logger.LogAttrs(ctx, slog.LevelInfo, "decline re-opened", slog.String("approval", a.ID), slog.String("by", c.Person.ID))
	if !c.Admin() {
		done.By = ""
	}
	return done, nil
}

// Reopened reads who re-opened a decline; false where nobody did. It is for surfaces
// that have the approval already, and so checks nothing.
func (s *Service) Reopened(ctx context.Context, approvalID string) (core.Reopened, bool, error) {
	r, err := s.deps.Declines.ReadReopened(ctx, approvalID)
	switch {
	case errors.Is(err, core.ErrNotFound):
		return core.Reopened{}, false, nil
	case err != nil:
		return core.Reopened{}, false, fmt.Errorf("read reopened: %w", err)
	}
	return r, true, nil
}

// decidable reads an approval that the person may decide.
func (s *Service) decidable(ctx context.Context, p *core.Principal, id string) (core.Approval, error) {
	a, err := s.deps.Approvals.Approval(ctx, core.Lookup{ID: id, Viewer: p})
	switch {
	case errors.Is(err, core.ErrNotFound), errors.Is(err, core.ErrCorrupt):
		return core.Approval{}, core.ErrNotFound
	case err != nil:
		return core.Approval{}, fmt.Errorf("read approval: %w", err)
	}
	var owners []string
	if p.Role != core.RoleAdmin && a.Reviewers == nil {
		if owners, err = s.deps.Owners.Owners(ctx, a.Runtime, a.Agent); err != nil {
			return core.Approval{}, fmt.Errorf("read owners: %w", err)
		}
	}
	switch {
	case !core.MaySee(p, &a, owners):
		return core.Approval{}, core.ErrNotFound
	case !core.MayDecide(p, &a, owners):
		return core.Approval{}, core.ErrForbidden
	}
	return a, nil
}
