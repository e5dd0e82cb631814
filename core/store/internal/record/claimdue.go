package record

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/saysohq/sayso/core"
)

// damagedRetry is when, in ms, a row is looked at again whose approval is damaged:
// nothing true can be shown of it, and it must neither hold up the others nor keep
// the worker spinning.
const damagedRetry = 10 * 60 * 1_000

// claimLock passes over rows that somebody else is at: the claim waits for nobody.
const claimLock = " FOR UPDATE OF d SKIP LOCKED"

// leaseStatement leases rows by their ids and shows them as they are then. Whoever held
// the lease before may still be painting: the row is edited once more when that cannot
// be any longer, and a send that was under way may have arrived. A row whose time to
// settle has come settles with this lease.
func (t *Table) leaseStatement() string {
	return t.UpdateRows + ` deliveries SET
			ambiguous = (ambiguous OR (lease_holder <> '' AND state = 'sending' AND locator = '')),
			settle_at = CASE WHEN lease_holder <> '' THEN ?4 WHEN settle_at <= ?3 THEN 0 ELSE settle_at END,
			unsettled = (unsettled OR lease_holder <> ''),
			lease_holder = ?1, lease_until = ?2, due_at = ?2, fence = fence + 1, updated_at = ?3
		WHERE id IN ` + strings.ReplaceAll(t.TextsIn, "%s", "?5") + ` RETURNING ` + strings.ReplaceAll(deliveryColumns, "d.", "")
}

func (t *Table) putAsideStatement() string {
	return t.UpdateRows + ` deliveries SET due_at = ?1 WHERE id IN ` + strings.ReplaceAll(t.TextsIn, "%s", "?2")
}

type dueWork struct {
	works []core.Work
	next  core.Millis
	// damaged are the approvals that wait, and that nothing true can be shown of. They
	// are ended in writes of their own: here their deliveries are locked already.
	damaged []string
}

// ClaimDue leases due rows of the given accounts, terminal edits first. While
// nothing is due it only reads.
func (s *Store) ClaimDue(ctx context.Context, c core.ClaimDue) ([]core.Work, core.Millis, error) {
	accounts, err := accountsJSON(c.Accounts)
	if err != nil {
		return nil, 0, err
	}
	lane, known := s.rows.dueWork[c.Lane]
	if !known || c.Worker == "" || c.Limit < 1 || c.Lease <= 0 {
		return nil, 0, fmt.Errorf("claim deliveries: %w", core.Invalid("claim", "needs a worker, a known lane, a limit and a lease"))
	}
	if err := s.unclaim(ctx); err != nil {
		return nil, 0, fmt.Errorf("claim deliveries: %w", err)
	}
	var next core.Millis
	now, err := s.read(ctx).Dated(lane.next, []any{accounts}, func(scan Row) error { return scan((*int64)(&next)) })
	if err != nil {
		return nil, 0, fmt.Errorf("claim deliveries: %w", err)
	}
	if !next.Reached(now) {
		return nil, next, nil
	}
	wanted := &wish{worker: c.Worker}
	due, err := writeRows(ctx, s, Background, min(c.Limit, MaxBackground), func(t *tx) (dueWork, error) {
		due, err := t.claimDue(c, lane, accounts)
		wanted.note(due.works)
		return due, err
	})
	if errors.Is(err, core.ErrOutcomeUnknown) {
		s.doubts.add(wanted)
		return nil, now, s.unclaim(context.WithoutCancel(ctx))
	}
	if err != nil {
		return nil, 0, fmt.Errorf("claim deliveries: %w", err)
	}
	for _, id := range due.damaged {
		// If this fails, the row is put aside, and met again by the next who reads it.
		_, err := write(ctx, s, Background, func(t *tx) (core.Approval, error) { return t.find(id) })
		if err == nil { // Its cards are due now.
			due.next = now
		}
	}
	return due.works, due.next, nil
}

func accountsJSON(accounts []core.AccountRef) (string, error) {
	pairs := make([][2]string, 0, len(accounts))
	for _, a := range accounts {
		pairs = append(pairs, [2]string{string(a.Channel), a.Account})
	}
	s, err := encodeJSON(pairs)
	if err != nil {
		return "", core.Invalid("accounts", "must be text")
	}
	return *s, nil
}

// claimDue takes as many statements for many rows as for one.
func (t *tx) claimDue(c core.ClaimDue, lane dueStatements, accounts string) (dueWork, error) {
	var due dueWork
	limit := min(c.Limit, MaxBackground)
	for len(due.works) < limit {
		works, damaged, err := t.claimable(lane.claim, int64(t.now), accounts, limit-len(due.works))
		if err != nil {
			return dueWork{}, err
		}
		if err := t.putAside(damaged); err != nil {
			return dueWork{}, err
		}
		for _, w := range damaged {
			if w.Approval.Status == core.StatusPending && !slices.Contains(due.damaged, w.Approval.ID) {
				due.damaged = append(due.damaged, w.Approval.ID)
			}
		}
		if err := t.lease(works, c.Worker, c.Lease); err != nil {
			return dueWork{}, err
		}
		due.works = append(due.works, works...)
		if len(damaged) == 0 {
			break
		}
	}
	if len(due.works) == limit { // There may be more: look again.
		due.next = t.now
		return due, nil
	}
	err := t.One(lane.next, []any{accounts}, (*int64)(&due.next))
	return due, err
}

// putAside makes rows due later.
func (t *tx) putAside(works []core.Work) error {
	if len(works) == 0 {
		return nil
	}
	ids, err := idsOf(works)
	if err != nil {
		return err
	}
	_, err = t.Exec(t.rows.putAside, int64(t.now+damagedRetry), ids)
	return err
}

// idsOf lists the rows of works as JSON.
func idsOf(works []core.Work) (string, error) {
	ids := make([]string, len(works))
	for i := range works {
		ids[i] = works[i].Delivery.ID
	}
	return textsJSON(ids)
}

// claimable reads due rows with their approvals, and those that are damaged as far as
// they can be read.
func (t *tx) claimable(query string, args ...any) (works, damaged []core.Work, err error) {
	err = t.Each(query, args, func(scan Row) error {
		var r deliveryRow
		a, err := t.rows.scanWith(scan, r.dest()...)
		if err != nil && !errors.Is(err, core.ErrCorrupt) {
			return err
		}
		work := core.Work{Delivery: r.d, Approval: a, TakenOver: r.d.LeaseHolder != "", Now: t.now}
		sound := true
		if err != nil {
			work.Damaged = true
			work.Approval, sound = epitaph(&a, t.now)
		}
		if decodeErr := r.decode(); decodeErr != nil || !sound {
			damaged = append(damaged, core.Work{Delivery: r.d, Approval: a})
			return nil
		}
		work.Delivery = r.d
		works = append(works, work)
		return nil
	})
	return works, damaged, err
}

// lease takes the rows for the worker and shows them as they are then.
func (t *tx) lease(works []core.Work, worker string, length core.Millis) error {
	if len(works) == 0 {
		return nil
	}
	ids, err := idsOf(works)
	if err != nil {
		return err
	}
	leased := make(map[string]core.Delivery, len(works))
	settle := t.now.Add(core.CallTimeout + core.SettleMargin)
	args := []any{worker, int64(t.now + length), int64(t.now), int64(settle), ids}
	err = t.Returning(t.rows.lease, args, func(scan Row) error {
		var r deliveryRow
		if err := scan(r.dest()...); err != nil {
			return err
		}
		leased[r.d.ID] = r.d
		return r.decode()
	})
	if err != nil {
		return err
	}
	for i := range works {
		d, ok := leased[works[i].Delivery.ID]
		if !ok { // It is locked since it was read.
			return fmt.Errorf("lease delivery: %w", core.ErrConflict)
		}
		works[i].Delivery = d
	}
	return nil
}
