// Package record is what the stores of sayso have in common: the statements, the
// rows and the transitions of the record, over a transaction that a store opens.
//
// The story: a store brings a [DB] (how to read, how to write, what time it is) and
// a [Dialect] (the few words in which its SQL differs), and [New] makes all ports of
// package core from them. A command of a port is one call of DB.Write with a
// function that reads rows, moves them in Go and writes them back; what may move to
// what stands here once, so that two databases cannot disagree about it.
//
// Locks are part of that function, in the one order of the deployment: the lease of a
// job; policy, instance, run, agent, person; then approvals in id order; then the names of
// messages; then deliveries in id order. Whoever locks events that stand already
// (numbering, pruning) waits for nobody who waits for them.
// Whatever completes, releases, adopts or adds a delivery first locks its approval
// as a statement of its own: for share to record, for update wherever the write may
// change the approval, never one and then the other. Where a single writer has the
// database to itself (Dialect.Locks is false) the locking statements are left out.
// The time of a write is read again whenever a lock may have waited.
//
// An agent's mode and rules are locked under one name: shared by an insert or a claim
// that relies on them, alone by whatever changes them and by a use of a rule that
// counts down. Every change raises the agent's generation, which inserts are guarded
// by, and leaves a line of history.
//
// A row that waits and cannot be decoded ends where a write meets it, denied as
// storage-corrupt; what was asked is not kept. Every final answer, however it came
// about, is told once to whom the store was made with, after its commit.
//
// What it does not do: it opens no connection, commits nothing, retries nothing and
// decides nothing about people. A store may answer a command in a better way of its
// own, as long as the suite in storetest cannot tell the difference.
package record
