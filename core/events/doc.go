// Package events gets what happened to those who want to know.
//
// Every change of an approval writes an event in its own transaction (R168). On SQLite
// an event has its number as soon as it is written, because there is one writer. On
// PostgreSQL many write at the same time, and the order in which they begin is not the
// order in which they can be seen: a reader that has read up to a number would miss
// what commits later with a smaller one. So events are written without a number there,
// and the Sequencer numbers those that can be seen, one after the other, without gaps.
// Readers see numbered events only.
//
//	change ──commit──▶ event without a number ──Sequencer──▶ event n ──▶ readers, after n-1
//	          └─hint──▶ wakes the Sequencer
//
// The Sequencer is the job of one replica at a time (package leases). It looks
//
//   - at once when a hint comes, though at most every 10 ms, so that a busy fleet
//     shares its commits among many events (at most 1,000 in one transaction, and the
//     next at once behind a full one);
//   - every 50 ms for a second after it has numbered something, because traffic comes
//     in bursts and hints may be lost;
//   - every second when nothing happens.
//
// A look that finds nothing is one read. Each numbering checks the fence of the lease
// in its own transaction: a Sequencer that was paused past its lease and wakes up late
// numbers nothing. If the process dies at any line, events are numbered or not; those
// that are not are numbered by whoever takes the job over, within the 15 s of a lease.
//
// What it promises: numbers without gaps that never repeat, also behind events that
// were pruned; the events of one approval in the order of its revisions, each knowing
// the number of the one before it (R170). What it does not: an order between different
// approvals beyond "what could be seen earlier comes earlier".
package events
