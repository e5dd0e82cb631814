package record

import (
	"context"
	"fmt"

	"github.com/saysohq/sayso/core"
)

// settled is the answer of a write that commits whether it refuses or not: a
// refused claim may have expired or voided the row on the way.
type settled struct {
	approval core.Approval
	refusal  error
}

// Claim takes the grant, once. See core.Grants for its answers.
func (s *Store) Claim(ctx context.Context, c core.Claim) (core.Approval, error) {
	if c.TokenHash == "" {
		return core.Approval{}, fmt.Errorf("claim grant: %w", core.Invalid("claim_token", "is required"))
	}
	done, err := write(ctx, s, Foreground, func(t *tx) (settled, error) { return t.claim(c) })
	if err == nil {
		err = done.refusal
	}
	if err != nil {
		return done.approval, fmt.Errorf("claim grant: %w", err)
	}
	return done.approval, nil
}

func (t *tx) claim(c core.Claim) (settled, error) {
	if err := t.holdParents(c.ID); err != nil {
		return settled{}, err
	}
	a, err := t.own(c.ID, c.Runtime)
	if err != nil {
		return settled{}, err
	}
	if a.ClaimToken != "" { // Claimed before, perhaps by this very runner (its answer was lost).
		if a.ClaimToken != c.TokenHash || a.ActionHash != c.ActionHash {
			return settled{a, core.ErrAlreadyClaimed}, nil
		}
		return settled{a, nil}, nil
	}
	refusal, err := t.refuses(&a, &c)
	if err != nil || refusal != nil {
		return settled{a, refusal}, err
	}
	a.Execution, a.ClaimToken = core.ExecutionClaimed, c.TokenHash
	a.ConsumedAt, a.OutcomeBy = t.now, t.now+core.OutcomeWindow
	if a.ConsumedBy = c.Runtime; c.Instance != "" {
		a.ConsumedBy += "/" + c.Instance
	}
	err = t.save(&a, t.rows.grant, core.EventConsumed, false)
	return settled{a, nil}, err
}

// holdParents locks what a claim relies on before it locks the row: the policy, the
// instance and the run that the row was made for, which never change.
func (t *tx) holdParents(id string) error {
	if !t.rows.Locks {
		return nil
	}
	var runtime, instance, run, agent string
	err := t.One(sqlParents, []any{id}, &runtime, &instance, &run, &agent)
	if err != nil {
		return err
	}
	if err := t.holdPolicy(Share, runtime, agent); err != nil {
		return err
	}
	if instance != "" {
		if err := t.holdName(Share, "instance", runtime, instance); err != nil {
			return err
		}
	}
	return t.hold(t.rows.run[Share], runtime, run)
}

// own reads a row of the runtime with its deadline applied. Another runtime's row
// is not there.
func (t *tx) own(id, runtime string) (core.Approval, error) {
	a, err := t.find(id)
	if err != nil {
		return core.Approval{}, err
	}
	if a.Runtime != runtime {
		return core.Approval{}, core.ErrNotFound
	}
	if a.Due(t.now) {
		err = t.expire(&a)
	}
	return a, err
}

// refuses says why an unclaimed row cannot be claimed, and records what the
// refusal makes of it: a lapsed grant and one that met a wrong hash are voided in
// the same write, whether or not a sweep came by (K9).
func (t *tx) refuses(a *core.Approval, c *core.Claim) (refusal, failure error) {
	if a.RunID != "" {
		aborted, err := t.runAborted(a.Runtime, a.RunID)
		if err != nil {
			return nil, err
		}
		if aborted {
			return core.ErrRunAborted, nil
		}
	}
	if a.Continuation == core.ContinuationLive && a.Instance != "" {
		epoch, err := t.epoch(a.Runtime, a.Instance)
		if err != nil {
			return nil, err
		}
		if c.Instance != a.Instance || c.Epoch != epoch {
			return core.ErrStaleEpoch, nil
		}
	}
	switch {
	case a.Execution != core.ExecutionUnclaimed:
		return core.ErrNotClaimable, nil
	case a.ActionHash != c.ActionHash:
		return core.ErrNotClaimable, t.void(a, core.VoidHashMismatch)
	}
	var modeSince int64
	var pausedAt core.Millis
	if err := t.One(sqlAgentStanding, []any{a.Runtime, a.Agent}, &modeSince, &pausedAt); ignoreNotFound(err) != nil {
		return nil, err
	}
	if a.ClaimBy.Reached(t.now) && (pausedAt == 0 || a.ClaimBy.Reached(pausedAt)) {
		return core.ErrNotClaimable, t.void(a, core.VoidLapsed)
	}
	holds, err := t.inForce(a, modeSince)
	switch {
	case err != nil:
		return nil, err
	case !holds:
		return core.ErrNotClaimable, t.void(a, core.VoidPolicyChanged)
	case pausedAt != 0: // The decision is kept, and its deadline stands still.
		return core.ErrPaused, nil
	}
	return nil, nil
}

// Report records what happened under the claim. See core.Grants for its answers;
// core.ErrInvalid is a report without a token that says more than unknown.
func (s *Store) Report(ctx context.Context, r core.Report) (core.Approval, error) {
	switch {
	case !r.Outcome.Reported():
		return core.Approval{}, fmt.Errorf("report outcome: %w", core.Invalid("outcome", "must be succeeded, failed or unknown"))
	case r.TokenHash == "" && r.Outcome != core.ExecutionUnknown:
		return core.Approval{}, fmt.Errorf("report outcome: %w", core.Invalid("claim_token", "is required, except to report unknown"))
	}
	done, err := write(ctx, s, Foreground, func(t *tx) (settled, error) { return t.report(r) })
	if err == nil {
		err = done.refusal
	}
	if err != nil {
		return done.approval, fmt.Errorf("report outcome: %w", err)
	}
	return done.approval, nil
}

func (t *tx) report(r core.Report) (settled, error) {
	a, err := t.own(r.ID, r.Runtime)
	if err != nil {
		return settled{}, err
	}
	switch {
	case a.ClaimToken == "":
		return settled{a, core.ErrNotClaimable}, nil
	case r.TokenHash != "" && r.TokenHash != a.ClaimToken:
		return settled{a, core.ErrAlreadyClaimed}, nil
	case a.Execution == r.Outcome:
		return settled{a, nil}, nil
	case a.Execution != core.ExecutionClaimed:
		return settled{a, core.ErrConflict}, nil
	}
	err = t.outcome(&a, r.Outcome, r.Error)
	return settled{a, nil}, err
}

// outcome ends the execution. Only an unknown outcome changes the card.
func (t *tx) outcome(a *core.Approval, what core.Execution, failure string) error {
	a.Execution, a.OutcomeAt, a.OutcomeError = what, t.now, failure
	return t.save(a, t.rows.grant, core.EventOutcome, what == core.ExecutionUnknown)
}
