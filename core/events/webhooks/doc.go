// Package webhooks tells runtimes that a record of theirs has changed: it calls the
// callback that a request named, with ids only, signed as Standard Webhooks has it.
//
// The story: a change that matters to the runtime makes a nudge due in the transaction
// of the change (core.Nudges). A [Sender] leases due nudges, calls, and records what
// came of it. A call that was not taken is repeated, later each time, for a day; a
// process that dies leaves a lease that runs out, and the next one calls again. So a
// callback hears of each change at least once, perhaps late and perhaps twice: the same
// change has the same webhook-id. What it hears says nothing but "look again": the truth
// is in the record, and whoever misses a call misses a hint.
//
// Where a call may go is the operator's to say ([Runtimes]): each runtime has its own
// list of hosts, its own secret, and nothing else. The list is looked at when a request
// names its callback, and again at each call. A name on the list may still lead
// anywhere, also somewhere else than a moment ago; so the address that was really
// resolved is looked at when the connection is made, and one that is not public is
// refused unless the operator named its network. There is no proxy, no redirect is
// followed, time and size of an answer are bounded, and nothing of it is kept.
//
// It does not say what happened, keeps no order between approvals, and gives up after a
// day: a runtime that was away for longer reads its updates and its approvals.
package webhooks
