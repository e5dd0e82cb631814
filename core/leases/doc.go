// Package leases runs the jobs that only one replica of a fleet may do at a time:
// polling a bot, listening to a gateway, sweeping, numbering events.
//
// A lease is a row in the store: a name, a holder, a fence, and the time until which
// it is held, by the store's clock. Runner.Hold waits until the lease is free, takes
// it, runs the job, renews it while the job runs, and gives it up when the job has
// ended:
//
//	        free, or run out                     a third of the term has passed
//	wait ─────────────────────▶ hold, run the job ───────────────────▶ renew ──┐
//	 ▲  ▲                         │        │   ▲                               │
//	 │  └── every second ─┘       │        │   └───────────────────────────────┘
//	 │                            │        └── job or context ends ──▶ release
//	 └── job has ended ◀── lost: the job's context ends
//
// # How long a job may believe that it holds the lease
//
// The store sets the end of a lease to its own time plus the term, when it handles
// the call. That is later than the moment at which the call was sent, so the lease
// lasts at least until that moment plus the term, whatever the clocks show: only
// durations are compared, never times of two machines. The job's context ends a
// tenth of the term earlier, which is far more than two clocks drift apart in that
// time and leaves the job a moment to stop. A call that is answered slowly makes the
// context end sooner, never later.
//
// Durations are measured on the monotonic clock and on the wall clock, and the longer
// one counts: the monotonic clock stands still while a machine is suspended, the wall
// clock may be set. The context's Err looks at the clocks itself. A process that was
// stopped past its lease and wakes up finds its job's context ended at the first look,
// before any timer had its turn; whoever only waits for Done is told at once (stopped)
// or within a tenth of the term (suspended).
//
// # How soon another replica takes over
//
// With the term of 10 s, from the moment at which the holder dies:
//
//	killed right after a renewal      10 s    until the lease has run out, at most
//	the standby looks again            1.25 s  at most: every second, with a quarter of jitter
//	                                  ------
//	                                  11.25 s, and the time of one call to the store
//
// That leaves more than 3 s of the 15 s that are promised for a store that is slow at
// this very moment. A graceful stop releases the lease as soon as the job has ended and
// tells so through the bus: a standby has it at once, or without a bus after one look,
// 1.25 s at most. A store that does not answer
// for up to 5 s costs nobody a lease: it is renewed every 3.3 s, lasts 10 s, and the
// job stops 9 s after the last renewal that was answered.
//
// # What happens when a holder is late all the same
//
// No clock can promise that a call which was sent in time is handled in time. So no
// job relies on being alone: each write of a job is guarded by the state that it
// changes, or by the fence. A fence is a number that rises whenever the lease changes
// hands, or runs out and is taken again; a write that carries an older one is refused
// by the store in the same transaction.
//
//	telegram/<bot>/poll         A poll confirms only updates that have ended here, so
//	                            an old poller confirms nothing that was not handled;
//	                            after a lost lease it confirms nothing more at all. An
//	                            update that two handle is decided once (the guarded
//	                            write), and both answers say the same.
//	discord/<app>/gateway       The gateway gives each event to every connection, so a
//	                            late one handles an event twice: decided once, and the
//	                            platform refuses the second answer to an interaction.
//	slack/<app>/slot/<n>        The platform gives each payload to one connection. One
//	                            connection too many is below the platform's limit.
//	approvals/upkeep            Each expiry, lapse and deletion is a guarded write of
//	                            the row as it is then.
//	events/sequence             Each numbering checks the fence in its transaction.
//	deliveries/sweep            Marks rows due that are due by the rule; sends and
//	                            edits have leases and fences of their own, by row.
//
// # What it does not do
//
// It elects nobody: leases of different jobs may be anywhere. It does not end a job
// that ignores its context; the lease is then lost, and Hold returns only after the
// job. On SQLite one process holds the store and opening it frees all leases, so a
// lease is there at once, also after a kill; a long term spares it the renewals.
package leases
