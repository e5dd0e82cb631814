// Package slack is a fake of Slack: its Web API, Socket Mode, signed pushes and
// response URLs, for one app in one workspace.
//
// It keeps the platform's state by hand: a message is edited only by whoever sent
// it, and by the id of its channel, never by a person's; a text without blocks takes
// the blocks away; a trigger opens one dialog within 3 s; a response URL works five
// times within 30 min; a payload goes to one connection and is acknowledged there, in
// a frame below 20 KB; at most ten connections are open; a ticket opens one of them;
// an interaction that nobody takes is lost, while an event is handed out again.
// Limits of texts and blocks are checked after escaping. With the official
// specifications it also checks every argument, block and dialog against them, and
// that it answers no error which the method does not document.
//
// Three rules are stricter than the platform, because their opposite is not
// published: one rich text block holds at most 3,000 characters, like a section; the
// length of a text counts UTF-16 units; and a person's payloads go to one and the same
// connection as long as it is open, so that their order can be tested.
package slack
