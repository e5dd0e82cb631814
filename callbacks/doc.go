// Package callbacks reads and makes the payloads of buttons, and is the one way
// that every click and every typed answer takes.
//
//	channel: bounded body, platform authenticity
//	   │  Click{account, actor, payload, message}
//	   ▼
//	decode ──not ours / foreign──▶ "made by another installation"
//	   ▼
//	person behind (realm, id) ──nobody──▶ "not yours", with the id seen
//	   ▼
//	delivery row of the message ──none──▶ adoptable? ──no──▶ "open the original card"
//	   ▼                                                      (decides nothing)
//	resolve: the service decides staleness, authority and completeness
//	   ▼
//	one answer, from the committed record
//
// What the package promises: a payload is exactly 64 bytes, proves that this
// installation made it for this bot, and is never authority; what the person saw
// is read from the delivery's row, never from the click; every click and text
// gets at most one answer; whoever was told "not recorded" is not surprised by a
// decision later, because an unknown outcome is read back before the answer; a
// panic is an answer too. The click that decided may be answered with the final card,
// where the platform takes one: the decision then leaves that row alone for 5 s, and
// the row counts as shown only when the channel says that the card was taken.
//
// A question of our own that is no card (whether to link an account, a test card) is
// settled by its answer: the channel shows its end in its place, without buttons. Where
// that edit is lost, the next press on a button that stayed behind settles it again.
//
// /mode and /rules are menus: one message that goes on in its own place. What each of
// its buttons does stands in the row of its prompt, and the button says only which one
// it is. A choice is carried out first, then the next menu is put in the place of this
// one, and only then this one is over; each choice may be repeated without harm, so
// whatever dies in between loses nothing. A change is compared with what the menu
// showed: whoever was slower changes nothing and gets what it is now. Below a settled
// card stand acts that decide nothing (dismiss, ask again, re-open); asking again is
// confirmed by whoever pressed.
//
// What it does not do: it talks to no platform, edits no message (that is the
// ledger's), keeps no state of its own and does not decide who may decide.
package callbacks
