package slack

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"

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
	opLookup  = "lookup"
)

var errRefused = errors.New("the platform refused the call")

// The error table of the platform. A name that is in none of the lists is a refusal
// for good: the platform's many other names are all about what was asked.
func limitedCodes() []string {
	return []string{"ratelimited", "rate_limited", "message_limit_exceeded"}
}

func authCodes() []string {
	return []string{
		"invalid_auth", "not_authed", "token_revoked", "token_expired", "account_inactive", "missing_scope",
		"access_denied", "team_access_not_granted", "no_permission", "not_allowed_token_type", "ekm_access_denied",
		"org_login_required", "enterprise_is_restricted", "forbidden_team", "team_added_to_org", "accesslimited",
	}
}

// goneCodes are about a chat, thread or person that is not there or closed to us.
func goneCodes() []string {
	return []string{
		"is_inactive", "is_archived", "channel_not_found", "not_in_channel", "restricted_action",
		"restricted_action_read_only_channel", "restricted_action_thread_only_channel", "restricted_action_thread_locked",
		"restricted_action_non_threadable_channel", "posting_to_channel_denied", "messages_tab_disabled", "user_disabled",
		"user_not_found", "user_not_visible", "cannot_reply_to_message", "cannot_dm_bot", "team_not_found",
		"external_channel_migrating", "user_not_in_channel",
	}
}

// retiredCodes are about a message that can no longer be edited.
func retiredCodes() []string {
	return []string{"message_not_found", "cant_update_message", "edit_window_closed"}
}

// layoutCodes are about a message whose blocks or texts do not pass.
func layoutCodes() []string {
	return []string{
		"invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long", "msg_too_long", "no_text",
		"invalid_arguments", "block_mismatch",
	}
}

// unavailableCodes say that nothing was done.
func unavailableCodes() []string {
	return []string{"service_unavailable", "request_timeout", "team_is_being_migrated"}
}

// faultCodes say that something went wrong, and that a part of it may have been done.
func faultCodes() []string { return []string{"fatal_error", "internal_error", "update_failed"} }

// failure sorts a call that did not succeed into its class. The result never carries
// the library's own text.
func failure(op string, err error, a *attempt) *channels.Error {
	got := a.got.Load()
	code := a.code()
	if got != nil && (got.status == http.StatusTooManyRequests || slices.Contains(limitedCodes(), code)) {
		return &channels.Error{
			// Edits are counted for the whole workspace, posts for each channel.
			Class: core.FailureRateLimited, Op: op, RetryAfter: got.retryAfter, Whole: op == opEdit,
			Detail: "too many requests", Err: errRefused,
		}
	}
	if code == "" {
		return broken(op, err, a)
	}
	e := &channels.Error{Op: op, Err: errRefused, Detail: "the request is refused"}
	if codeRule.MatchString(code) {
		e.Detail = code // The platform's word for it, out of a fixed list.
	}
	switch {
	case slices.Contains(authCodes(), code):
		e.Class, e.Whole = core.FailureAuth, true
	case slices.Contains(goneCodes(), code):
		e.Class = core.FailureGone
	case slices.Contains(unavailableCodes(), code):
		e.Class = core.FailureTemporary
	case slices.Contains(faultCodes(), code), got.status >= http.StatusInternalServerError:
		e.Class = core.FailureTemporary
		if op == opSend {
			e.Class = core.FailureAmbiguous // "Some aspect of the operation" may have succeeded.
		}
	default:
		e.Class = core.FailureRejected
	}
	return e
}

// broken is a call without a proper answer: what is known of it decides whether it
// may be repeated.
func broken(op string, err error, a *attempt) *channels.Error {
	e := &channels.Error{Class: core.FailureTemporary, Op: op, Err: strip(err)}
	switch {
	case a.got.Load() != nil:
		e.Detail = "the answer could not be read"
	case a.wrote.Load():
		e.Detail = "no answer came"
	default:
		e.Detail, e.NotSent = "nothing was sent", true
	}
	// A send has no key that would make a repetition harmless.
	if op == opSend && !e.NotSent {
		e.Class = core.FailureAmbiguous
	}
	return e
}

// call runs one call of the library within the time that a platform call may take.
func (c *Channel) call(ctx context.Context, op string, run func(context.Context) error) (*attempt, *channels.Error) {
	ctx, cancel := context.WithTimeout(ctx, core.CallTimeout)
	defer cancel()
	ctx, a := withAttempt(ctx)
	err := run(ctx)
	got := a.got.Load()
	switch took := got != nil && got.own && got.OK; {
	case err == nil && took:
		return a, nil
	case took && (op == opSend || op == opEdit):
		return a, nil // It took place; the library could not read what came with it.
	case err == nil:
		err = errNoAnswer // The library takes an answer without an error for a success.
	}
	if got != nil && slices.Contains(layoutCodes(), a.code()) {
		c.log.LogAttrs(ctx, slog.LevelError, "layout refused",
			slog.String("op", op), slog.String("reason", a.code()), slog.String("fields", got.pointers()))
	}
	return a, failure(op, err, a)
}

// asError is err as a classified error; anything else is temporary.
func asError(err error) *channels.Error {
	if e, ok := errors.AsType[*channels.Error](err); ok {
		return e
	}
	return &channels.Error{Class: core.FailureTemporary, Err: err}
}
