package discord

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/bwmarrin/discordgo"

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
	opOpen    = "open"
)

// Codes of the platform that the library does not name.
const (
	codeOldEdits     = 30046  // Too many edits of messages that are older than an hour.
	codeOpeningFast  = 40003  // Direct chats are opened too fast.
	codeNoSharedWith = 50278  // No server in common with the person.
	codeThreadLocked = 160005 // The thread is locked.
	codeNoReply      = 160002 // A reply needs the right to read what was said before.
)

// refusal is the platform's own "no".
type refusal struct {
	status     int
	code       int
	retryAfter time.Duration
	global     bool
	field      string // "embeds.0.fields.1.value: BASE_TYPE_MAX_LENGTH"; "" when it names none.
}

// goneCodes say that a chat, thread, person or right is not there.
func goneCodes() map[int]string {
	return map[int]string{
		discordgo.ErrCodeUnknownChannel:                        "unknown channel",
		discordgo.ErrCodeUnknownGuild:                          "unknown server",
		discordgo.ErrCodeUnknownMessage:                        "unknown message",
		discordgo.ErrCodeUnknownUser:                           "unknown user",
		discordgo.ErrCodeUnknownWebhook:                        "too late",
		discordgo.ErrCodeUnknownInteraction:                    "too late",
		discordgo.ErrCodeInteractionHasAlreadyBeenAcknowledged: "answered already",
		discordgo.ErrCodeMissingAccess:                         "missing access to the channel",
		discordgo.ErrCodeMissingPermissions:                    "missing permission in the channel",
		discordgo.ErrCodeCannotSendMessagesToThisUser:          "the person takes no direct messages from the bot",
		codeNoSharedWith:                                       "no server in common with the person",
		discordgo.ErrCodeCannotExecuteActionOnDMChannel:        "not possible in a direct chat",
		discordgo.ErrCodePerformedOperationOnArchivedThread:    "the thread is archived",
		codeThreadLocked:                                       "the thread is locked",
		discordgo.ErrCodeCannotEditFromAnotherUser:             "the message is not the bot's",
	}
}

// failure is the error table of the platform.
func (r refusal) failure(op string) *channels.Error {
	e := &channels.Error{Op: op, Err: errRefused}
	gone, isGone := goneCodes()[r.code]
	switch {
	case r.code == discordgo.ErrCodeInvalidWebhookTokenProvided: // Of an interaction, after 15 minutes.
		e.Class, e.Detail = core.FailureGone, "too late"
	case r.status == http.StatusUnauthorized:
		e.Class, e.Whole, e.Detail = core.FailureAuth, true, "the token is refused"
	case r.code == codeOldEdits:
		e.Class, e.RetryAfter, e.Single = core.FailureRateLimited, r.retryAfter, true
		e.Detail = "too many edits of messages older than an hour"
	case r.status == http.StatusTooManyRequests, r.code == codeOpeningFast:
		e.Class, e.RetryAfter, e.Whole, e.Detail = core.FailureRateLimited, r.retryAfter, r.global, "too many requests"
	case r.status >= http.StatusInternalServerError:
		e.Class, e.Detail = core.FailureTemporary, "the platform has a fault"
	case isGone:
		e.Class, e.Detail = core.FailureGone, gone
	case r.status == http.StatusForbidden, r.status == http.StatusNotFound:
		e.Class, e.Detail = core.FailureGone, fmt.Sprintf("the platform forbids it (code %d)", r.code)
	default:
		e.Class, e.Detail = core.FailureRejected, r.reason()
	}
	return e
}

// reason words a refused request for admins, without a word of its content.
func (r refusal) reason() string {
	if r.field != "" {
		return fmt.Sprintf("the request is refused (code %d): %s", r.code, r.field)
	}
	return fmt.Sprintf("the request is refused (code %d)", r.code)
}

var (
	fieldName = regexp.MustCompile(`^[a-z0-9_]{1,40}$`)
	fieldRule = regexp.MustCompile(`^[A-Z0-9_]{1,60}$`)
)

const maxFieldText = 120 // Bytes; the ledger keeps 200 of an error.

// wrongField finds the first field that the platform complains about. Whatever does
// not look like a name of its own is left out: it may repeat what was sent.
func wrongField(raw json.RawMessage) string {
	var path []string
	for range 12 {
		var level map[string]json.RawMessage
		if json.Unmarshal(raw, &level) != nil || len(level) == 0 {
			return ""
		}
		if list, ok := level["_errors"]; ok {
			var rules []struct {
				Code string `json:"code"`
			}
			if json.Unmarshal(list, &rules) != nil || len(rules) == 0 || !fieldRule.MatchString(rules[0].Code) {
				return ""
			}
			text := strings.Join(path, ".") + ": " + rules[0].Code
			return text[:min(len(text), maxFieldText)]
		}
		name := slices.Sorted(maps.Keys(level))[0]
		if !fieldName.MatchString(name) {
			return ""
		}
		path, raw = append(path, name), level[name]
	}
	return ""
}
