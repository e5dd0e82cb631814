package slack

import (
	"regexp"
	"strings"

	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/core"
)

var (
	sharedRule = regexp.MustCompile(`^[CG][A-Z0-9]{1,30}$`)
	userRule   = regexp.MustCompile(`^[UW][A-Z0-9]{1,30}$`)
	placeRule  = regexp.MustCompile(`^[CGD][A-Z0-9]{1,30}$`)
	tsRule     = regexp.MustCompile(`^[0-9]{1,16}\.[0-9]{1,9}$`)
)

// address is a shared channel, one thread of it, or a person's direct chat.
type address struct {
	channel string // The person's id for a direct chat: posting there opens it.
	thread  string // ts of the root; "" for none.
}

// String is the canonical form: "<channel>", "<channel>/<ts>" or "<user>".
func (a address) String() string {
	if a.thread != "" {
		return a.channel + "/" + a.thread
	}
	return a.channel
}

func parseAddress(s string) (address, error) {
	channel, thread, threaded := strings.Cut(s, "/")
	switch {
	case threaded && (!sharedRule.MatchString(channel) || !tsRule.MatchString(thread)):
		return address{}, notOurs(opSend, "the address names no thread of a channel")
	case !sharedRule.MatchString(channel) && !userRule.MatchString(channel):
		return address{}, notOurs(opSend, "the address is neither a channel id nor a user id")
	}
	return address{channel: channel, thread: thread}, nil
}

// direct reports whether a channel id is that of a chat between two.
func direct(channel string) bool { return strings.HasPrefix(channel, "D") }

// placeOf is where something happened, as addresses spell it: a direct chat is named
// by its person. A thread in a direct chat is part of that chat.
func placeOf(channel, thread, user string) address {
	if direct(channel) {
		return address{channel: user}
	}
	return address{channel: channel, thread: thread}
}

// locator names one message.
type locator struct {
	channel string
	ts      string
}

// String is the canonical form: "<channel>:<ts>".
func (l locator) String() string { return l.channel + ":" + l.ts }

func parseLocator(op, s string) (locator, error) {
	channel, ts, _ := strings.Cut(s, ":")
	if !placeRule.MatchString(channel) || !tsRule.MatchString(ts) {
		return locator{}, notOurs(op, "the locator is not one of this channel")
	}
	return locator{channel: channel, ts: ts}, nil
}

// notOurs refuses what this channel cannot have made; nothing is sent.
func notOurs(op, detail string) error {
	return &channels.Error{Class: core.FailureRejected, Op: op, Detail: detail, NotSent: true}
}
