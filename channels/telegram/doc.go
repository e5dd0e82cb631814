// Package telegram is the room of the Telegram messenger: one bot, everything of
// the platform in it.
//
// Sending and editing. A card becomes one message of plain text with entities, at
// most 4,096 UTF-16 units, never with markup that a text could break. Text that
// clients would turn into a mention, a link or a command stands in monospaced
// entities, where they leave it alone. What does not fit is cut, visibly, and such
// a card offers its CutActions. Every error of the platform is sorted into a class
// of the contract; a call that broke after bytes were written is ambiguous when it
// was a send and temporary when it was an edit, because an edit may be repeated.
//
// Receiving. By default the package polls; with Config.Webhook it registers a
// webhook and serves Webhook. Either way an update is confirmed only after the
// Inbound call for it returned: the offset moves to the first update that has not
// ended, and the webhook answers 200 when it has. So a process that dies before
// gets the update again. Updates of one user stay in order, those of different
// users run side by side. An update that can never be processed counts as ended,
// or it would block its user's next clicks.
//
// Addresses are "<chat id>", or "<chat id>/<topic id>" for a topic other than
// General. Locators are "<chat id>:<message id>"; a topic is not part of them,
// because the platform edits by chat and message alone. Both are canonical: equal
// places have equal strings.
//
// Answering. A pressed button gets its one answer, a typed text a reply, a prompt a
// question that opens the person's keyboard. Because nobody else would, these are
// tried up to three times while the platform surely did not take them.
//
// What it does not do: it keeps no offset (the platform does), it does not retry,
// pace or give up on cards (the ledger does), and it decides nothing.
package telegram
