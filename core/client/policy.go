package client

import (
	"context"
	"net/http"

	"github.com/saysohq/sayso/core/api"
)

// Explain says why a call of a runtime would ask or run, for admins. Errors:
// core.ErrForbidden, core.ErrInvalid.
func (c *Client) Explain(ctx context.Context, e api.Explain) (api.Explanation, error) {
	return repeat[api.Explanation](ctx, c, http.MethodPost, "/v1/policy/explain", e)
}

// Lint compares the tables in force and a runtime's rules with its tools, for admins.
// Errors: core.ErrForbidden, core.ErrInvalid.
func (c *Client) Lint(ctx context.Context, l api.Lint) (api.Linted, error) {
	return repeat[api.Linted](ctx, c, http.MethodPost, "/v1/policy/lint", l)
}

// PolicyStatus tells which policy tables are in force, for admins. Errors:
// core.ErrForbidden.
func (c *Client) PolicyStatus(ctx context.Context) (api.PolicyStatus, error) {
	return read[api.PolicyStatus](ctx, c, "/v1/policy", nil)
}

// AdoptPolicy puts the policy files of the replica in force, for this machine's
// operator. Errors: core.ErrForbidden, core.ErrInvalid (the files are refused).
func (c *Client) AdoptPolicy(ctx context.Context) (api.PolicyStatus, error) {
	return repeat[api.PolicyStatus](ctx, c, http.MethodPost, "/v1/policy/adopt", nil)
}
