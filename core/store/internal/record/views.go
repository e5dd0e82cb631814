package record

import (
	"context"

	"github.com/saysohq/sayso/core"
)

// Two ports of the record name their methods as another port or the life of a store
// does (Close, Release). A view is the store with the methods of one of them in
// their place; it costs nothing to make and has no state of its own. A store that
// serves such a port in a way of its own brings its own view.
type (
	// Ledger serves core.Deliveries, core.Ledger, core.Cards, core.AnsweredCards,
	// core.Convergence and core.Routes.
	Ledger struct{ *Store }
	// Leases serves core.Leases.
	Leases struct{ *Store }
)

// Ledger is the store as the ledger of deliveries.
func (s *Store) Ledger() Ledger { return Ledger{s} }

// Leases is the store as the keeper of single-holder jobs.
func (s *Store) Leases() Leases { return Leases{s} }

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

// The ports that a store serves.
var (
	_ interface {
		core.Clock
		core.Approvals
		core.Grants
		core.Runs
		core.Maintenance
		core.Backlog
		core.Watch
		core.Takeover
		core.Principals
		core.Identities
		core.Sessions
		core.Tokens
		core.Codes
		core.CodeBurner
		core.Prompts
		core.Keys
		core.Restoration
		core.Rules
		core.AgentSettings
		core.Policies
		core.PolicyTables
		core.Declines
		core.Outcomes
		core.Updates
		core.Nudges
	} = (*Store)(nil)
	_ interface {
		core.Deliveries
		core.Ledger
		core.Cards
		core.AnsweredCards
		core.Convergence
		core.Routes
	} = Ledger{}
	_ core.Leases = Leases{}
)
