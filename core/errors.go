package core

import (
	"errors"
	"fmt"
)

// The errors of the domain. Stores, services and edges wrap them with %w; callers
// test with errors.Is. Each has a stable code (CodeOf) that the HTTP problems and
// the CLI repeat; no error text ever holds a value that came from outside.
var (
	// ErrNotFound answers unknown and unauthorised alike (R155).
	ErrNotFound = errors.New("not found")
	// ErrInvalid is a request that can never succeed as it stands.
	ErrInvalid = errors.New("invalid request")
	// ErrIdempotencyConflict is a used key or id with other content (K26).
	ErrIdempotencyConflict = errors.New("this key was used with other content")
	// ErrIDTaken is a caller's id that was used before, whatever became of it.
	ErrIDTaken = errors.New("this id was used before")
	// ErrStaleEpoch is an instance that has been replaced by a newer one.
	ErrStaleEpoch = errors.New("a newer instance of this runtime has registered")
	// ErrPaused is a claim for an agent that a person paused; nothing of the grant changed.
	ErrPaused = errors.New("this agent is paused: claim again once it was resumed")
	// ErrRunAborted is work for a run that was stopped.
	ErrRunAborted = errors.New("this run was aborted")
	// ErrPendingLimit is a runtime with too many open approvals.
	ErrPendingLimit = errors.New("too many approvals are pending")
	// ErrRateLimited is a runtime that asks too fast.
	ErrRateLimited = errors.New("too many requests")
	// ErrPolicyChanged is an evaluation under rules that have changed since.
	ErrPolicyChanged = errors.New("the policy changed meanwhile")
	// ErrNotOffered is a decision that this approval does not offer (R79).
	ErrNotOffered = errors.New("this decision is not offered")
	// ErrWrongKind is a decision for the other kind of approval.
	ErrWrongKind = errors.New("the approval is of another kind")
	// ErrHashRequired is an allow without the hash of what was shown.
	ErrHashRequired = errors.New("the hash of the action is required")
	// ErrNotShown is an allow from a surface that did not show the whole action.
	ErrNotShown = errors.New("this surface did not show the whole action")
	// ErrConflict is a row that moved on; the current state comes with it.
	ErrConflict = errors.New("the record has changed meanwhile")
	// ErrNotClaimable is a grant that cannot be claimed: not allowed, lapsed or taken back.
	ErrNotClaimable = errors.New("there is no grant to claim")
	// ErrAlreadyClaimed is a grant that another runner holds.
	ErrAlreadyClaimed = errors.New("the grant was already claimed")
	// ErrForbidden is a known caller without the needed role or scope.
	ErrForbidden = errors.New("not permitted")
	// ErrOnlyTightens is a terminal that wants to let more run than before; it is also an
	// ErrForbidden. An agent may be able to read the file of its session.
	ErrOnlyTightens error = onlyTightensError{}
	// ErrUnauthenticated is a caller we do not know.
	ErrUnauthenticated = errors.New("sign in first")
	// ErrCodeInvalid is a one-time code that is wrong, used, burned or too old.
	ErrCodeInvalid = errors.New("this code is not valid any more")
	// ErrLastAdmin refuses a change that would leave no enabled admin.
	ErrLastAdmin = errors.New("this would leave no admin")
	// ErrIdentityTaken is an identity that is linked to somebody else.
	ErrIdentityTaken = errors.New("this identity is linked to another person")
	// ErrLeaseLost is work whose lease was taken over by another worker.
	ErrLeaseLost = errors.New("the lease was taken over")
	// ErrCorrupt is a stored row that the state machine cannot have produced.
	ErrCorrupt = errors.New("a stored record is damaged")
	// ErrSealed is a store that must be restored before it serves.
	ErrSealed = errors.New("this store is a sealed backup: restore it first")
	// ErrNewerSchema is a store that was written by a newer version.
	ErrNewerSchema = errors.New("this store was written by a newer version")
	// ErrStorageFull is a write that found no room; nothing of it was recorded.
	ErrStorageFull = errors.New("the disk is full: nothing was recorded")
	// ErrUnavailable is a store or a service that cannot answer now; nothing was recorded.
	ErrUnavailable = errors.New("not available now: nothing was recorded")
	// ErrOutcomeUnknown is a write whose answer was lost: read the row again.
	ErrOutcomeUnknown = errors.New("the outcome of the write is unknown")
)

// onlyTightensError is the type of ErrOnlyTightens.
type onlyTightensError struct{}

// Error implements error.
func (onlyTightensError) Error() string {
	return "a terminal may only make things stricter: use the page or a chat"
}

// Unwrap makes errors.Is(err, ErrForbidden) true.
func (onlyTightensError) Unwrap() error { return ErrForbidden }

// codes is ordered: the first match wins where an error wraps several.
var codes = []struct {
	err  error
	code string
}{
	{ErrNotFound, "not_found"},
	{ErrIdempotencyConflict, "idempotency_conflict"},
	{ErrIDTaken, "id_taken"},
	{ErrStaleEpoch, "stale_epoch"},
	{ErrRunAborted, "run_aborted"},
	{ErrPaused, "agent_paused"},
	{ErrPendingLimit, "pending_limit"},
	{ErrRateLimited, "rate_limited"},
	{ErrPolicyChanged, "policy_changed"},
	{ErrNotOffered, "not_offered"},
	{ErrWrongKind, "wrong_kind"},
	{ErrHashRequired, "hash_required"},
	{ErrNotShown, "not_shown"},
	{ErrAlreadyClaimed, "already_claimed"},
	{ErrNotClaimable, "not_claimable"},
	{ErrOnlyTightens, "only_tightens"},
	{ErrForbidden, "forbidden"},
	{ErrUnauthenticated, "unauthenticated"},
	{ErrCodeInvalid, "code_invalid"},
	{ErrLastAdmin, "last_admin"},
	{ErrIdentityTaken, "identity_taken"},
	{ErrLeaseLost, "lease_lost"},
	{ErrCorrupt, "storage_corrupt"},
	{ErrSealed, "sealed"},
	{ErrNewerSchema, "newer_schema"},
	{ErrStorageFull, "storage_full"},
	{ErrOutcomeUnknown, "outcome_unknown"},
	{ErrUnavailable, "unavailable"},
	{ErrConflict, "conflict"},
	{ErrInvalid, "invalid"},
}

// CodeOf returns the stable code of err, or "internal" for an error that is not
// of this domain.
func CodeOf(err error) string {
	for _, c := range codes {
		if errors.Is(err, c.err) {
			return c.code
		}
	}
	return "internal"
}

// ErrorOf is the inverse of CodeOf: the error that a stable code stands for, or
// nil for "internal" and for codes that this version does not know.
func ErrorOf(code string) error {
	for _, c := range codes {
		if c.code == code {
			return c.err
		}
	}
	return nil
}

// FieldError is an ErrInvalid that names the field at fault and the rule it
// broke. Neither part ever repeats the value.
type FieldError struct {
	Field string // The path of the field, as the caller spells it.
	Rule  string // The rule, as a sentence fragment.
}

// Error implements error.
func (e *FieldError) Error() string { return e.Field + ": " + e.Rule }

// Unwrap makes errors.Is(err, ErrInvalid) true.
func (e *FieldError) Unwrap() error { return ErrInvalid }

// Invalid builds a FieldError; args must be figures of ours, never the caller's value.
func Invalid(field, rule string, args ...any) error {
	return &FieldError{Field: field, Rule: fmt.Sprintf(rule, args...)}
}
