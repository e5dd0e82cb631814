package client

import (
	"context"
	"net/http"

	"github.com/saysohq/sayso/core/api"
)

// SignIn turns a one-time code into a session. It is attempted once: the code works
// once, so a lost answer needs a new code. Errors: core.ErrCodeInvalid,
// core.ErrInvalid.
func (c *Client) SignIn(ctx context.Context, s api.SignIn) (api.SignedIn, error) {
	return once[api.SignedIn](ctx, c, http.MethodPost, "/v1/signin", s)
}

// Me tells who the bearer stands for. Errors: core.ErrUnauthenticated.
func (c *Client) Me(ctx context.Context) (api.Me, error) {
	return read[api.Me](ctx, c, "/v1/me", nil)
}

// SignOut ends the session of the bearer. Errors: core.ErrUnauthenticated.
func (c *Client) SignOut(ctx context.Context) error {
	return c.delete(ctx, "/v1/me/session")
}

// People lists everybody with their chat accounts. Errors: core.ErrForbidden.
func (c *Client) People(ctx context.Context) ([]api.Person, error) {
	out, err := read[api.People](ctx, c, "/v1/people", nil)
	return out.People, err
}

// AddPerson adds somebody. Errors: core.ErrForbidden, core.ErrInvalid,
// core.ErrIDTaken.
func (c *Client) AddPerson(ctx context.Context, p api.AddPerson) (api.Person, error) {
	return once[api.Person](ctx, c, http.MethodPost, "/v1/people", p)
}

// ChangePerson renames, changes the role, disables or enables; nil fields stay.
// Errors: core.ErrForbidden, core.ErrInvalid, core.ErrNotFound, core.ErrConflict,
// core.ErrLastAdmin.
func (c *Client) ChangePerson(ctx context.Context, id string, p api.ChangePerson) (api.Person, error) {
	return once[api.Person](ctx, c, http.MethodPatch, path("/v1/people/", id), p)
}

// ApplyPeople makes the people be what the roster says and returns the changes;
// with plan it only tells them. Errors: core.ErrForbidden, core.ErrInvalid,
// core.ErrLastAdmin, core.ErrIdentityTaken, core.ErrNotFound.
func (c *Client) ApplyPeople(ctx context.Context, r api.Roster, plan bool) ([]api.Change, error) {
	target := "/v1/people/apply"
	if plan {
		target += "?plan=true"
	}
	// Applying twice is applying once: the second time finds nothing to change.
	out, err := repeat[api.Changes](ctx, c, http.MethodPost, target, r)
	return out.Changes, err
}

// LinkIdentity links a chat account to a person; the same link again is the same
// success. Errors: core.ErrForbidden, core.ErrInvalid, core.ErrIdentityTaken,
// core.ErrNotFound.
func (c *Client) LinkIdentity(ctx context.Context, personID string, l api.LinkIdentity) error {
	_, err := repeat[struct{}](ctx, c, http.MethodPost, path("/v1/people/", personID, "/identities"), l)
	return err
}

// UnlinkIdentity takes a link away. Errors: core.ErrForbidden, core.ErrNotFound.
func (c *Client) UnlinkIdentity(ctx context.Context, realm, id string) error {
	return c.delete(ctx, path("/v1/identities/", realm, "/", id))
}

// Owners lists the ids of the people who own an agent. Errors: core.ErrForbidden,
// core.ErrInvalid.
func (c *Client) Owners(ctx context.Context, runtime, agent string) ([]string, error) {
	out, err := read[api.Owners](ctx, c, path("/v1/runtimes/", runtime, "/agents/", agent, "/owners"), nil)
	return out.Owners, err
}

// SetOwners replaces the people who own an agent; nobody leaves it to the admins.
// Errors: core.ErrForbidden, core.ErrInvalid, core.ErrNotFound.
func (c *Client) SetOwners(ctx context.Context, runtime, agent string, ids []string) error {
	body := api.Owners{Owners: append([]string{}, ids...)} // Never null.
	_, err := repeat[struct{}](ctx, c, http.MethodPut, path("/v1/runtimes/", runtime, "/agents/", agent, "/owners"), body)
	return err
}

// IssueCode issues a one-time code that signs a device in or links a chat account.
// Errors: core.ErrForbidden, core.ErrInvalid, core.ErrNotFound.
func (c *Client) IssueCode(ctx context.Context, personID string, i api.IssueCode) (api.Code, error) {
	return once[api.Code](ctx, c, http.MethodPost, path("/v1/people/", personID, "/codes"), i)
}

// IssueFirstCode issues the code that makes the first admin anew, for this machine's
// operator. Errors: core.ErrForbidden once there is an admin.
func (c *Client) IssueFirstCode(ctx context.Context, form string) (api.Code, error) {
	return once[api.Code](ctx, c, http.MethodPost, "/v1/first-code", api.IssueFirstCode{Form: form})
}

// Sessions lists the devices of a person, newest first. Errors: core.ErrForbidden.
func (c *Client) Sessions(ctx context.Context, personID string) ([]api.Session, error) {
	out, err := read[api.Sessions](ctx, c, path("/v1/people/", personID, "/sessions"), nil)
	return out.Sessions, err
}

// EndSession signs a device out. Errors: core.ErrForbidden, core.ErrNotFound.
func (c *Client) EndSession(ctx context.Context, personID, sessionID string) error {
	return c.delete(ctx, path("/v1/people/", personID, "/sessions/", sessionID))
}

// Tokens lists the tokens of machines, newest first. Errors: core.ErrForbidden.
func (c *Client) Tokens(ctx context.Context) ([]api.Token, error) {
	out, err := read[api.Tokens](ctx, c, "/v1/tokens", nil)
	return out.Tokens, err
}

// IssueToken makes a machine's bearer, which is told once. Errors:
// core.ErrForbidden, core.ErrInvalid, core.ErrNotFound.
func (c *Client) IssueToken(ctx context.Context, t api.IssueToken) (api.IssuedToken, error) {
	return once[api.IssuedToken](ctx, c, http.MethodPost, "/v1/tokens", t)
}

// RevokeToken ends a token from the next call on. Errors: core.ErrForbidden,
// core.ErrNotFound.
func (c *Client) RevokeToken(ctx context.Context, id string) error {
	return c.delete(ctx, path("/v1/tokens/", id))
}

// delete makes a DELETE: attempted again only when it never left, because a second
// one would find nothing and say so.
func (c *Client) delete(ctx context.Context, path string) error {
	_, err := once[struct{}](ctx, c, http.MethodDelete, path, nil)
	return err
}
