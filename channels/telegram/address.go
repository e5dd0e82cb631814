package telegram

import (
	"strconv"
	"strings"

	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/core"
)

// generalTopic is the id of a forum's General topic, which is addressed by
// leaving the topic out.
const generalTopic = 1

// address is a chat, or one topic of a forum.
type address struct {
	chat   int64
	thread int // 0 for none and for General.
}

// String is the canonical form: "<chat>" or "<chat>/<topic>".
func (a address) String() string {
	s := strconv.FormatInt(a.chat, 10)
	if a.thread > generalTopic {
		s += "/" + strconv.Itoa(a.thread)
	}
	return s
}

func parseAddress(s string) (address, error) {
	chatText, threadText, hasThread := strings.Cut(s, "/")
	chat, err := strconv.ParseInt(chatText, 10, 64)
	if err != nil || chat == 0 {
		return address{}, &channels.Error{Class: core.FailureRejected, Op: opSend, Detail: "the address is not a chat id", NotSent: true}
	}
	if !hasThread {
		return address{chat: chat}, nil
	}
	thread, err := strconv.Atoi(threadText)
	if err != nil || thread < generalTopic {
		return address{}, &channels.Error{Class: core.FailureRejected, Op: opSend, Detail: "the address names no topic", NotSent: true}
	}
	if thread == generalTopic {
		thread = 0
	}
	return address{chat: chat, thread: thread}, nil
}

// locator names one message.
type locator struct {
	chat    int64
	message int
}

// String is the canonical form: "<chat>:<message>".
func (l locator) String() string {
	return strconv.FormatInt(l.chat, 10) + ":" + strconv.Itoa(l.message)
}

func parseLocator(op, s string) (locator, error) {
	chatText, messageText, _ := strings.Cut(s, ":")
	chat, err := strconv.ParseInt(chatText, 10, 64)
	if err != nil || chat == 0 {
		return locator{}, badLocator(op)
	}
	message, err := strconv.Atoi(messageText)
	if err != nil || message <= 0 {
		return locator{}, badLocator(op)
	}
	return locator{chat: chat, message: message}, nil
}

func badLocator(op string) error {
	return &channels.Error{Class: core.FailureRejected, Op: op, Detail: "the locator is not one of this channel", NotSent: true}
}
