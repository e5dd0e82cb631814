// Package web is the page that a person opens from a card, or instead of one:
// templates, styles and one small script, laid out for a phone first.
//
// The page is complete without the script: every state is rendered on the server
// from the committed record, a decision is an ordinary form, and "show
// everything" is a link. The script keeps it fresh (events, and a poll while the
// page is visible), shows what is under way, and says so when an answer may or may
// not have been recorded. It never decides and holds no state of its own.
//
// The package renders what it is given; who may see or decide is not its business.
// It does no I/O beyond the writer: no network, no clock.
package web
