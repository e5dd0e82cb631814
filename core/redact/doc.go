// Package redact turns what a caller wants to do into what may be kept and shown:
// hashes of the whole action, a bounded projection, and the redacted full text.
// The raw arguments go in and do not come out.
//
// # The way of a text
//
//	raw ──▶ secrets replaced ──▶ hidden characters visible ──▶ cut
//	            [hidden]               \u{200B}                 …
//
// In this order, each step once. Secrets are found before anything is measured or
// cut, so no limit can leave half of one standing; they are searched for in the
// text as a reader sees it, so a zero-width character inside a token does not save
// it. The middle step yields the type Safe, which no function takes as raw text:
// taking it twice does not compile. Cuts never split a rune, a mark or a Marker.
//
// # What is secret
//
// The value of a member, header, flag or variable whose name says so, at any
// depth, also in JSON inside strings, in XML and in name/value pairs
// (SensitiveName has the rule); the one-letter password flags of well-known
// programs; the signature of a presigned URL; what follows Bearer and Basic; the whole rest of an Authorization,
// Proxy-Authorization, Cookie or Set-Cookie header; the user information of every
// URL; private key blocks; tokens in the forms that their issuers publish. Every
// occurrence, not the first. Values of environment variables of a command are
// never shown, only their names.
//
// Redaction must not become a place to hide a command. What a shell would execute
// inside a value, $(...) and the like, stays visible; in commands and scripts every
// value ends where another command may begin, between quotes too, because another
// shell may read them once more; and a key block ends where it stops looking like a
// key. A value that only names a secret kept elsewhere, such
// as $TOKEN, is shown.
//
// # What is hashed
//
// The canonical JSON of the arguments as they were given, not redacted (R98):
// RFC 8785 with one deviation, that numbers written as integers keep all their
// digits (Canonical has the rule, testdata/canonical.json the vectors). Members
// that an object repeats are refused, because two readers of such a document may
// see two different actions. The hash of the action covers the arguments hash, the
// kind, the tool and the operation; its fingerprint is for eyes only.
//
// A digest shows that two actions are the same. It does not show that the surface
// was honest or the action harmless (R96), and whoever can guess the arguments can
// confirm the guess: treat digests of short arguments as sensitive (R95).
//
// # What it does not do
//
// No I/O, no clock, no state. It does not escape for a platform: that is the
// channel's. It does not find secrets that look like ordinary words under ordinary
// names, and MixedScript is a warning only. The hidden value itself cannot be told
// from a text that happens to read "[hidden]"; the flag Redacted can.
package redact
