// Package deliveries drives every card that was planned to the truth: it sends
// it, edits it to the outcome, or records why that is impossible and tells the
// truth beside it.
//
// The ledger has one row for each approval, channel, account and destination,
// written in the transaction that creates the approval. The rows are
// level-triggered: a row needs work while its message shows an older card than
// the record has, while somebody waits for the whole detail, while a lost lease
// leaves it unsettled, or while its follow-up is not sent. Nobody enqueues jobs,
// so none can be lost.
//
//	            begin                receipt                     newest card shown
//	planned ───────────▶ sending ───────────▶ open ───────────────────────────────▶ closed
//	   │                   │  ▲                │ ▲ │                                  replaced
//	   │ decided first     │  │ no answer,     │ │ │ cannot be edited any more
//	   ▼                   │  │ still pending  │ │ ▼
//	closed: skipped        │  └────────────────┘ │ step follow-up ── sent ──────────▶ closed
//	                       │                     │                                    retired, unsupported
//	                       │ no answer, decided  │ edited, not settled: once more
//	                       ▼                     └ after the call timeout + 30 s
//	closed: possible-orphan
//
//	planned, sending: gone, rejected ─▶ closed: failed, the person's next route planned
//	                  the right is lost ─▶ closed: failed, those who have it now are told
//	                  the chat moved ─▶ the same row, at the new address, at once
//	                  same address as another row ─▶ closed: duplicate
//
// Where cards go is the Planner's business: a routing table, read when an approval
// is made and again when one of its cards fails for good. Its answer is written
// with the approval, also what comes later: the steps of an escalation are rows
// that are due later, and an answer before then drops them. A destination that
// failed for good is marked in the write that closes its row, left out of plans for
// a growing while, and mended by the next card that arrives.
//
// What the package promises:
//
//   - Before the first byte of a call, the row says that it is under way and what
//     it will show; the fence and the remaining lease are checked in that write.
//   - A send whose answer was lost is repeated only while the approval is pending;
//     an edit or a follow-up is repeated until it is confirmed.
//   - An outcome whose edit the platform takes only after more than a minute is told
//     beside the card meanwhile, once for each card revision; the row stays open until
//     the edit lands.
//   - A row whose card may be the answer to a click is left alone until no such answer
//     can come any more, or until it is recorded as shown.
//   - A platform's retry_after is never shortened, and no budget is exceeded in any
//     window; where replicas share budgets, but for one burst when they lose or find them.
//   - Final answers and new cards have slots of their own and share every budget:
//     whoever waits alone has all of it. Where both wait, a card has every fourth
//     place, the next one if it is the first; see Pacer.
//   - A new message about a question that waits goes to a person only while they may
//     decide it, as read when it leaves. What they were shown before is driven to the
//     outcome all the same.
//   - A card that does not get through takes its next route before it is given up,
//     and a chat that is closed to us is reported once.
//   - One call at a time in each chat; a chat that hangs holds half of its
//     account's slots at most, and a row whose place is over a quarter of a second
//     away holds none; a row that always fails waits with backoff up to 10 minutes
//     and holds up nothing behind it.
//   - Of several replicas, one that dies is missed within 11 s (Presence), and its rows
//     are taken over then, not when their leases run out. A worker that was paused, or
//     kept from the store, for so long begins no call until it has shown itself again.
//   - Stopping drains: calls under way finish within their timeout and are
//     recorded; rows that wait are given back.
//
// What it does not do: it never decides an approval (the store denies for want of
// a route in the write that closes the last row), it never reads clicks, and it
// keeps no state that a restart would miss. Exactly-once sends do not exist on
// platforms without deduplication; an orphan heals when its button is pressed.
package deliveries
