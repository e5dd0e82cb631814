package gateway

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/api"
	"github.com/saysohq/sayso/core/people"
)

// Principals administers who there is.
type Principals interface {
	ListPeople(ctx context.Context, by core.Caller) ([]people.Person, error)
	AddPerson(ctx context.Context, by core.Caller, n people.NewPerson) (core.Principal, error)
	ChangePerson(ctx context.Context, by core.Caller, c core.ChangePrincipal) (core.Principal, error)
	PlanRoster(ctx context.Context, by core.Caller, r people.Roster) ([]people.Change, error)
	Apply(ctx context.Context, by core.Caller, r people.Roster) ([]people.Change, error)
}

// Identities administers chat accounts and the ownership of agents.
type Identities interface {
	LinkIdentity(ctx context.Context, by core.Caller, i core.Identity) error
	UnlinkIdentity(ctx context.Context, by core.Caller, realm, externalID string) error
	Owners(ctx context.Context, by core.Caller, runtime, agent string) ([]string, error)
	SetOwners(ctx context.Context, by core.Caller, runtime, agent string, principalIDs []string) error
}

// Devices administers sessions and the codes that start them.
type Devices interface {
	SessionsOf(ctx context.Context, by core.Caller, principalID string) ([]core.Session, error)
	EndSession(ctx context.Context, by core.Caller, principalID, id string) error
	SignOut(ctx context.Context, by core.Caller) error
	StartPair(ctx context.Context, by core.Caller, principalID string, f people.CodeForm) (people.IssuedCode, error)
	StartLink(ctx context.Context, by core.Caller, principalID string, f people.CodeForm) (people.IssuedCode, error)
}

// Redeemer turns one-time codes into sessions.
type Redeemer interface {
	RedeemBootstrap(ctx context.Context, code, name string, d people.Device) (people.SignedIn, error)
	RedeemPair(ctx context.Context, code string, d people.Device) (people.SignedIn, error)
	RenewBootstrap(ctx context.Context, by core.Caller, f people.CodeForm) (people.IssuedCode, error)
}

// Tokens administers the bearers of machines.
type Tokens interface {
	IssueToken(ctx context.Context, by core.Caller, n people.NewToken) (people.IssuedToken, error)
	RevokeToken(ctx context.Context, by core.Caller, id string) error
	ListTokens(ctx context.Context, by core.Caller) ([]core.Token, error)
}

// People is all of the administration; core/people satisfies it and decides who
// may do what.
type People interface {
	Principals
	Identities
	Devices
	Redeemer
	Tokens
}

func (g *Gateway) registerPeople() {
	huma.Register(g.api, g.operation("list-people", http.MethodGet, "/v1/people", "List people"), g.listPeople)
	huma.Register(g.api, g.created("add-person", "/v1/people", "Add a person"), g.addPerson)
	huma.Register(g.api, g.operation("change-person", http.MethodPatch, "/v1/people/{person}",
		"Rename, change the role, disable or enable"), g.changePerson)
	apply := g.operation("apply-people", http.MethodPost, "/v1/people/apply", "Make the people be what a list says")
	apply.Description = "Each change is one write; when one fails, those before it stand, and applying again goes on."
	huma.Register(g.api, apply, g.applyPeople)
	huma.Register(g.api, g.empty("link-identity", http.MethodPost, "/v1/people/{person}/identities",
		"Link a chat account to a person"), g.linkIdentity)
	huma.Register(g.api, g.empty("unlink-identity", http.MethodDelete, "/v1/identities/{realm}/{id}",
		"Unlink a chat account"), g.unlinkIdentity)
	huma.Register(g.api, g.operation("owners", http.MethodGet, "/v1/runtimes/{runtime}/agents/{agent}/owners",
		"Who owns an agent"), g.owners)
	huma.Register(g.api, g.empty("set-owners", http.MethodPut, "/v1/runtimes/{runtime}/agents/{agent}/owners",
		"Set who owns an agent"), g.setOwners)
}

func (g *Gateway) listPeople(ctx context.Context, _ *struct{}) (*output[api.People], error) {
	list, err := g.deps.People.ListPeople(ctx, callOf(ctx).caller)
	if err != nil {
		return nil, g.fail(ctx, err)
	}
	out := api.People{People: make([]api.Person, 0, len(list))}
	for i := range list {
		p := api.PersonOf(&list[i].Principal)
		for _, id := range list[i].Identities {
			p.Identities = append(p.Identities, api.Identity{
				Realm: id.Realm, ID: id.ExternalID, Label: id.Label, Direct: id.DirectChat != "",
				LinkedAt: id.LinkedAt, Broken: id.Broken,
			})
		}
		out.People = append(out.People, p)
	}
	return respond(out), nil
}

type addPersonInput struct {
	Body api.AddPerson
}

func (g *Gateway) addPerson(ctx context.Context, in *addPersonInput) (*output[api.Person], error) {
	p, err := g.deps.People.AddPerson(ctx, callOf(ctx).caller, people.NewPerson{ID: in.Body.ID, Name: in.Body.Name, Role: in.Body.Role})
	if err != nil {
		return nil, g.fail(ctx, err)
	}
	return &output[api.Person]{Status: http.StatusCreated, Body: api.PersonOf(&p)}, nil
}

type personInput struct {
	Person string `path:"person"`
}

type changePersonInput struct {
	Person string `path:"person"`
	Body   api.ChangePerson
}

func (g *Gateway) changePerson(ctx context.Context, in *changePersonInput) (*output[api.Person], error) {
	if _, err := segment("path.person", in.Person); err != nil {
		return nil, g.fail(ctx, core.ErrNotFound)
	}
	p, err := g.deps.People.ChangePerson(ctx, callOf(ctx).caller, core.ChangePrincipal{
		ID: in.Person, Revision: in.Body.Revision, Name: in.Body.Name, Role: in.Body.Role, Disabled: in.Body.Disabled,
	})
	if err != nil {
		return nil, g.fail(ctx, err)
	}
	return respond(api.PersonOf(&p)), nil
}

type applyInput struct {
	Plan bool `query:"plan" doc:"Tell what would change, and change nothing."`
	Body api.Roster
}

func (g *Gateway) applyPeople(ctx context.Context, in *applyInput) (*output[api.Changes], error) {
	apply := g.deps.People.Apply
	if in.Plan {
		apply = g.deps.People.PlanRoster
	}
	changes, err := apply(ctx, callOf(ctx).caller, rosterOf(&in.Body))
	if err != nil {
		return nil, g.fail(ctx, err)
	}
	out := api.Changes{Changes: make([]api.Change, 0, len(changes))}
	for _, c := range changes {
		change := api.Change{Kind: string(c.Kind), PersonID: c.PersonID}
		if c.Identity != nil {
			change.Identity = &api.RosterIdentity{Realm: c.Identity.Realm, ID: c.Identity.ID}
		}
		if c.Agent != nil {
			change.Agent = &api.RosterAgent{Runtime: c.Agent.Runtime, Agent: c.Agent.Agent, Owners: append([]string{}, c.Agent.Owners...)}
		}
		out.Changes = append(out.Changes, change)
	}
	return respond(out), nil
}

func rosterOf(b *api.Roster) people.Roster {
	r := people.Roster{Exhaustive: b.Exhaustive}
	for _, p := range b.People {
		person := people.RosterPerson{ID: p.ID, Name: p.Name, Role: p.Role, Disabled: p.Disabled}
		if p.Identities != nil {
			person.Identities = make([]people.RosterIdentity, 0, len(p.Identities))
		}
		for _, i := range p.Identities {
			person.Identities = append(person.Identities, people.RosterIdentity{Realm: i.Realm, ID: i.ID})
		}
		r.People = append(r.People, person)
	}
	for _, a := range b.Agents {
		r.Agents = append(r.Agents, people.RosterAgent{Runtime: a.Runtime, Agent: a.Agent, Owners: a.Owners})
	}
	return r
}

type linkInput struct {
	Person string `path:"person"`
	Body   api.LinkIdentity
}

func (g *Gateway) linkIdentity(ctx context.Context, in *linkInput) (*struct{}, error) {
	if _, err := segment("path.person", in.Person); err != nil {
		return nil, g.fail(ctx, core.ErrNotFound)
	}
	return g.nothing(ctx, g.deps.People.LinkIdentity(ctx, callOf(ctx).caller, core.Identity{
		Realm: in.Body.Realm, ExternalID: in.Body.ID, PrincipalID: in.Person, Label: in.Body.Label,
	}))
}

type identityInput struct {
	Realm string `path:"realm"`
	ID    string `path:"id"`
}

func (g *Gateway) unlinkIdentity(ctx context.Context, in *identityInput) (*struct{}, error) {
	for _, s := range []string{in.Realm, in.ID} {
		if _, err := segment("path", s); err != nil {
			return nil, g.fail(ctx, core.ErrNotFound)
		}
	}
	return g.nothing(ctx, g.deps.People.UnlinkIdentity(ctx, callOf(ctx).caller, in.Realm, in.ID))
}

type agentInput struct {
	Runtime string `path:"runtime"`
	Agent   string `path:"agent"`
}

func (g *Gateway) owners(ctx context.Context, in *agentInput) (*output[api.Owners], error) {
	owners, err := g.deps.People.Owners(ctx, callOf(ctx).caller, in.Runtime, in.Agent)
	if err != nil {
		return nil, g.fail(ctx, err)
	}
	if owners == nil {
		owners = []string{}
	}
	return respond(api.Owners{Owners: owners}), nil
}

type setOwnersInput struct {
	Runtime string `path:"runtime"`
	Agent   string `path:"agent"`
	Body    api.Owners
}

func (g *Gateway) setOwners(ctx context.Context, in *setOwnersInput) (*struct{}, error) {
	return g.nothing(ctx, g.deps.People.SetOwners(ctx, callOf(ctx).caller, in.Runtime, in.Agent, in.Body.Owners))
}

// nothing answers a call that has nothing to say but that it was done.
func (g *Gateway) nothing(ctx context.Context, err error) (*struct{}, error) {
	if err != nil {
		return nil, g.fail(ctx, err)
	}
	return nil, nil //nolint:nilnil // The framework answers 204.
}
