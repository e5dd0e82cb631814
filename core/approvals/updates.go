package approvals

import (
	"context"
	"fmt"

	"github.com/saysohq/sayso/core"
)

// ClaimUpdates asks for what an agent has not heard of yet (R130).
type ClaimUpdates struct {
	Agent string      // "" for the agent without a name.
	Token string      // Fresh and random, 16 to 128 bytes; never stored.
	Limit int         // 1 to core.MaxUpdates; 0 means core.DefaultUpdates.
	Lease core.Millis // ms; 0 means core.DefaultUpdateLease.
}

// ClaimUpdates leases the oldest updates of one of the caller's agents: drafts that have
// their answer or their outcome, and requests for a new request. Each comes until it is
// acknowledged, and as the record is when it is claimed. The same token again returns
// the same batch: a lost reply loses nothing.
//
// Errors: ErrForbidden, ErrInvalid.
func (s *Service) ClaimUpdates(ctx context.Context, c core.Caller, claim ClaimUpdates) (core.UpdateBatch, error) {
	agent, err := s.updates(ctx, c, claim.Agent, claim.Token)
	if err != nil {
		return core.UpdateBatch{}, err
	}
	b, err := s.deps.Store.ClaimUpdates(ctx, core.ClaimUpdates{
		Runtime: c.Token.Runtime, Agent: agent, TokenHash: tokenHash(claim.Token), Limit: claim.Limit, Lease: claim.Lease,
	})
	if err != nil {
		return core.UpdateBatch{}, fmt.Errorf("claim updates: %w", err)
	}
	return b, nil
}

// AckUpdates says that what was claimed under the token was passed on, and returns how
// many updates that ends. What changed meanwhile comes again; a token whose lease ran
// out and whose updates were claimed by somebody else ends none.
//
// Errors: ErrForbidden, ErrInvalid.
func (s *Service) AckUpdates(ctx context.Context, c core.Caller, agent, token string) (int, error) {
	agent, err := s.updates(ctx, c, agent, token)
	if err != nil {
		return 0, err
	}
	n, err := s.deps.Store.AckUpdates(ctx, core.AckUpdates{Runtime: c.Token.Runtime, Agent: agent, TokenHash: tokenHash(token)})
	if err != nil {
		return 0, fmt.Errorf("acknowledge updates: %w", err)
	}
	return n, nil
}

// updates checks a call about an agent's updates, and returns the name that the record
// has for the agent: the caller names it as it does in its requests.
func (s *Service) updates(ctx context.Context, c core.Caller, agent, token string) (string, error) {
	if err := s.machine(ctx, c, core.ScopeRequest); err != nil {
		return "", err
	}
	if err := text("agent", agent, core.MaxShortText); err != nil {
		return "", err
	}
	if len(token) < minClaimToken || len(token) > maxClaimToken {
		return "", core.Invalid("claim_token", "must be %d to %d bytes", minClaimToken, maxClaimToken)
	}
	return s.deps.Describer.Text(agent, core.MaxShortText), nil
}
