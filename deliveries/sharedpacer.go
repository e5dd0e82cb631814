package deliveries

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/saysohq/sayso/core"
)

// SharedPacer keeps one budget for each bot, workspace and chat across all replicas.
// While the shared budgets cannot be reached it goes on with its own, divided by the
// last known number of replicas: nothing stops, and together they stay within the
// limits but for one burst. It is safe for concurrent use.
type SharedPacer struct {
	budgets map[core.Surface]Budget
	shared  core.Budgets
	now     func() time.Time

	mu       sync.Mutex
	alone    *LocalPacer // For when the shared budgets are away.
	replicas int         // That alone is for.
}

// NewSharedPacer returns a pacer that spends shared budgets; channels without a budget
// are not paced. now is for the time without shared budgets, which have a clock of
// their own.
func NewSharedPacer(budgets map[core.Surface]Budget, shared core.Budgets, now func() time.Time) *SharedPacer {
	return &SharedPacer{budgets: budgets, shared: shared, now: now}
}

// Reserve implements Pacer.
func (p *SharedPacer) Reserve(ctx context.Context, c Call, limit time.Duration) Pause {
	b, ok := p.budgets[c.Account.Channel]
	if !ok {
		return Pause{Booked: true}
	}
	costs := b.Costs(c)
	answer, err := p.shared.Take(ctx, ask(c, costs, limit))
	if err != nil {
		return p.share().Reserve(ctx, c, limit)
	}
	pause := Pause{Wait: answer.Wait, Booked: answer.Taken}
	for i, w := range answer.Waits {
		switch {
		case pause.Booked:
			pause.taken(costs[i], limit, w.Anyone)
		case w.Call > limit:
			pause.short(costs[i].Kind, c.Final, limit, w.Call, w.Anyone)
		}
	}
	return pause
}

// Hold implements Pacer. It holds both, since the shared budgets may be gone in the
// next moment.
func (p *SharedPacer) Hold(ctx context.Context, account core.AccountRef, address string, d time.Duration) {
	p.share().Hold(ctx, account, address, d)
	p.shared.Hold(ctx, gate(account, address), d)
}

// share is the pacer of this replica's own share. Another number of replicas begins
// with full budgets again: that is one burst at most.
func (p *SharedPacer) share() *LocalPacer {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := max(p.shared.Replicas(), 1)
	if p.alone == nil || p.replicas != n {
		parts := make(map[core.Surface]Budget, len(p.budgets))
		for s, b := range p.budgets {
			parts[s] = b.part(n)
		}
		before := p.alone
		p.alone, p.replicas = NewLocalPacer(parts, p.now), n
		if before != nil {
			p.alone.held = before.held
		}
	}
	return p.alone
}

// ask puts a call into the terms of the shared budgets.
func ask(c Call, costs []Cost, limit time.Duration) core.BudgetCall {
	charges := make([]core.BudgetCharge, len(costs))
	for i, k := range costs {
		charges[i] = core.BudgetCharge{
			Name:     name(string(k.Kind), k.Account, k.Address),
			Interval: k.Rate.interval(), Burst: max(k.Rate.Burst, 1), CardEvery: k.Rate.cardEvery(),
		}
	}
	return core.BudgetCall{
		Charges: charges, Gates: []string{gate(c.Account, ""), gate(c.Account, c.Address)},
		Final: c.Final, Limit: limit, Grace: markGrace,
	}
}

func gate(account core.AccountRef, address string) string { return name("gate", account, address) }

// name tells budgets apart, whatever is in their addresses.
func name(kind string, account core.AccountRef, address string) string {
	return strings.Join([]string{kind, string(account.Channel), account.Account, address}, "\x00")
}

// part is the n-th part of a budget.
func (b Budget) part(n int) Budget {
	return Budget{Account: b.Account.part(n), Direct: b.Direct.part(n), Group: b.Group.part(n), Edits: b.Edits.part(n)}
}

func (r Rate) part(n int) Rate {
	return Rate{Events: r.Events, Per: r.Per * time.Duration(n), Burst: max(r.Burst/n, min(r.Burst, 1))}
}
