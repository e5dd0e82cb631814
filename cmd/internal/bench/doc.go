// Package bench measures the service on the machine at hand: what a decision
// costs beside plain SQL, what a waiting caller costs in memory, how soon a click
// is answered.
//
// Absolute figures of a shared disk are worth little, so every rate stands beside
// a raw baseline of the same run: slices of about a second are interleaved in
// alternating order, and what counts is the median of the paired ratios, with the
// smallest and the largest. Where the raw side itself varied more than twofold the
// verdict is "noisy": no verdict. Counters (decisions per commit) stand beside the
// timings, because noise cannot move them.
//
// Everything is durable: WAL, synchronous=FULL, an answer only after the commit.
// What is measured is the shipped service: the same packages in this process for
// the figures without HTTP, and the command "sayso serve" as a process of its own
// for the others; only with scaled budgets, which nobody can configure, the service
// runs in this process whole. Clients run in this process and share the machine with it.
//
// What budgets stretch to seconds or minutes stands beside the least time that these
// budgets allow: bursts of decisions with ten cards each, on messengers that keep their
// platform's limits and count who comes too early. In a run of all measures the rates
// are scaled; Soak takes them as they are shipped.
//
// The figures of a fleet (pg_*.go) are of a private PostgreSQL server, and of a Redis
// where replicas tell each other. The raw side is pgbench, with our tables and the same
// rows written. Beside the timings stands what one operation costs whatever the noise:
// round trips, commits, bytes of the server's log, pages touched, processor time of the
// server and of whoever calls it.
//
// It holds no fake of a messenger: whoever wants the figures of one hands it in as
// a Messenger or a Strict.
package bench
