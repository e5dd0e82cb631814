// Package postgres is the store of a fleet: the whole record in one PostgreSQL
// database, shared by any number of equal processes, through a native pgx pool.
//
// # What it promises
//
// A decision is one round trip and one commit. A batch that is a transaction of its
// own locks the person, then the approval, in one statement. The next one moves the
// pending row to the decision, as long as it is as it was seen and the clock that it
// reads says that its deadline has not come, marks its deliveries due and writes the
// event. The two are apart because the second sees what the first waited for: a single
// one would tell losers "pending" and miss a delivery that was written meanwhile. A
// loser reads the winner where it got the lock.
//
//	one batch ──▶ lock person (share), lock approval (update): read it if it has moved
//	              UPDATE … before the deadline by clock_timestamp(), deliveries due, event
//	          ◀── answers, then the commit: believed only when all is answered
//
// What is not as it was seen is not changed by that: an answer that comes too late, or
// after anything else, is dealt with by the one way that package record has for all of
// it.
//
// A new question is one round trip as well where nothing stands in its way, and so
// exact is the limit of open questions of its runtime (pending.go). A claim of due
// cards takes six, for a hundred cards as for one, and one while nothing is due. All
// other commands, and a click that has to be adopted, are those of package record in a
// transaction of their own, with its locks in the one order of the deployment.
// Serialisation failures and deadlocks are repeated within the store's limit; so is
// what pgx knows was never sent. Another connection that dies before its commit is
// core.ErrUnavailable; a commit without an answer is core.ErrOutcomeUnknown. Neither
// is repeated: a decision is then read back under its lock, and its attempt tells whose
// it was.
//
// The clock is the server's, read inside the statements, in milliseconds. Should it
// be set back, a process tells nobody an earlier time than before. Read committed is
// asserted at the start and a commit reaches the disk before it is answered; behind
// a pooler that keeps no session (PoolerTransaction) both are said in every
// transaction, and nothing is prepared.
//
// What is pending, due, unclaimed or claimed has partial indexes, so that finding it
// costs the same however many rows are retained. Sessions plan each statement once, for
// parameters that nobody knows yet: tests hold those plans, on young and old records.
//
// Events are written without a number, because nobody knows in which order
// transactions become visible. NumberEvents numbers what can be seen, for whoever
// holds the lease of that job (package events): one statement, behind a check of the
// fence whose lock lasts until the commit.
//
// # Its statements
//
// The rules of the record, the SQL that both databases speak and the coding of rows
// live in core/store/internal/record. Here stand the connections, the transactions,
// the few words in which PostgreSQL's SQL differs, and the two batches above.
//
// # What it does not do
//
// It sends no notifications: hints between processes are another adapter's. It
// decides nothing, reads no standby and migrates only when told to.
package postgres
