// Package approvals is the canonical service: every edge (JSON API, page,
// messengers, CLI) asks, reads, waits, decides, claims and reports through it,
// and through nothing else.
//
// The story of one approval:
//
//  1. Ask describes the action (the raw arguments are hashed and forgotten),
//     lets the policy evaluate it, plans where it will be shown, and hands the
//     store one command: row, event and planned deliveries in one transaction.
//  2. A waiter registers, reads the row, and only then waits: for a hint, for the
//     deadline, or for the slow re-read that makes every hint optional. It always
//     answers from the row. Where hints were lost, all who wait are looked at
//     together, and they read again whose row has changed.
//  3. Resolve finds and authorises (unknown and unauthorised are one answer),
//     checks kind, offer, what the surface had shown and the hash, and hands the
//     store one guarded write. Whoever loses gets the record as it is.
//  4. Claim takes the single-use grant with the hash of what will run; Report
//     records what happened. Both are guarded writes of the store.
//
// An approval may end in any write, also while somebody reads: the store tells each
// final answer once, and Ends counts and logs it.
//
// It holds no state of an approval: no timers, no caches, no copies. If the
// process dies at any line, the next reader finds the truth in the store.
//
// It does no I/O of its own and imports the standard library only; policies,
// redaction, delivery planning and the bus come in as small interfaces.
package approvals
