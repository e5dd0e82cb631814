package redis

import (
	"context"
	"time"

	"github.com/saysohq/sayso/core"
)

// Budgets implements core.Budgets.
type Budgets struct{ bus *Bus }

func newBudgets(b *Bus, _ Config) *Budgets { return &Budgets{bus: b} }

// Take implements core.Budgets.
func (b *Budgets) Take(context.Context, core.BudgetCall) (core.BudgetAnswer, error) {
	b.bus.deps.Metrics.asked(resultAway)
	return core.BudgetAnswer{}, core.ErrUnavailable
}

// Hold implements core.Budgets.
func (b *Budgets) Hold(context.Context, string, time.Duration) {}

// Replicas implements core.Budgets.
func (b *Budgets) Replicas() int { return b.bus.Replicas() }
