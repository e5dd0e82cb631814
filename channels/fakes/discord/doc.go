// Package discord is a Discord server with one application, for tests and the
// playground.
//
// It serves the part of the HTTP API (v10) that sayso uses, and the gateway, over
// real HTTP and websockets. It keeps the state that decides what happens next:
// servers' channels, threads that are archived or locked, people who take no direct
// messages, messages and what they have shown, nonces, the small budget for edits of
// old messages, interactions that take one response within 3 s and follow-ups for 15
// minutes, sessions that can be resumed. With an endpoint URL it pushes interactions,
// signed, instead, and can push badly signed ones.
//
// Limits are checked by hand in limits.go, always. Where Config.Spec holds the
// official specification, every body is also checked against it. Whatever breaks a
// rule is refused and listed by Violations; so is a message that allows a mention.
//
// What a person would see of a message is worked out by markdown.go: markup is
// resolved, and whatever would become a mention, a link or an emoji is listed.
//
// The wire structs are this package's own, so that a mistake in the client's is seen.
package discord
