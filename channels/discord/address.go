package discord

import (
	"strconv"
	"strings"

	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/core"
)

// directPrefix stands before a user id in the address of a direct chat.
const directPrefix = "@"

// address is a channel or thread, or the direct chat with a person.
type address struct {
	channel string
	user    string // Set for a direct chat; then channel is not.
}

// String is the canonical form: "<channel id>" or "@<user id>".
func (a address) String() string {
	if a.user != "" {
		return directPrefix + a.user
	}
	return a.channel
}

func parseAddress(s string) (address, error) {
	if user, ok := strings.CutPrefix(s, directPrefix); ok && snowflake(user) {
		return address{user: user}, nil
	}
	if !snowflake(s) {
		return address{}, &channels.Error{Class: core.FailureRejected, Op: opSend, Detail: "the address is no channel or user id", NotSent: true}
	}
	return address{channel: s}, nil
}

// locator names one message.
type locator struct {
	channel string
	message string
}

// String is the canonical form: "<channel id>:<message id>".
func (l locator) String() string { return l.channel + ":" + l.message }

func parseLocator(op, s string) (locator, error) {
	channel, message, _ := strings.Cut(s, ":")
	if !snowflake(channel) || !snowflake(message) {
		return locator{}, &channels.Error{Class: core.FailureRejected, Op: op, Detail: "the locator is not one of this channel", NotSent: true}
	}
	return locator{channel: channel, message: message}, nil
}

// snowflake reports whether s is one of the platform's ids: an unsigned 64-bit
// number other than 0, in its only spelling.
func snowflake(s string) bool {
	n, err := strconv.ParseUint(s, 10, 64)
	return err == nil && n > 0 && strconv.FormatUint(n, 10) == s
}
