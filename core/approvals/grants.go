package approvals

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/saysohq/sayso/core"
)

// Bounds of a runner's claim token in bytes: long enough to be random, short
// enough to be a token.
const (
	minClaimToken = 16
	maxClaimToken = 128
)

// maxOutcomeError bounds a runner's error text in code points.
const maxOutcomeError = 300

// Claim consumes the single-use grant of an allowed approval (R118). The same
// token again is the same success; a runner that lost its token reports unknown
// and never claims again.
//
// Errors, with the record as it is where the caller may see it: ErrNotFound,
// ErrForbidden, ErrInvalid, ErrNotClaimable, ErrAlreadyClaimed, ErrStaleEpoch,
// ErrRunAborted.
func (s *Service) Claim(ctx context.Context, c core.Caller, claim Claim) (core.Approval, error) {
	if err := s.machine(ctx, c, core.ScopeRequest); err != nil {
		return core.Approval{}, err
	}
	if !core.ValidHash(claim.ActionHash) {
		return core.Approval{}, core.Invalid("action_hash", "must be sha256: and 64 hex digits")
	}
	if len(claim.Token) < minClaimToken || len(claim.Token) > maxClaimToken {
		return core.Approval{}, core.Invalid("claim_token", "must be %d to %d bytes", minClaimToken, maxClaimToken)
	}
	before, err := s.find(ctx, c, claim.Lookup)
	if err != nil {
		return core.Approval{}, err
	}
	a, err := s.deps.Store.Claim(ctx, core.Claim{
		ID: before.ID, Runtime: c.Token.Runtime, Instance: claim.Instance, Epoch: claim.Epoch,
		ActionHash: claim.ActionHash, TokenHash: tokenHash(claim.Token),
	})
	if a.Revision > before.Revision { // Also when a refused claim voided the grant.
		s.publish(ctx, hintOf(&a))
	}
	if err != nil {
		return a, fmt.Errorf("claim grant: %w", err)
	}
	return a, nil
}

// Report records what happened under a claim. The same report again is the same
// success. Errors: ErrNotFound, ErrForbidden, ErrInvalid, ErrNotClaimable (never
// claimed), ErrAlreadyClaimed (another token), ErrConflict (another outcome stands).
func (s *Service) Report(ctx context.Context, c core.Caller, r Report) (core.Approval, error) {
	if err := s.machine(ctx, c, core.ScopeRequest); err != nil {
		return core.Approval{}, err
	}
	if !r.Outcome.Reported() {
		return core.Approval{}, core.Invalid("outcome", "must be succeeded, failed or unknown")
	}
	if r.Token == "" && r.Outcome != core.ExecutionUnknown {
		return core.Approval{}, core.Invalid("claim_token", "is required; a runner that lost it reports unknown")
	}
	before, err := s.find(ctx, c, r.Lookup)
	if err != nil {
		return core.Approval{}, err
	}
	hash := ""
	if r.Token != "" {
		hash = tokenHash(r.Token)
	}
	a, err := s.deps.Store.Report(ctx, core.Report{
		ID: before.ID, Runtime: c.Token.Runtime, TokenHash: hash, Outcome: r.Outcome,
		Error: s.deps.Describer.Text(r.Error, maxOutcomeError),
	})
	if err != nil {
		return a, fmt.Errorf("report outcome: %w", err)
	}
	if a.Revision > before.Revision {
		s.publish(ctx, hintOf(&a))
	}
	return a, nil
}

func tokenHash(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}
