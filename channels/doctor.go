package channels

import (
	"context"

	"github.com/saysohq/sayso/core"
)

// Doctor is a channel that can examine its own account at the platform.
type Doctor interface {
	// Examine asks the platform how the account stands. It changes nothing, needs no
	// Run and no codec, and comes back within a few calls. A token that is refused is
	// its only finding, because nothing else can be told then.
	Examine(ctx context.Context) []Finding
	// Mend puts right what a finding with Mendable complained about. It may be
	// repeated. Errors: *Error; core.ErrInvalid for a check that it cannot mend.
	Mend(ctx context.Context, check Check) error
}

// Check names what was examined.
type Check string

// The checks of channels. A platform that has no such thing leaves the check out.
const (
	CheckToken         Check = "token"         // The credentials hold and belong to this account.
	CheckPermissions   Check = "permissions"   // What the bot may do: scopes, rights.
	CheckIntents       Check = "intents"       // What the platform tells the bot of.
	CheckInteractivity Check = "interactivity" // Clicks come the way that is configured.
	CheckWebhook       Check = "webhook"       // What is registered for pushes.
	CheckCommand       Check = "command"       // The application command.
)

// Verdict is what came of a check.
type Verdict string

// The verdicts.
const (
	VerdictOK      Verdict = "ok"
	VerdictFailed  Verdict = "failed"
	VerdictUnknown Verdict = "unknown" // The platform did not tell, or does not tell anybody.
)

// Valid reports whether v is one of the closed set.
func (v Verdict) Valid() bool {
	switch v {
	case VerdictOK, VerdictFailed, VerdictUnknown:
		return true
	}
	return false
}

// Finding is the result of one check. Neither text ever holds a secret, a URL with
// one, or what people wrote.
type Finding struct {
	Check    Check
	Verdict  Verdict
	Detail   string // What was found, a clause without a full stop; "" says nothing more than the verdict.
	Fix      string // What to do, one or two sentences; "" where nothing is to be done.
	Mendable bool   // Mend can do it.
}

// Found is a check that is in order.
func Found(check Check, detail string) Finding {
	return Finding{Check: check, Verdict: VerdictOK, Detail: detail}
}

// Failing is a check that is not, with what to do.
func Failing(check Check, detail, fix string) Finding {
	return Finding{Check: check, Verdict: VerdictFailed, Detail: detail, Fix: fix}
}

// Untold is a check that the platform gave no answer to. The fix is what to do
// about it.
func Untold(check Check, detail, fix string) Finding {
	return Finding{Check: check, Verdict: VerdictUnknown, Detail: detail, Fix: fix}
}

// Diagnose words a failed call as a finding: credentials that are refused fail the
// check, with the given fix; whatever may pass leaves it untold.
func Diagnose(check Check, err *Error, fix string) Finding {
	switch err.Class {
	case core.FailureAuth, core.FailureRejected, core.FailureGone:
		return Failing(check, err.Detail, fix)
	case core.FailureRateLimited:
		return Untold(check, "the platform asks for a pause", "Wait a minute and run sayso doctor again.")
	case core.FailureNone, core.FailureTemporary, core.FailureAmbiguous, core.FailureMoved, core.FailureNotEntitled:
	}
	return Untold(check, "the platform could not be reached: "+err.Detail,
		"Check that this machine can reach the platform (network, proxy, firewall, api_url) and run sayso doctor again.")
}
