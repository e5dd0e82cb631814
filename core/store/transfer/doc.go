// Package transfer carries whole stores from one place to another: a move from SQLite
// to PostgreSQL, a backup of either, and its restore into either.
//
// # The copy
//
// All of them are one copy: every table of the schema is streamed, row by row and in
// bounded memory, from one moment of the source into the target. Which tables and
// columns there are is read from the databases, so that a new table travels without
// anybody thinking of it; that both databases have the same ones is checked. Each row
// has one canonical form on both sides; a table is compared by the number of its rows
// and the sum of their digests, taken while reading the source and again from what
// the target has.
//
//	             ┌───────────┐  move                    ┌────────────┐
//	  SQLite ───▶│           │─────────────────────────▶│ PostgreSQL │
//	             │   copy    │                          └────────────┘
//	PostgreSQL ─▶│ + compare │  backup   ┌────────────┐  restore   SQLite, or
//	             │           │──────────▶│ sealed file│─────────▶ PostgreSQL,
//	             └───────────┘           └────────────┘           new incarnation
//
// A backup is a SQLite store of its own, sealed, with a manifest of what is in it. It
// says the same of either store, so what was backed up from one can be restored to
// the other.
//
// # What it promises
//
// A target is filled completely or not at all, and it serves nobody before it is
// finished: whatever is half done is sealed (core.Seal), and the command that was cut
// off finishes it when it is run again. After a move one of the two places serves,
// never both. A restore tells every card the truth: what the backup cannot know any
// more is cancelled, voided or unknown, and said so (core.Restoration). Events keep
// their numbers; those that a PostgreSQL store had not numbered yet are numbered in a
// backup as they would have been.
//
// # What it does not do
//
// It carries no files: the secret key that opens the sealed keys goes along by hand.
// Leases of jobs stay behind; those of deliveries run out and are taken over. It moves
// nothing from PostgreSQL to SQLite, because nothing could hold the other replicas
// back: back up and restore instead. A manifest finds damage, not forgery.
package transfer
