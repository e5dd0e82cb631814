package approvals

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/saysohq/sayso/core"
)

// machine requires a token that holds the scope at the deployment's time.
func (s *Service) machine(ctx context.Context, c core.Caller, scope core.Scope) error {
	if c.Token == nil {
		return core.ErrForbidden
	}
	now, err := s.deps.Store.Now(ctx)
	if err != nil {
		return fmt.Errorf("read clock: %w", err)
	}
	if !c.Token.Holds(scope, now) {
		return core.ErrForbidden
	}
	return nil
}

// find reads a row that the caller may see. Unknown, damaged and unauthorised are
// the same ErrNotFound; damage is logged, and told to admins as ErrCorrupt.
func (s *Service) find(ctx context.Context, c core.Caller, l core.Lookup) (core.Approval, error) {
	a, err := s.look(ctx, c, l)
	if err != nil {
		return core.Approval{}, err
	}
	return *a, nil
}

// look is find for callers that keep no copy: a waiter holds its stack for long.
func (s *Service) look(ctx context.Context, c core.Caller, l core.Lookup) (*core.Approval, error) {
	// The store looks with the caller's eyes: neither the answer nor its time tells
	// a hidden row from one that does not exist.
	l.Runtime, l.Viewer = "", c.Person
	if c.Token != nil {
		l.Runtime = c.Token.Runtime
	}
	a, err := s.read(ctx, l)
	switch {
	case err == nil:
	case errors.Is(err, core.ErrNotFound):
		return nil, core.ErrNotFound
	case errors.Is(err, core.ErrCorrupt):
		s.deps.Logger.LogAttrs(ctx, slog.LevelError, "a stored approval is damaged", slog.Any("error", err))
		if c.Admin() {
			return nil, err
		}
		return nil, core.ErrNotFound
	default:
		return nil, fmt.Errorf("read approval: %w", err)
	}
	// The rule itself has the last word on what the store found.
	may, err := s.maySee(ctx, c, a)
	if err != nil {
		return nil, err
	}
	if !may {
		return nil, core.ErrNotFound
	}
	return a, nil
}

// read keeps the row off the caller's frame. Where it is the read that ends an
// approval, it tells the others.
//
//go:noinline
func (s *Service) read(ctx context.Context, l core.Lookup) (*core.Approval, error) {
	ended := false
	l.Ended = &ended
	a, err := s.deps.Store.Approval(ctx, l)
	if err != nil {
		return nil, err
	}
	if ended {
		s.publish(ctx, hintOf(&a))
	}
	return &a, nil
}

func (s *Service) maySee(ctx context.Context, c core.Caller, a *core.Approval) (bool, error) {
	if c.Token != nil {
		return c.Token.Runtime == a.Runtime, nil
	}
	owners, err := s.ownersFor(ctx, c.Person, a)
	if err != nil {
		return false, err
	}
	return core.MaySee(c.Person, a, owners), nil
}

// ownersFor reads the owners where the rule needs them: not for admins, who see
// everything, and not where an explicit list decides.
func (s *Service) ownersFor(ctx context.Context, p *core.Principal, a *core.Approval) ([]string, error) {
	if p == nil || p.Role == core.RoleAdmin || a.Reviewers != nil {
		return nil, nil
	}
	owners, err := s.deps.Owners.Owners(ctx, a.Runtime, a.Agent)
	if err != nil {
		return nil, fmt.Errorf("read owners: %w", err)
	}
	return owners, nil
}

// readable requires a caller that may read at all: a person, or a machine that
// asks or reads.
func (s *Service) readable(ctx context.Context, c core.Caller) error {
	if c.Person != nil {
		return nil
	}
	if err := s.machine(ctx, c, core.ScopeRequest); err == nil || !errors.Is(err, core.ErrForbidden) {
		return err
	}
	return s.machine(ctx, c, core.ScopeRead)
}

// Get reads one approval that the caller may see, after applying its deadline.
// Errors: ErrNotFound, ErrForbidden (a token without the scope).
func (s *Service) Get(ctx context.Context, c core.Caller, l core.Lookup) (core.Approval, error) {
	if err := s.readable(ctx, c); err != nil {
		return core.Approval{}, err
	}
	return s.find(ctx, c, l)
}

// Detail reads an approval with its redacted full text, for a person.
// Errors: ErrNotFound, ErrForbidden (not a person).
func (s *Service) Detail(ctx context.Context, c core.Caller, l core.Lookup) (core.Approval, core.Detail, error) {
	if c.Person == nil {
		return core.Approval{}, core.Detail{}, core.ErrForbidden
	}
	a, err := s.find(ctx, c, l)
	if err != nil {
		return core.Approval{}, core.Detail{}, err
	}
	d, err := s.deps.Store.Detail(ctx, a.ID)
	if err != nil {
		return core.Approval{}, core.Detail{}, fmt.Errorf("read detail: %w", err)
	}
	return a, d, nil
}

// List pages through what the caller may see: a machine its own rows, a person
// what the record says. Errors: ErrForbidden, ErrInvalid.
func (s *Service) List(ctx context.Context, c core.Caller, q core.ListQuery) (core.ListPage, error) {
	if err := s.readable(ctx, c); err != nil {
		return core.ListPage{}, err
	}
	if q.Limit < 0 || q.Limit > core.MaxPage {
		return core.ListPage{}, core.Invalid("limit", "must be from 1 to %d", core.MaxPage)
	}
	if q.Status != "" && !q.Status.Valid() {
		return core.ListPage{}, core.Invalid("status", "must be pending, allowed, denied, expired or cancelled")
	}
	if q.Origin != "" && !q.Origin.Valid() {
		return core.ListPage{}, core.Invalid("origin", "must be ask or auto")
	}
	if q.Within < 0 {
		return core.ListPage{}, core.Invalid("within", "must not be negative")
	}
	if c.Token != nil {
		q.Runtime = c.Token.Runtime
	}
	q.Viewer = c.Person
	q.Agent = core.RecordedAgent(s.deps.Describer.Text, q.Agent)
	page, err := s.deps.Store.List(ctx, q)
	if err != nil {
		return core.ListPage{}, fmt.Errorf("list approvals: %w", err)
	}
	return page, nil
}
