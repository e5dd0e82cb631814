package telegram

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/go-telegram/bot"

	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/core"
)

// The operations, as they stand in errors.
const (
	opSend    = "send"
	opEdit    = "edit"
	opAnswer  = "answer"
	opReceive = "receive"
	opCheck   = "check"
)

// longDelay is when a demanded pause concerns the whole bot rather than one chat.
// The platform does not say which; the limit of a group (20 messages a minute)
// never asks for more than a minute.
const longDelay = time.Minute

// refusal is the platform's own "no".
type refusal struct {
	code        int
	description string
	retryAfter  int   // Seconds.
	migrateTo   int64 // 0 unless the group was upgraded.
}

// refusalOf reads the library's errors. The second result is false when the
// platform did not answer in its own form.
func refusalOf(err error) (refusal, bool) {
	var tooMany *bot.TooManyRequestsError
	var migrated *bot.MigrateError
	switch {
	case errors.As(err, &tooMany):
		return refusal{code: http.StatusTooManyRequests, retryAfter: tooMany.RetryAfter}, true
	case errors.As(err, &migrated):
		return refusal{code: http.StatusBadRequest, migrateTo: int64(migrated.MigrateToChatID)}, true
	}
	for sentinel, code := range map[error]int{
		bot.ErrorBadRequest: http.StatusBadRequest, bot.ErrorUnauthorized: http.StatusUnauthorized,
		bot.ErrorForbidden: http.StatusForbidden, bot.ErrorNotFound: http.StatusNotFound,
		bot.ErrorConflict: http.StatusConflict,
	} {
		if errors.Is(err, sentinel) {
			return refusal{code: code, description: strings.ToLower(err.Error())}, true
		}
	}
	// The library's error for any other code; what it says for a body that it
	// cannot decode begins otherwise.
	if strings.HasPrefix(err.Error(), "error response from telegram") {
		return refusal{code: http.StatusInternalServerError}, true
	}
	return refusal{}, false
}

// failure sorts an error of a call into its class. The result never carries the
// library's own text, which may repeat a body.
func failure(op string, err error, a *attempt) *channels.Error {
	if r, ok := refusalOf(err); ok {
		switch status := int(a.status.Load()); {
		case r.code != http.StatusInternalServerError:
		case status >= http.StatusBadRequest:
			r.code = status
		default: // An answer that says neither yes nor no is none.
			return broken(op, err, a)
		}
		return r.failure(op)
	}
	return broken(op, err, a)
}

// broken is a call without a proper answer: what is known of it decides whether it
// may be repeated.
func broken(op string, err error, a *attempt) *channels.Error {
	e := &channels.Error{Class: core.FailureTemporary, Op: op, Err: cause(err)}
	switch {
	case a.status.Load() != 0:
		e.Detail = "the answer could not be read"
	case a.wrote.Load():
		e.Detail = "no answer came"
	default:
		e.Detail, e.NotSent = "nothing was sent", true
	}
	// A send has no key that would make a repetition harmless (an edit has: the
	// same text is "not modified").
	if op == opSend && !e.NotSent {
		e.Class = core.FailureAmbiguous
	}
	return e
}

// cause keeps what callers test for, and nothing that repeats content.
func cause(err error) error {
	if known := sentinel(err); known != nil {
		return known
	}
	return errNoAnswer
}

var errNoAnswer = errors.New("the call to the platform broke")

// failure is the error table of the platform.
func (r refusal) failure(op string) *channels.Error {
	e := &channels.Error{Op: op, Err: errRefused}
	switch {
	case r.migrateTo != 0:
		e.Class, e.Address = core.FailureMoved, address{chat: r.migrateTo}.String()
		e.Detail = "the group became a supergroup"
	case r.code == http.StatusTooManyRequests:
		e.Class, e.RetryAfter = core.FailureRateLimited, time.Duration(r.retryAfter)*time.Second
		e.Whole = e.RetryAfter > longDelay
		e.Detail = "too many requests"
	case r.code == http.StatusUnauthorized, r.code == http.StatusNotFound:
		e.Class, e.Whole, e.Detail = core.FailureAuth, true, "the token is refused"
	case r.code == http.StatusForbidden:
		e.Class, e.Detail = core.FailureGone, r.reason("the chat is closed to the bot")
	case r.code == http.StatusConflict:
		e.Class, e.Whole, e.Detail = core.FailureTemporary, true, "another poller or a webhook receives for this bot"
	case r.code >= http.StatusInternalServerError:
		e.Class, e.Detail = core.FailureTemporary, "the platform has a fault"
	case r.names(goneWords):
		e.Class, e.Detail = core.FailureGone, r.reason("the chat or topic is not there")
	default:
		e.Class, e.Detail = core.FailureRejected, r.reason("the request is refused")
	}
	return e
}

var errRefused = errors.New("the platform refused the call")

// goneWords are descriptions of a chat, topic or right that is not there.
var goneWords = []string{
	"chat not found", "user not found", "peer_id_invalid", "group chat was deactivated",
	"group chat was upgraded", "message thread not found", "topic_closed", "topic_deleted", "topic closed",
	"chat_write_forbidden", "chat_restricted", "chat_send_plain_forbidden", "not enough rights",
	"have no rights", "need administrator rights", "user is deactivated", "bot was blocked", "bot was kicked",
}

// retiredWords are descriptions of a message that can no longer be edited.
var retiredWords = []string{
	"message to edit not found", "message can't be edited", "message_id_invalid",
	"there is no text in the message to edit",
}

// layoutWords are descriptions of a message whose entities or buttons do not pass.
var layoutWords = []string{
	"can't parse entities", "entity", "entities", "wrong http url", "unsupported url protocol", "button_", "reply markup",
}

const notModified = "message is not modified"

func (r refusal) names(words []string) bool {
	for _, w := range words {
		if strings.Contains(r.description, w) {
			return true
		}
	}
	return false
}

var errorCode = regexp.MustCompile(`^[a-z0-9]+(_[a-z0-9]+)+$`)

// reason words a refusal for admins: one of our own phrases, or the platform's
// code word; never its free text, which may repeat what we sent.
func (r refusal) reason(otherwise string) string {
	for _, w := range goneWords {
		if strings.Contains(r.description, w) {
			return w
		}
	}
	last := r.description[strings.LastIndex(r.description, ": ")+1:]
	if last = strings.TrimSpace(last); errorCode.MatchString(last) && len(last) <= 64 {
		return strings.ToUpper(last)
	}
	return otherwise
}

// call runs one call of the library within the time that a platform call may take.
func (c *Channel) call(ctx context.Context, op string, run func(context.Context) error) (refusal, *channels.Error) {
	ctx, cancel := context.WithTimeout(ctx, core.CallTimeout)
	defer cancel()
	ctx, a := withAttempt(ctx)
	err := run(ctx)
	if err == nil {
		return refusal{}, nil
	}
	r, _ := refusalOf(err)
	return r, failure(op, err, a)
}

// asError is err as a classified error; anything else is temporary.
func asError(err error) *channels.Error {
	if e, ok := errors.AsType[*channels.Error](err); ok {
		return e
	}
	return &channels.Error{Class: core.FailureTemporary, Err: err}
}
