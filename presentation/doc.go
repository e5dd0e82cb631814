// Package presentation turns the committed record into the neutral card that
// every surface lays out: wording, facts, marks and typed actions; into the private
// answers to clicks; and into what the asking agent reads.
//
//	record + detail + place ──For──▶ Card ──channel──▶ message
//	                                  │ pending:  action, facts, marks, controls
//	                                  └ terminal: outcome, at most what can be done
//	                                    about it, and in chats always shorter than
//	                                    it was before
//
// What the package promises: the same record reads the same in every place, whenever
// it is rendered; "elsewhere" is every place but the one that was answered in, and
// "you" is said only where nobody else reads; a card that does not hold the whole
// action offers no allow, and one that tells an outcome offers nothing that decides;
// a rule's scope stands whole on its button or above it; every private answer and
// every menu fits the smallest limit of all platforms.
//
// What it does not do: no I/O, no clock, no escaping (that is the channel's), and no
// judgement about who may decide. Its input is safe text already: redacted, hidden
// characters visible.
package presentation
