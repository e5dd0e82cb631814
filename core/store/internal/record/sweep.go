package record

import (
	"context"
	"fmt"

	"github.com/saysohq/sayso/core"
)

// Sweep expires due rows, voids lapsed grants and marks silent runners unknown:
// at most limit changes, in writes of at most 100 rows, so that decisions pass
// between them.
func (s *Store) Sweep(ctx context.Context, limit int) ([]core.Hint, error) {
	var hints []core.Hint
	for len(hints) < limit {
		chunk := min(limit-len(hints), MaxBackground)
		swept, err := writeRows(ctx, s, Background, chunk, func(t *tx) ([]core.Hint, error) { return t.sweep(chunk) })
		hints = append(hints, swept...)
		if err != nil {
			return hints, fmt.Errorf("sweep: %w", err)
		}
		if len(swept) < chunk {
			break
		}
	}
	return hints, nil
}

func (t *tx) sweep(limit int) ([]core.Hint, error) {
	hints, err := t.expireDue(limit)
	if err != nil {
		return nil, err
	}
	lapsed, err := t.change(t.rows.lapsed, limit-len(hints), func(a *core.Approval) error { return t.void(a, core.VoidLapsed) })
	if err != nil {
		return nil, err
	}
	hints = append(hints, lapsed...)
	silent, err := t.change(t.rows.silent, limit-len(hints), func(a *core.Approval) error {
		return t.outcome(a, core.ExecutionUnknown, "")
	})
	return append(hints, silent...), err
}

// expireDue expires pending rows whose deadline has come, the oldest first.
func (t *tx) expireDue(limit int) ([]core.Hint, error) {
	return t.change(t.rows.due, limit, t.expire)
}

// change applies a transition to at most limit rows of a query with the
// parameters time, limit and offset. Damaged rows that wait are ended; what else is
// damaged is passed over, and must not stand in the way of the others.
func (t *tx) change(query string, limit int, apply func(*core.Approval) error) ([]core.Hint, error) {
	return t.changeUntil(query, t.now, limit, apply)
}

// changeUntil is change for another time than now.
func (t *tx) changeUntil(query string, until core.Millis, limit int, apply func(*core.Approval) error) ([]core.Hint, error) {
	var hints []core.Hint
	for offset := 0; len(hints) < limit; {
		rows, damaged, err := t.rowsOf(query, int64(until), limit-len(hints), offset)
		if err != nil {
			return nil, err
		}
		for i := range rows {
			if err := apply(&rows[i]); err != nil {
				return nil, err
			}
			hints = append(hints, hintOf(&rows[i]))
		}
		ended, err := t.buryAll(damaged)
		if err != nil {
			return nil, err
		}
		hints = append(hints, ended...)
		if len(damaged) == 0 {
			break
		}
		offset += len(damaged) - len(ended) // Changed rows have left the query; the others stay in it.
	}
	return hints, nil
}

// buryAll ends those of the damaged rows that wait.
func (t *tx) buryAll(damaged []core.Approval) ([]core.Hint, error) {
	var hints []core.Hint
	for i := range damaged {
		if damaged[i].Status != core.StatusPending {
			continue
		}
		a, err := t.bury(&damaged[i])
		if err != nil {
			return nil, err
		}
		hints = append(hints, hintOf(&a))
	}
	return hints, nil
}

// rowsOf reads whole rows, and those that are damaged as far as they can be read.
func (t *tx) rowsOf(query string, args ...any) (rows, damaged []core.Approval, err error) {
	err = t.Each(query, args, func(scan Row) error {
		a, err := t.rows.Scan(scan)
		switch {
		case isCorrupt(err):
			damaged = append(damaged, a)
			return nil
		case err != nil:
			return err
		}
		rows = append(rows, a)
		return nil
	})
	return rows, damaged, err
}
