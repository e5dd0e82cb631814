// Package gateway is the HTTP edge: the JSON API under /v1, the page that people
// open, the health and metrics mounts, and the server that carries them.
//
// A request passes, in this order: its id, the access log, panic recovery, the host
// allow-list, the clocks of the connection, the body limits, authentication
// (core/people), the rate limit of its runtime, and only then an operation. An
// operation decodes, calls one method of one small interface and projects the
// record that came back. The gateway keeps no state of an approval: whatever it
// answers was read for that answer. The security headers come when it begins.
//
// Callers wait by the thousand, for minutes each. They rest at the edge, after the
// chain has returned and before the operation is called, and all work for them is
// done aside: their goroutines never need more than 4 KiB of stack.
//
// What the package promises: every error is an RFC 9457 problem with a stable
// code and never repeats a value that the caller sent, unknown and unauthorised
// records answer with the same bytes (R155), reviewers see neither session keys
// nor raw resolver ids (R156), the link to the page is derived from the id and
// never from a Host header (R178), and a person's allow carries what the surface
// really showed, proved by a signed view where the projection was cut (K29).
//
// The page (Pages; templates and script are in presentation/web) is the same
// service for people. A GET shows the record as it is and changes nothing; a POST
// needs a browser's session, a form token bound to it and to the revision that was
// rendered, and this very origin; an allow needs the signed view of the whole
// action. After a press the record is read again and shown, never the press; where
// that fails the page says that it does not know. Streams only say "look again".
//
// What it does not do: it decides nothing, it stores nothing, and it starts no
// listener of its own accord. Server.Run serves the listeners it is handed until
// its context ends, then lets long polls answer with the record as it is.
package gateway
