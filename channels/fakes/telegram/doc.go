// Package telegram is a Bot API server of one bot, for tests and the playground.
//
// It serves the methods that sayso uses over real HTTP: the form fields,
// multipart bodies (empty ones too) and JSON bodies that the real server takes,
// answered in its error form. It keeps the state that decides what happens next:
// chats that were never started, blocked bots, topics, upgraded groups, messages
// and what they have shown, updates that stay until their offset is confirmed,
// one poller at a time, webhooks that serialise the updates of one user, and
// queries that can be answered once and in time.
//
// Limits are checked by hand in limits.go, always. Where Config.Specs names the
// folder of official specifications, every request is also checked against
// telegram/bot-api.json: unknown parameter, missing required one, wrong type, at
// any depth. Whatever breaks a rule is refused and listed by Violations.
//
// The wire structs are this package's own, so that a mistake in the client's is
// seen.
package telegram
