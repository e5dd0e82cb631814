package gateway

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/api"
	"github.com/saysohq/sayso/core/people"
)

func (g *Gateway) registerMachines() {
	huma.Register(g.api, g.operation("list-tokens", http.MethodGet, "/v1/tokens", "List the tokens of machines"), g.listTokens)
	issue := g.created("issue-token", "/v1/tokens", "Issue a token; its bearer is told once")
	huma.Register(g.api, issue, g.issueToken)
	huma.Register(g.api, g.empty("revoke-token", http.MethodDelete, "/v1/tokens/{token}", "Revoke a token"), g.revokeToken)
}

func (g *Gateway) listTokens(ctx context.Context, _ *struct{}) (*output[api.Tokens], error) {
	list, err := g.deps.People.ListTokens(ctx, callOf(ctx).caller)
	if err != nil {
		return nil, g.fail(ctx, err)
	}
	out := api.Tokens{Tokens: make([]api.Token, 0, len(list))}
	for i := range list {
		out.Tokens = append(out.Tokens, api.TokenOf(&list[i]))
	}
	return respond(out), nil
}

type issueTokenInput struct {
	Body api.IssueToken
}

func (g *Gateway) issueToken(ctx context.Context, in *issueTokenInput) (*output[api.IssuedToken], error) {
	n := people.NewToken{Runtime: in.Body.Runtime, Scopes: in.Body.Scopes, ActsFor: in.Body.ActsFor, Label: in.Body.Label}
	if in.Body.ExpiresIn != "" {
		life, err := time.ParseDuration(in.Body.ExpiresIn)
		if err != nil || life <= 0 { // Zero would mean "never": not what was asked for.
			return nil, g.fail(ctx, core.Invalid("expires_in", "must be a duration above zero, such as 720h"))
		}
		n.Life = life
	}
	t, err := g.deps.People.IssueToken(ctx, callOf(ctx).caller, n)
	if err != nil {
		return nil, g.fail(ctx, err)
	}
	return &output[api.IssuedToken]{Status: http.StatusCreated, Body: api.IssuedToken{
		Bearer: t.Bearer.Reveal(), Token: api.TokenOf(&t.Token),
	}}, nil
}

type tokenInput struct {
	Token string `path:"token"`
}

func (g *Gateway) revokeToken(ctx context.Context, in *tokenInput) (*struct{}, error) {
	if _, err := segment("path.token", in.Token); err != nil {
		return nil, g.fail(ctx, core.ErrNotFound)
	}
	return g.nothing(ctx, g.deps.People.RevokeToken(ctx, callOf(ctx).caller, in.Token))
}
