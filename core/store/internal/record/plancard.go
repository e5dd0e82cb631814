package record

import (
	"context"
	"fmt"

	"github.com/saysohq/sayso/core"
)

// PlanCard adds the row of a card that somebody asked for. Errors:
// core.ErrNotFound, core.ErrCorrupt, core.ErrConflict (not pending any more).
func (s *Store) PlanCard(ctx context.Context, approvalID string, d core.PlannedDelivery) (bool, core.Hint, error) {
	type answer struct {
		planned bool
		hint    core.Hint
	}
	got, err := write(ctx, s, Foreground, func(t *tx) (answer, error) {
		planned, hint, err := t.planCard(approvalID, d)
		return answer{planned, hint}, err
	})
	if err != nil {
		return false, core.Hint{}, fmt.Errorf("plan card: %w", err)
	}
	return got.planned, got.hint, nil
}

func (t *tx) planCard(approvalID string, d core.PlannedDelivery) (bool, core.Hint, error) {
	a, err := t.fresh(approvalID)
	if err != nil {
		return false, core.Hint{}, err
	}
	if a.Status != core.StatusPending {
		return false, core.Hint{}, core.ErrConflict
	}
	address, err := follow(t, d.Channel, d.Account, d.Address)
	if err != nil {
		return false, core.Hint{}, err
	}
	var taken int
	err = t.One(sqlAddressTaken, []any{a.ID, string(d.Channel), d.Account, address, d.ID}, &taken)
	if err != nil || taken > 0 {
		return false, hintOf(&a), err
	}
	return true, hintOf(&a), t.plan(&a, &d)
}
