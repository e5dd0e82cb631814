// Package sqlite is the store of one machine: the whole record in one SQLite
// file, without cgo: SQLite translated to Go (modernc.org/sqlite), spoken to
// directly (zombiezen.com/go/sqlite).
//
// # What it promises
//
// Every command of the ports in package core is one transaction. All writes go
// through one writer goroutine (Run) on one connection, which groups those that
// wait at the same time into a shared commit; a failing write takes no neighbour
// with it. WAL and synchronous=FULL: what a caller was told is on the disk. A
// caller is answered only after COMMIT, or after it is certain that nothing was
// recorded; where that cannot be known the answer is core.ErrOutcomeUnknown.
//
//	callers ──▶ queue ──▶ BEGIN IMMEDIATE
//	                        write 1 · write 2 · …
//	                        marker and clock
//	                      COMMIT ──▶ answers
//
// A write that refuses before it has changed anything leaves nothing to undo. When
// one fails later, the batch is rolled back and run again with a savepoint around
// each write, so that only the failing one is undone. When the transaction itself
// is lost (full disk, I/O error), the batch is replayed one write per transaction. When COMMIT gives no answer, the connection
// is opened again and the marker in the deployment's row tells what happened.
//
// The clock is the process clock, never below the last time handed out, which is
// persisted with each batch. A read that meets a pending row past its deadline
// writes the expiry first and returns the expired row (R22, R29).
//
// # What it does not do
//
// It serves one process: a lock file beside the database keeps a second one away,
// and whoever opens it takes over at once what a process that died had leased.
// It decides nothing: who may answer, what is shown and when to retry belong to
// others; it only keeps the invariants of the record.
package sqlite
