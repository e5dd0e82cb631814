package storetest

import (
	"testing"
	"time"

	"github.com/saysohq/sayso/core"
)

// Store is the store under test: its ports side by side. Leases stands apart
// because its Release and that of Deliveries share a name.
type Store struct {
	core.Clock
	core.Approvals
	core.Grants
	core.Runs
	core.Maintenance
	core.Backlog
	core.Watch
	core.Takeover
	core.Deliveries
	core.Ledger
	core.Cards
	core.AnsweredCards
	core.Convergence
	core.Routes
	core.Principals
	core.Identities
	core.Sessions
	core.Tokens
	core.Codes
	core.CodeBurner
	core.Prompts
	core.Keys
	core.Sequence
	core.Restoration
	core.Rules
	core.AgentSettings
	core.AgentLives
	core.Policies
	core.PolicyTables
	core.Declines
	core.Outcomes
	core.Updates
	core.Nudges
	Leases core.Leases
	// Exclusive is true where one process holds the store at a time: whoever opens
	// it knows that the holders of all leases in it are gone.
	Exclusive bool
}

// Damage names a way in which a stored row can be wrong.
type Damage string

// The damages that a harness can do. Each leaves the row's id in place.
const (
	// DamageShape makes the presentation and the list of reviewers, where there is one,
	// JSON of another type.
	DamageShape Damage = "shape"
	// DamageContent makes the fingerprint disagree with the action hash.
	DamageContent Damage = "content"
	// DamageOutcome forges an allowed outcome that nobody brought about: status
	// allowed, reason user, execution unclaimed, a claim deadline in the future,
	// and no resolver (conformance 27).
	DamageOutcome Damage = "outcome"
)

// Harness is one open store and what the suite may do to it from outside. All
// methods are safe for use by several goroutines, except Reopen.
type Harness interface {
	// Store is the store as it is open now; ask again after Reopen.
	Store() Store
	// Advance shifts the clock behind the store by d, which may be negative. In
	// between that clock stands still.
	Advance(d time.Duration)
	// Reopen closes the store and opens it again over the same data. Nothing that
	// lived in memory alone may be carried over.
	Reopen(t testing.TB)
	// Corrupt damages the stored row of an approval behind the store's back.
	Corrupt(t testing.TB, approvalID string, d Damage)
	// Ends is what the store has told of final answers since it was first opened.
	Ends() *Ends
	// Events lists what was recorded about an approval, in the order of recording.
	Events(t testing.TB, approvalID string) []core.EventType
	// Outbox lists the events that have a number, in the order of their numbers.
	Outbox(t testing.TB) []Numbered
}

// Factory opens an empty store whose life is that of t.
type Factory func(t *testing.T) Harness

// spec is one subtest.
type spec struct {
	name string
	run  func(k *kit)
}

// Run is the suite. Every subtest gets a store of its own and runs in parallel.
func Run(t *testing.T, open Factory) {
	t.Helper()
	areas := []area{
		{"create", createSpecs()},
		{"identity", identitySpecs()},
		{"idempotency", idempotencySpecs()},
		{"decide", decideSpecs()},
		{"guard", guardSpecs()},
		{"corrupt", corruptSpecs()},
		{"grants", grantSpecs()},
		{"runs", runSpecs()},
		{"maintenance", maintenanceSpecs()},
		{"list", listSpecs()},
		{"deliveries", deliverySpecs()},
		{"receipts", receiptSpecs()},
		{"pacing", pacingSpecs()},
		{"routes", routeSpecs()},
		{"broken routes", brokenSpecs()},
		{"adoption", adoptionSpecs()},
		{"cards", cardSpecs()},
		{"answered", answeredSpecs()},
		{"truth", truthSpecs()},
		{"people", peopleSpecs()},
		{"access", accessSpecs()},
		{"codes", codeSpecs()},
		{"prompts", promptSpecs()},
		{"rules", ruleSpecs()},
		{"policy", policySpecs()},
		{"policy tables", policyTablesSpecs()},
		{"outcomes", outcomeSpecs()},
		{"updates", updateSpecs()},
		{"nudges", nudgeSpecs()},
		{"restore", restoreSpecs()},
		{"leases", leaseSpecs()},
		{"sequence", sequenceSpecs()},
		{"hygiene", hygieneSpecs()},
		{"races", raceSpecs()},
		{"races with time", timeRaceSpecs()},
		{"policy races", policyRaceSpecs()},
		{"agents", agentLifeSpecs()},
		{"agent races", agentRaceSpecs()},
		{"delivery races", deliveryRaceSpecs()},
	}
	for _, a := range areas {
		a.test(t, func(t *testing.T) *kit { return newKit(t, open(t)) })
	}
	for _, a := range []area{ // Once more, with the row that the caller saw.
		{"decide as seen", decideSpecs()},
		{"guard as seen", guardSpecs()},
		{"races as seen", raceSpecs()},
		{"races with time as seen", timeRaceSpecs()},
	} {
		a.test(t, func(t *testing.T) *kit { return newKit(t, open(t)).seeing() })
	}
}

// area is the subtests of one part of the contract.
type area struct {
	name  string
	specs []spec
}

func (a area) test(t *testing.T, open func(t *testing.T) *kit) {
	t.Helper()
	t.Run(a.name, func(t *testing.T) {
		t.Parallel()
		for _, s := range a.specs {
			t.Run(s.name, func(t *testing.T) {
				t.Parallel()
				k := open(t)
				s.run(k)
				k.toldOnce()
			})
		}
	})
}
