package client

import (
	"context"
	"net/http"

	"github.com/saysohq/sayso/core/api"
)

// Examine examines the service's accounts, for this machine's operator. It is
// attempted once, because test cards would be sent again; it may take more than a
// minute, which Config.Timeout must allow. Errors: core.ErrForbidden,
// core.ErrNotFound for an unknown person.
func (c *Client) Examine(ctx context.Context, e api.Examine) (api.Examination, error) {
	return once[api.Examination](ctx, c, http.MethodPost, "/v1/doctor", e)
}

// Examination tells what became of the test cards of an examination. Errors:
// core.ErrForbidden, core.ErrNotFound.
func (c *Client) Examination(ctx context.Context, id string) (api.Examination, error) {
	return read[api.Examination](ctx, c, path("/v1/doctor/", id), nil)
}
