// Package world tells evaluations what they depend on, from a store: the agent's mode,
// the facts that its runtime attested, its rules, and a person's recent no.
//
//	policy.Evaluator ── Inputs ─▶ World ── PolicyState (one read per call) ─▶ store
//	                                └─ LiveRules (once per change of them) ─▶ store
//
// Rules are kept in memory as an index per agent, together with the generation that
// they are of. Every evaluation reads the generation, and reads the rules again when
// it is another, so that nothing that is kept here is ever in force for longer than
// the store says: a rule that was removed on any replica is gone with the next call on
// all of them. What happens between the evaluation and the insert is caught there: the
// insert is guarded by the generation, and evaluated again.
//
// An error asks: it comes back with what is known of the generation, and nothing else.
// A rule in the store that cannot be is left out and reported, and costs the others
// nothing.
//
// The package keeps at most MaxAgents indexes and runs nothing of its own. It knows
// nothing of organisations and of exempt tool servers: those are configuration, and
// part of the policy itself.
package world
