package postgres

import (
	"context"

	"github.com/saysohq/sayso/core"
)

// Some ports of the record share a name with each other or with the store's own
// life (Run, Close, Release). A view is the store with the methods of one such
// port in their place; it costs nothing to make and has no state of its own.
type (
	// Records serves core.Approvals, core.Grants, core.Runs, core.Maintenance and
	// core.Clock.
	Records struct{ *Store }
	// Ledger serves core.Deliveries, core.Ledger and core.Convergence.
	Ledger struct{ *Store }
	// Leases serves core.Leases.
	Leases struct{ *Store }
)

// Run implements core.Runs.
func (r Records) Run(ctx context.Context, runtime, run string) (core.Run, error) {
	return r.ReadRun(ctx, runtime, run)
}

// Begin implements core.Deliveries.
func (l Ledger) Begin(ctx context.Context, b core.BeginSend) error { return l.BeginDelivery(ctx, b) }

// Complete implements core.Deliveries.
func (l Ledger) Complete(ctx context.Context, c core.CompleteDelivery) error {
	return l.CompleteDelivery(ctx, c)
}

// Release implements core.Deliveries.
func (l Ledger) Release(ctx context.Context, r core.ReleaseDelivery) error {
	return l.ReleaseDelivery(ctx, r)
}

// Close implements core.Deliveries.
func (l Ledger) Close(ctx context.Context, c core.CloseDelivery) (core.Hint, error) {
	return l.CloseDelivery(ctx, c)
}

// Release implements core.Leases.
func (l Leases) Release(ctx context.Context, lease core.Lease) error {
	return l.ReleaseLease(ctx, lease)
}

// The ports that this store serves.
var (
	_ interface {
		core.Clock
		core.Approvals
		core.Grants
		core.Runs
		core.Maintenance
	} = Records{}
	_ interface {
		core.Deliveries
		core.Ledger
		core.Cards
		core.AnsweredCards
		core.Convergence
		core.Routes
	} = Ledger{}
	_ core.Leases = Leases{}
	_ interface {
		core.Principals
		core.Identities
		core.Sessions
		core.Tokens
		core.Codes
		core.CodeBurner
		core.Prompts
		core.Keys
	} = (*Store)(nil)
)
