// Package people is who may do what: people, their chat identities and devices,
// and the machines that ask.
//
// A person is known by a session (a browser or the CLI) or by the user id that a
// messenger authenticated; a machine by a bearer token. Authenticate turns a
// bearer into a core.Caller; everything else is administration.
//
//	first start   EnsureBootstrap ──code──▶ RedeemBootstrap ─▶ the first admin, signed in
//	a new device  StartPair ───────code──▶ RedeemPair ───────▶ a session
//	a chat        StartLink ───────code──▶ PeekLink, then a button: RedeemLink ─▶ an identity
//
// What the package promises:
//
//   - Secrets have 256 random bits and leave once, at creation. Only their SHA-256
//     is stored and looked up, so that neither the database nor the timing of a
//     look-up helps to guess one.
//   - One-time codes have 128 random bits in links and 50 when they are typed, live
//     for five minutes, work once, and share one budget of wrong guesses over the
//     whole deployment.
//   - Unknown, revoked, expired, ended and disabled are one answer:
//     core.ErrUnauthenticated. Nothing is cached, so that a revocation holds from
//     the next call on.
//   - Who administers is read again before every change. What widens who or what
//     may be allowed takes an admin's browser session or this machine's operator; a
//     terminal's session, and a machine's token with the admin scope, may only
//     tighten (K40): list people and tokens, disable people, unlink identities, end
//     sessions, revoke tokens.
//   - The last enabled admin can be neither disabled nor demoted.
//
// What it does not do: it keeps no state, decides no approval (core.MayDecide is
// the rule, the store guards it), speaks no HTTP and reads no files. Files with
// secrets are the business of the package keyring, the operator's socket that of
// adminsocket.
package people
