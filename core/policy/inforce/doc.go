// Package inforce keeps the policy files of this process and what is in force in the
// whole deployment together.
//
//	files ── look ─▶ read whole, compiled ──▶ Holder ── Current ─▶ evaluations
//	  ▲                     │ (refused: the tables before stay)
//	  │                     ▼
//	watched, read      PutTables ─▶ store: the digest in force ─▶ hint to the others
//	every few seconds       │
//	                        └─ another digest is in force: not ready, and every call asks
//
// # What it promises
//
// A bad file stops a start, and changes nothing afterwards: the tables in force stay,
// and Status says what is wrong. A file that is being written is not taken for one that
// was: what has changed counts once it was read twice alike.
//
// New files are in force on this process as soon as they are read, and on the others
// with their next call: each evaluation compares the digest that the store has, and
// looks at the files when it is another (Holding). A process whose files are not those
// in force asks about everything and is not ready, until they arrive; it never judges
// by what it has. A process that starts with files of the past does not lead the
// others back to them; only a person does (Adopt).
//
// # What it does not do
//
// It spreads no files: that is the deployment's business. It keeps nothing of what they
// say in the store. Losing every event of the file system and every hint costs it a few
// seconds, never the truth.
package inforce
