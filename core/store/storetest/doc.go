// Package storetest is the suite that every store of sayso passes, without
// opt-outs. It knows a store only through the ports of core and judges it only
// by what comes back through them.
//
// The story: [Run] opens a fresh store for every subtest and walks area by area
// (create, decide, grants, runs, maintenance, lists, deliveries, routes, adoption,
// people, codes, rules, modes, declines, leases, hygiene), then lets real goroutines race for one row.
// [RunModel] lets a random walk of commands, clock jumps and restarts run against
// a small model of the record and compares every row after every step.
//
// What it promises: a store that passes decides each gate once, never allows
// without a person's word, grants a claim once, loses no delivery between a
// receipt and a decision, and keeps all of it over a restart. Names of subtests
// carry the number of the rule (R), decision (K) or conformance case (C) they
// show.
//
// One thing differs between stores and is said by Store.Exclusive: where a single
// process holds the store, whoever opens it takes over at once what was leased;
// elsewhere a lease has to run out. Each has its assertions; neither is skipped.
//
// What it does not do: it measures no speed, kills no process and fills no disk;
// those need the real binary. It checks no SQL and no schema; a store's own tests
// do. Nothing sleeps: the deployment's clock stands still until the suite moves
// it, so a boundary is met to the millisecond.
package storetest
