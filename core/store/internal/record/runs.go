package record

import (
	"context"
	"errors"
	"fmt"

	"github.com/saysohq/sayso/core"
)

// RegisterInstance gives a boot its epoch. Every boot that ever registered keeps
// its own, so a replaced process that registers again stays replaced. A newer
// epoch cancels the pending live rows of the instance and voids its unclaimed live
// grants; durable and draft rows are left alone (K1).
func (s *Store) RegisterInstance(ctx context.Context, r core.RegisterInstance) (core.Instance, []core.Hint, error) {
	if r.Runtime == "" || r.Instance == "" || r.BootID == "" {
		return core.Instance{}, nil, fmt.Errorf("register instance: %w", core.Invalid("instance", "needs a runtime, a name and a boot id"))
	}
	var none core.Instance
	type registered struct {
		instance core.Instance
		hints    []core.Hint
	}
	done, err := write(ctx, s, Foreground, func(t *tx) (registered, error) {
		instance, hints, err := t.register(r)
		return registered{instance, hints}, err
	})
	if err != nil {
		return none, nil, fmt.Errorf("register instance: %w", err)
	}
	return done.instance, done.hints, nil
}

func (t *tx) register(r core.RegisterInstance) (core.Instance, []core.Hint, error) {
	in := core.Instance{Runtime: r.Runtime, Name: r.Instance}
	facts, err := encodeFacts(r.Facts)
	if err != nil {
		return in, nil, err
	}
	if err := t.holdName(Update, "instance", r.Runtime, r.Instance); err != nil {
		return in, nil, err
	}
	err = t.One(sqlReadBoot, []any{r.Runtime, r.Instance, r.BootID}, &in.Epoch)
	if err == nil {
		_, err = t.Exec(sqlAttest, facts, r.Runtime, r.Instance, r.BootID)
	}
	if !errors.Is(err, core.ErrNotFound) {
		return in, nil, err
	}
	epoch, err := t.epoch(r.Runtime, r.Instance)
	if err != nil {
		return in, nil, err
	}
	_, incarnation, err := t.standing()
	if err != nil {
		return in, nil, err
	}
	// After a restore the epochs of boots that are not known any more lie below.
	in.Epoch = max(epoch+1, incarnation)
	if _, err := t.Exec(sqlInsertBoot, r.Runtime, r.Instance, in.Epoch, r.BootID, int64(t.now), facts); err != nil {
		return in, nil, err
	}
	if err := t.hold(sqlHoldBoot, r.Runtime, r.Instance, in.Epoch); err != nil {
		return in, nil, err
	}
	var hints []core.Hint
	for _, query := range []string{t.rows.bootPending, t.rows.bootUnclaimed} {
		changed, err := t.withdrawAll(query, core.ReasonRuntimeRestart, core.VoidRuntimeRestart, r.Runtime, r.Instance, in.Epoch)
		if err != nil {
			return in, nil, err
		}
		hints = append(hints, changed...)
	}
	return in, hints, nil
}

// withdrawAll takes back every row of a query.
func (t *tx) withdrawAll(query string, why core.Reason, void core.VoidReason, args ...any) ([]core.Hint, error) {
	rows, damaged, err := t.rowsOf(query, args...)
	if err != nil {
		return nil, err
	}
	hints, err := t.buryAll(damaged)
	if err != nil {
		return nil, err
	}
	for i := range rows {
		if _, err := t.withdraw(&rows[i], why, void); err != nil {
			return nil, err
		}
		hints = append(hints, hintOf(&rows[i]))
	}
	return hints, nil
}

// AbortRun stops a run for good, whether or not anything was asked for it yet.
func (s *Store) AbortRun(ctx context.Context, runtime, run string) (core.Run, []core.Hint, error) {
	if runtime == "" || run == "" {
		return core.Run{}, nil, fmt.Errorf("abort run: %w", core.Invalid("run", "needs a runtime and an id"))
	}
	type aborted struct {
		run   core.Run
		hints []core.Hint
	}
	done, err := write(ctx, s, Foreground, func(t *tx) (aborted, error) {
		r, hints, err := t.abort(runtime, run)
		return aborted{r, hints}, err
	})
	if err != nil {
		return core.Run{}, nil, fmt.Errorf("abort run: %w", err)
	}
	return done.run, done.hints, nil
}

func (t *tx) abort(runtime, run string) (core.Run, []core.Hint, error) {
	if _, err := t.Exec(sqlInsertRun, runtime, run, int64(t.now)); err != nil {
		return core.Run{}, nil, err
	}
	if err := t.hold(t.rows.run[Update], runtime, run); err != nil {
		return core.Run{}, nil, err
	}
	if _, err := t.Exec(sqlAbortRun, int64(t.now), runtime, run); err != nil {
		return core.Run{}, nil, err
	}
	if err := t.hold(sqlHoldRun, runtime, run); err != nil {
		return core.Run{}, nil, err
	}
	var hints []core.Hint
	for _, query := range []string{t.rows.runPending, t.rows.runUnclaimed} {
		changed, err := t.withdrawAll(query, core.ReasonRunAborted, core.VoidRunAborted, runtime, run)
		if err != nil {
			return core.Run{}, nil, err
		}
		hints = append(hints, changed...)
	}
	r, _, err := readRun(t, runtime, run, t.now)
	return r, hints, err
}

// ReadRun reads a run, after applying the deadlines of its rows. Errors:
// core.ErrNotFound when nothing was ever asked for it.
func (s *Store) ReadRun(ctx context.Context, runtime, run string) (core.Run, error) {
	for {
		now, err := s.db.Now(ctx)
		if err != nil {
			return core.Run{}, fmt.Errorf("read run: %w", err)
		}
		r, due, err := readRun(s.read(ctx), runtime, run, now)
		if err != nil {
			return core.Run{}, fmt.Errorf("read run: %w", err)
		}
		if len(due) == 0 {
			return r, nil
		}
		expired, err := write(ctx, s, Foreground, func(t *tx) (int, error) { return t.expireThese(due) })
		if err != nil {
			return core.Run{}, fmt.Errorf("read run: %w", err)
		}
		if expired < len(due) { // What cannot be read at all stays, and is never approved.
			return r, nil
		}
	}
}

// expireThese applies the deadlines of the given rows and counts those that are
// not pending any more.
func (t *tx) expireThese(ids []string) (int, error) {
	done := 0
	for _, id := range ids {
		a, err := t.fresh(id)
		switch {
		case isCorrupt(err):
			continue
		case err != nil && !errors.Is(err, core.ErrNotFound):
			return 0, err
		}
		if a.Status != core.StatusPending {
			done++
		}
	}
	return done, nil
}

// readRun computes a run from its rows and names those whose deadline has come.
// The time spent waiting is the union of the spans in which a row that waits was pending
// (R31): rows come in the order of their beginnings.
func readRun(q Querier, runtime, id string, now core.Millis) (core.Run, []string, error) {
	r := core.Run{Runtime: runtime, ID: id, Now: now}
	if err := q.One(sqlReadRun, []any{runtime, id}, (*int64)(&r.AbortedAt)); err != nil {
		return core.Run{}, nil, err
	}
	var due []string
	var until core.Millis // End of the waiting counted so far.
	err := q.Each(sqlRunRows, []any{runtime, id}, func(scan Row) error {
		var a core.Approval
		err := scan(&a.ID, (*string)(&a.Status), (*string)(&a.Continuation), (*int64)(&a.CreatedAt),
			(*int64)(&a.ExpiresAt), (*int64)(&a.ResolvedAt), (*string)(&a.ResolverKind))
		if err != nil {
			return err
		}
		if a.Due(now) {
			due = append(due, a.ID)
		}
		end := a.ResolvedAt
		if a.Status == core.StatusPending {
			end = now
			r.Pending++
			r.AcceptsReply = r.AcceptsReply || a.Continuation.Waits()
		}
		if a.ResolverKind == core.ResolverHuman {
			r.LastDecidedAt = max(r.LastDecidedAt, a.ResolvedAt)
		}
		if begin := max(a.CreatedAt, until); a.Continuation.Waits() && end > begin {
			r.WaitingMillis += end - begin
			until = end
		}
		return nil
	})
	return r, due, err
}
