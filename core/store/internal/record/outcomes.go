package record

import (
	"context"
	"errors"
	"fmt"

	"github.com/saysohq/sayso/core"
)

const (
	sqlReadHeard = `SELECT heard_at FROM listeners WHERE runtime = ? AND agent = ?`
	sqlHeard     = `INSERT INTO listeners (runtime, agent, heard_at) VALUES (?, ?, ?)
		ON CONFLICT (runtime, agent) DO UPDATE SET heard_at = excluded.heard_at`
)

// DismissOutcome implements core.Outcomes.
func (s *Store) DismissOutcome(ctx context.Context, c core.ActOn) (core.Approval, error) {
	done, err := write(ctx, s, Foreground, func(t *tx) (core.Approval, error) {
		return t.act(c, core.EventDismissed, func(a *core.Approval) (**core.Act, error) {
			if !a.MayHaveHappened() {
				return nil, core.ErrConflict
			}
			return &a.Aftermath.Dismissed, nil
		})
	})
	if err != nil {
		return done, fmt.Errorf("dismiss outcome: %w", err)
	}
	return done, nil
}

// AskAgain implements core.Outcomes.
func (s *Store) AskAgain(ctx context.Context, c core.ActOn) (core.Approval, error) {
	done, err := write(ctx, s, Foreground, func(t *tx) (core.Approval, error) {
		return t.act(c, core.EventAskedAgain, func(a *core.Approval) (**core.Act, error) {
			if a.Aftermath.AskedAgain != nil {
				return &a.Aftermath.AskedAgain, nil
			}
			return &a.Aftermath.AskedAgain, t.mayAskAgain(a, &c)
		})
	})
	if err != nil {
		return done, fmt.Errorf("ask again: %w", err)
	}
	return done, nil
}

// mayAskAgain checks that there is something to ask for and somebody who hears it. A
// decline stops answering the same action, or the new request would meet it.
func (t *tx) mayAskAgain(a *core.Approval, c *core.ActOn) error {
	if !a.AskableAgain() {
		return core.ErrConflict
	}
	hears, err := listens(t, a, t.now)
	switch {
	case err != nil:
		return err
	case !hears:
		return core.ErrNotOffered
	case a.Status == core.StatusDenied:
		_, err = t.Exec(sqlReopen, a.ID, c.By, c.Name, int64(t.now))
	}
	return err
}

// act records something that a person did about an outcome, if nobody did it before.
// of says where it stands, in a row whose aftermath is not nil.
func (t *tx) act(c core.ActOn, e core.EventType, of func(*core.Approval) (**core.Act, error)) (core.Approval, error) {
	if c.By == "" {
		return core.Approval{}, core.Invalid("by", "is required")
	}
	if err := t.guard(c.Guard); err != nil {
		return core.Approval{}, err
	}
	is, err := t.find(c.ID)
	if err != nil {
		return core.Approval{}, err
	}
	to := is
	to.Aftermath = &core.Aftermath{}
	if is.Aftermath != nil {
		*to.Aftermath = *is.Aftermath
	}
	at, err := of(&to)
	if err != nil {
		return is, err
	}
	if *at != nil { // Somebody was first, perhaps this very person.
		return is, nil
	}
	*at = &core.Act{By: c.By, Name: c.Name, At: t.now}
	err = t.save(&to, t.rows.grant, e, true)
	return to, err
}

// Listens implements core.Outcomes.
func (s *Store) Listens(ctx context.Context, a *core.Approval) (bool, error) {
	now, err := s.db.Now(ctx)
	if err == nil {
		var is bool
		if is, err = listens(s.read(ctx), a, now); err == nil {
			return is, nil
		}
	}
	return false, fmt.Errorf("read listeners: %w", err)
}

func listens(q Querier, a *core.Approval, now core.Millis) (bool, error) {
	if a.CallbackURL != "" {
		return true, nil
	}
	heard, err := heardAt(q, a.Runtime, a.Agent)
	return heard != 0 && !(heard + core.ListenWindow).Reached(now), err
}

// heardAt is when a runtime last asked for the updates of an agent; 0 for never.
func heardAt(q Querier, runtime, agent string) (core.Millis, error) {
	var at int64
	err := q.One(sqlReadHeard, []any{runtime, agent}, &at)
	if errors.Is(err, core.ErrNotFound) {
		return 0, nil
	}
	return core.Millis(at), err
}
