package record

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/saysohq/sayso/core"
)

// wish is what a claim wanted to lease: the fence that each row would have. A write of
// unknown outcome may be running still, so it is safe for concurrent use.
type wish struct {
	worker string

	mu     sync.Mutex
	fences map[string]int64 // By row.
}

// note remembers what the run under way has leased, in place of the run before it.
func (w *wish) note(works []core.Work) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fences = make(map[string]int64, len(works))
	for i := range works {
		w.fences[works[i].Delivery.ID] = works[i].Delivery.Fence
	}
}

func (w *wish) noted() map[string]int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.fences)
}

// doubts are claims of unknown outcome: their rows may be leased to a worker who was
// never told. They are kept until the record has said so, and only in this process: with
// it the worker ends, and whoever takes over from it frees its rows.
type doubts struct {
	mu     sync.Mutex
	wishes []*wish
}

func (d *doubts) add(w *wish) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.wishes = append(d.wishes, w)
}

// take empties the list.
func (d *doubts) take() []*wish {
	d.mu.Lock()
	defer d.mu.Unlock()
	taken := d.wishes
	d.wishes = nil
	return taken
}

const (
	// Each row is read as whoever held it left it, the lost claim included: it lives as
	// long as it holds them.
	sqlFences = `SELECT d.id, d.fence, d.lease_holder FROM deliveries d WHERE d.id IN %s ORDER BY d.id`

	// Nothing was done under this lease. What the claim left in the row is as true as it
	// was then.
	sqlUnclaim = `UPDATE deliveries SET lease_holder = '', lease_until = 0, updated_at = ?1,
			due_at = %s(CAST(?1 AS bigint), answer_until)
		WHERE id IN %s`
)

// unclaim gives back what claims of unknown outcome have leased, so that it need not wait
// until those leases run out. What cannot be asked now is asked by the next claim.
func (s *Store) unclaim(ctx context.Context) error {
	var failed error
	for _, w := range s.doubts.take() {
		_, err := writeRows(ctx, s, Background, max(1, len(w.noted())), func(t *tx) (struct{}, error) { return struct{}{}, t.unclaim(w) })
		if err != nil {
			s.doubts.add(w)
			failed = errors.Join(failed, err)
		}
	}
	if failed != nil {
		return fmt.Errorf("give back deliveries: %w", failed)
	}
	return nil
}

// unclaim frees those rows that are leased as the claim had wished.
func (t *tx) unclaim(w *wish) error {
	fences := w.noted()
	if len(fences) == 0 { // It did not come that far.
		return nil
	}
	ids, err := textsJSON(slices.Sorted(maps.Keys(fences)))
	if err != nil {
		return err
	}
	var ours []string
	query := t.rows.locking(strings.ReplaceAll(sqlFences, "%s", strings.ReplaceAll(t.rows.TextsIn, "%s", "?")), forUpdate)
	err = t.lock(query, []any{ids}, func(scan Row) error {
		var id, holder string
		var fence int64
		if err := scan(&id, &fence, &holder); err != nil {
			return err
		}
		if holder == w.worker && fence == fences[id] {
			ours = append(ours, id)
		}
		return nil
	})
	if err != nil || len(ours) == 0 {
		return err
	}
	if ids, err = textsJSON(ours); err != nil {
		return err
	}
	_, err = t.Exec(fmt.Sprintf(sqlUnclaim, t.rows.Greatest, strings.ReplaceAll(t.rows.TextsIn, "%s", "?2")), int64(t.now), ids)
	return err
}
