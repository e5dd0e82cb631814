// Package doctor finds out whether the accounts of the messengers work, from the
// token to a click that came back, and says what to do where they do not.
//
//	Accounts   asks each platform how its account stands; needs no running service
//	Seen       notes what the running service hears: whether it receives, and clicks
//	Doctor     puts both together, adds broken routes, sends test cards, and reports
//
// A test card is a prompt in the store, like the question whether to link an account.
// Its click takes the way of every click, on whichever replica it arrives, and
// finishes the prompt; that is the proof. So a process that dies after it sent a card
// loses only the report about it.
//
// What it does not do: it changes nothing unless it is asked to mend, and then only
// what a channel can undo by being asked again; it edits no message; and it puts no
// secret, address of a webhook or text of a person into a report.
package doctor
