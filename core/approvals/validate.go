package approvals

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/saysohq/sayso/core"
)

// Bounds of a request in bytes, unless said otherwise. What is shown is bounded
// again, in code points, by the describer.
const (
	maxTitle     = 1 << 10
	maxSummary   = 8 << 10
	maxRisk      = 200
	maxArguments = 1 << 20
	maxDetails   = 16 << 10
	maxCallback  = 2 << 10
)

// validateAsk fills the defaults of ask and refuses what can never be right. No
// error repeats a value.
func validateAsk(ask *Ask) error {
	if ask.Continuation == "" {
		ask.Continuation = core.ContinuationLive
	}
	if !ask.Kind.Valid() {
		return core.Invalid("kind", "must be exec or plugin")
	}
	if !ask.Continuation.Valid() {
		return core.Invalid("continuation", "must be live, durable or draft")
	}
	if ask.ExpiresIn == nil {
		d := core.Millis(ask.Continuation.DefaultExpiry())
		ask.ExpiresIn = &d
	}
	if *ask.ExpiresIn < core.MinExpiry || *ask.ExpiresIn > core.MaxExpiry {
		return core.Invalid("expires_in", "must be from 1 second to 168 hours")
	}
	if (ask.Instance == "") != (ask.Epoch == 0) || ask.Epoch < 0 {
		return core.Invalid("epoch", "must be given together with the instance that registered it")
	}
	if ask.Supersedes != "" && ask.Supersedes == ask.GivenID {
		return core.Invalid("supersedes", "must name another approval")
	}
	if err := validateOperation(ask); err != nil {
		return err
	}
	return validateNames(ask)
}

func validateOperation(ask *Ask) error {
	op := &ask.Operation
	switch {
	case strings.TrimSpace(op.Tool) == "":
		return core.Invalid("operation.tool", "must not be empty")
	case len(op.Arguments) == 0:
		return core.Invalid("operation.arguments", "must be given; an action without arguments has {}")
	case len(op.Arguments) > maxArguments:
		return core.Invalid("operation.arguments", "must be at most %d bytes", maxArguments)
	case len(ask.Details) > maxDetails:
		return core.Invalid("details", "must be at most %d bytes", maxDetails)
	}
	return nil
}

func validateNames(ask *Ask) error {
	for _, f := range []struct {
		name  string
		value string
		max   int
	}{
		{"idempotency_key", ask.IdempotencyKey, core.MaxIdempotencyKey},
		{"title", ask.Title, maxTitle},
		{"agent", ask.Agent, core.MaxShortText},
		{"operation.id", ask.Operation.ID, core.MaxShortText},
		{"operation.type", ask.Operation.Type, core.MaxShortText},
		{"operation.tool", ask.Operation.Tool, core.MaxShortText},
		{"operation.operation", ask.Operation.Name, core.MaxShortText},
		{"operation.summary", ask.Operation.Summary, maxSummary},
		{"risk", ask.Risk, maxTitle},
		{"session_key", ask.SessionKey, core.MaxShortText},
		{"run_id", ask.RunID, core.MaxShortText},
		{"frame_id", ask.FrameID, core.MaxShortText},
		{"group", ask.Group, core.MaxShortText},
		{"caused_by", ask.CausedBy, core.MaxShortText},
		{"instance", ask.Instance, core.MaxShortText},
		{"supersedes", ask.Supersedes, core.MaxRuntimeName + 1 + core.MaxGivenID},
	} {
		if err := text(f.name, f.value, f.max); err != nil {
			return err
		}
	}
	if len(ask.Audience) > core.MaxAudience {
		return core.Invalid("audience", "must have at most %d members", core.MaxAudience)
	}
	if len(ask.Reviewers) > core.MaxReviewers {
		return core.Invalid("reviewers", "must have at most %d members", core.MaxReviewers)
	}
	for i, v := range ask.Audience {
		if err := text(fmt.Sprintf("audience[%d]", i), v, core.MaxShortText); err != nil || v == "" {
			return core.Invalid(fmt.Sprintf("audience[%d]", i), "must be 1 to %d bytes of UTF-8", core.MaxShortText)
		}
	}
	return nil
}

func text(field, value string, max int) error {
	if len(value) > max {
		return core.Invalid(field, "must be at most %d bytes", max)
	}
	if !utf8.ValidString(value) {
		return core.Invalid(field, "must be valid UTF-8")
	}
	return nil
}

// unique drops repeats and keeps the order; nil stays nil, because a list that was
// not given and an empty one mean different things.
func unique(in []string) []string {
	if in == nil {
		return nil
	}
	out := make([]string, 0, len(in))
	for _, v := range in {
		if !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}

// requestHash covers every field that bears on the decision: a retry with the
// same hash is the same request, one with another is a conflict (K26). It is taken
// over what the caller said and not over what is shown of it: a version that shows
// it better must still find what an earlier one was asked days ago.
func requestHash(a *core.Approval, ask *Ask) string {
	b, err := json.Marshal(struct {
		Kind             core.Kind
		Action           string
		OperationID      string
		OperationType    string
		Title            string
		Summary          string
		Details          []byte
		Risk             string
		Agent            string
		Continuation     core.Continuation
		ExpiresIn        core.Millis
		Session, Run     string
		Frame, Group     string
		CausedBy         string
		Audience         []string
		Reviewers        []string
		ReviewersGiven   bool
		RequestedBy      string
		ExcludeRequester bool
		RequirePush      bool
		Supersedes       string
		CallbackURL      string `json:",omitempty"` // It was added later: what names none has the hash that it had.
	}{
		a.Kind, a.ActionHash, a.Operation.ID, a.Operation.Type, ask.Title, ask.Operation.Summary, ask.Details,
		ask.Risk, ask.Agent, a.Continuation, *ask.ExpiresIn, a.SessionKey, a.RunID, a.FrameID, a.Group, a.CausedBy,
		a.Audience, a.Reviewers, a.Reviewers != nil, a.RequestedBy,
		a.ExcludeRequester, a.RequirePush, a.Supersedes, a.CallbackURL,
	})
	if err != nil { // Strings, numbers and booleans: it cannot fail.
		panic("approvals: encode request: " + err.Error())
	}
	return core.HashOf(b)
}
