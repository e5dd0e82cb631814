package gateway

import (
	"context"
	"net/http"
	"net/url"

	"github.com/danielgtaylor/huma/v2"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/api"
	"github.com/saysohq/sayso/core/people"
)

func (g *Gateway) registerSignIn() {
	signIn := g.public("sign-in", http.MethodPost, "/v1/signin", "Turn a one-time code into a session; its bearer is told once")
	signIn.DefaultStatus = http.StatusCreated
	huma.Register(g.api, signIn, g.signIn)
	huma.Register(g.api, g.operation("me", http.MethodGet, "/v1/me", "Who the bearer stands for"), g.me)
	huma.Register(g.api, g.empty("sign-out", http.MethodDelete, "/v1/me/session", "End the session of the bearer"), g.signOut)
	huma.Register(g.api, g.created("issue-code", "/v1/people/{person}/codes",
		"Issue a one-time code that signs a device in or links a chat account"), g.issueCode)
	huma.Register(g.api, g.created("issue-first-code", "/v1/first-code",
		"Issue the code that makes the first admin anew; for this machine's operator, while there is none"), g.issueFirstCode)
	huma.Register(g.api, g.operation("list-sessions", http.MethodGet, "/v1/people/{person}/sessions",
		"List the devices of a person"), g.listSessions)
	huma.Register(g.api, g.empty("end-session", http.MethodDelete, "/v1/people/{person}/sessions/{session}",
		"Sign a device out"), g.endSession)
}

type signInInput struct {
	Body api.SignIn
}

func (g *Gateway) signIn(ctx context.Context, in *signInInput) (*output[api.SignedIn], error) {
	b := &in.Body
	device := people.Device{Kind: b.Kind, Label: b.Label}
	var (
		s   people.SignedIn
		err error
	)
	if b.Purpose == core.CodeBootstrap {
		s, err = g.deps.People.RedeemBootstrap(ctx, b.Code, b.Name, device)
	} else {
		s, err = g.deps.People.RedeemPair(ctx, b.Code, device)
	}
	if err != nil {
		return nil, g.fail(ctx, err)
	}
	return &output[api.SignedIn]{Status: http.StatusCreated, Body: api.SignedIn{
		Bearer: s.Bearer.Reveal(), Person: api.PersonOf(&s.Person), Session: api.SessionOf(&s.Session),
	}}, nil
}

func (g *Gateway) me(ctx context.Context, _ *struct{}) (*output[api.Me], error) {
	c := callOf(ctx).caller
	out := api.Me{Operator: c.Operator}
	if c.Person != nil {
		p := api.PersonOf(c.Person)
		out.Person = &p
	}
	if c.Token != nil {
		t := api.TokenOf(c.Token)
		out.Token = &t
	}
	return respond(out), nil
}

func (g *Gateway) signOut(ctx context.Context, _ *struct{}) (*struct{}, error) {
	return g.nothing(ctx, g.deps.People.SignOut(ctx, callOf(ctx).caller))
}

type issueCodeInput struct {
	Person string `path:"person"`
	Body   api.IssueCode
}

func (g *Gateway) issueCode(ctx context.Context, in *issueCodeInput) (*output[api.Code], error) {
	if _, err := segment("path.person", in.Person); err != nil {
		return nil, g.fail(ctx, core.ErrNotFound)
	}
	start := g.deps.People.StartPair
	if in.Body.Purpose == core.CodeLink {
		start = g.deps.People.StartLink
	}
	code, err := start(ctx, callOf(ctx).caller, in.Person, people.CodeForm(in.Body.Form))
	if err != nil {
		return nil, g.fail(ctx, err)
	}
	out := api.Code{Code: code.Code.Reveal(), ExpiresAt: code.ExpiresAt}
	if in.Body.Purpose == core.CodeLink {
		out.Messengers = g.deps.Messengers
	}
	if in.Body.Form == string(people.FormLink) {
		out.Links = g.codeLinks(in.Body.Purpose, out.Code)
	}
	return &output[api.Code]{Status: http.StatusCreated, Body: out}, nil
}

// codeLinks are the links that present a code: to the bots, or to the page where a
// public address is configured.
func (g *Gateway) codeLinks(purpose core.CodePurpose, code string) []string {
	switch {
	case purpose == core.CodeLink && g.deps.ChatLinks != nil:
		return g.deps.ChatLinks(code)
	case purpose != core.CodeLink && g.links.origin != "":
		return []string{g.links.origin + g.links.base + "/signin#code=" + url.QueryEscape(code)}
	}
	return nil
}

type issueFirstCodeInput struct {
	Body api.IssueFirstCode
}

func (g *Gateway) issueFirstCode(ctx context.Context, in *issueFirstCodeInput) (*output[api.Code], error) {
	code, err := g.deps.People.RenewBootstrap(ctx, callOf(ctx).caller, people.CodeForm(in.Body.Form))
	if err != nil {
		return nil, g.fail(ctx, err)
	}
	out := api.Code{Code: code.Code.Reveal(), ExpiresAt: code.ExpiresAt}
	if in.Body.Form == string(people.FormLink) {
		out.Links = g.codeLinks(core.CodeBootstrap, out.Code)
	}
	return &output[api.Code]{Status: http.StatusCreated, Body: out}, nil
}

func (g *Gateway) listSessions(ctx context.Context, in *personInput) (*output[api.Sessions], error) {
	if _, err := segment("path.person", in.Person); err != nil {
		return nil, g.fail(ctx, core.ErrNotFound)
	}
	list, err := g.deps.People.SessionsOf(ctx, callOf(ctx).caller, in.Person)
	if err != nil {
		return nil, g.fail(ctx, err)
	}
	out := api.Sessions{Sessions: make([]api.Session, 0, len(list))}
	for i := range list {
		out.Sessions = append(out.Sessions, api.SessionOf(&list[i]))
	}
	return respond(out), nil
}

type sessionInput struct {
	Person  string `path:"person"`
	Session string `path:"session"`
}

func (g *Gateway) endSession(ctx context.Context, in *sessionInput) (*struct{}, error) {
	for _, s := range []string{in.Person, in.Session} {
		if _, err := segment("path", s); err != nil {
			return nil, g.fail(ctx, core.ErrNotFound)
		}
	}
	return g.nothing(ctx, g.deps.People.EndSession(ctx, callOf(ctx).caller, in.Person, in.Session))
}
