package sqlite

import "github.com/saysohq/sayso/core"

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
		core.Convergence
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
