package client

import (
	"context"
	"net/http"

	"github.com/saysohq/sayso/core/api"
)

// agentPath is the path of one of the runtime's agents; "" is the agent without a name.
func agentPath(agent, rest string) string {
	if agent == "" {
		agent = unnamed
	}
	return path("/v1/agents/", agent, rest)
}

// ClaimUpdates takes what an agent has not heard of yet. The request's token makes it
// repeatable: after a lost reply the same call gets the same batch.
// Errors: core.ErrInvalid, core.ErrForbidden.
func (c *Client) ClaimUpdates(ctx context.Context, agent string, claim api.ClaimUpdates) (api.Updates, error) {
	var out api.Updates
	err := c.do(ctx, call{
		method: http.MethodPost, path: agentPath(agent, "/updates/claim"), body: claim, into: &out,
		repeatable: true, patience: c.cfg.Patience,
	})
	return out, err
}

// AckUpdates says that what was claimed under the token was passed on, and returns how
// many updates that ended. Errors: core.ErrInvalid, core.ErrForbidden.
func (c *Client) AckUpdates(ctx context.Context, agent, token string) (int, error) {
	var out api.AckedUpdates
	err := c.do(ctx, call{
		method: http.MethodPost, path: agentPath(agent, "/updates/ack"), body: api.AckUpdates{Token: token}, into: &out,
		repeatable: true, patience: c.cfg.Patience,
	})
	return out.Acked, err
}

// Dismiss says, as a person, that what may have happened was seen. Errors:
// core.ErrNotFound, core.ErrForbidden, core.ErrConflict (nothing is in doubt).
func (c *Client) Dismiss(ctx context.Context, id string) (api.Answer, error) {
	return c.act(ctx, id, "/dismiss")
}

// AskAgain asks the runtime, as a person, for a new request. Errors: core.ErrNotFound,
// core.ErrForbidden, core.ErrConflict (there is nothing to ask for again),
// core.ErrNotOffered (no runtime listens).
func (c *Client) AskAgain(ctx context.Context, id string) (api.Answer, error) {
	return c.act(ctx, id, "/ask-again")
}

func (c *Client) act(ctx context.Context, id, what string) (api.Answer, error) {
	var out api.Answer
	err := c.do(ctx, call{
		method: http.MethodPost, path: path("/v1/approvals/", id, what), into: &out,
		repeatable: true, patience: c.cfg.Patience,
	})
	return out, err
}
