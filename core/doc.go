// Package core is the domain of sayso: one record per gate, who may decide it,
// and the ports through which everything else reaches it.
//
// sayso asks a person before a machine acts. A runtime asks; the record below is
// written; cards are planned in the same transaction; the first authorised
// answer wins through one guarded write; every delivered card is driven to the
// truth; the runtime claims the grant at most once and reports what happened.
//
//	           ask                                       allow (person)
//	runtime ────────▶ pending ─────────────────────────────────────────▶ allowed
//	   │                 │ deny, reply, wrong hash, no route, malformed ─▶ denied
//	   │ policy: auto    │ deadline reached, seen by any read or write ──▶ expired
//	   ▼                 │ abort, withdrawn, newer epoch, restore ───────▶ cancelled
//	allowed (origin auto)
//
//	allowed: unclaimed ──claim──▶ claimed ──report──▶ succeeded | failed | unknown
//	         unclaimed ──lapse, abort, newer epoch, restore, wrong hash──▶ voided
//
// What the package promises: closed enumerations with a Valid method each, a
// decoder check (Approval.Check) that refuses every tuple the state machine
// cannot produce, identifiers that never collide across namespaces, and ports
// whose command values are applied atomically by a store.
//
// What it does not do: no I/O, no clock (stores own the time of the deployment),
// no imports beyond the standard library.
package core
