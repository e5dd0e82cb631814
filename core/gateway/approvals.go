package gateway

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/api"
	"github.com/saysohq/sayso/core/approvals"
	"github.com/saysohq/sayso/presentation"
)

func (g *Gateway) registerApprovals() {
	ask := g.operation("ask", http.MethodPost, "/v1/approvals", "Evaluate a call, and ask when it must be asked")
	ask.Description = "201: a new record. 200: the same key and content were asked before, or the call only reads: " +
		"then it is unrecorded, has no approval, and may run without a claim."
	ask.DefaultStatus = http.StatusCreated
	huma.Register(g.api, ask, g.ask)
	huma.Register(g.api, g.operation("get", http.MethodGet, "/v1/approvals/{id}",
		"Read one approval, or wait until it changes"), g.get)
	huma.Register(g.api, g.operation("list", http.MethodGet, "/v1/approvals", "List what the caller may see, newest first"), g.list)
	huma.Register(g.api, g.operation("detail", http.MethodGet, "/v1/approvals/{id}/detail",
		"Read the redacted full text of an action, as a person"), g.detail)
}

// waitOf reads a wait; longer ones are cut, because every wait is repeated anyway
// (R32).
func waitOf(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, core.Invalid("query.wait", "must be a duration such as 25s")
	}
	return min(d, approvals.MaxWait), nil
}

type askInput struct {
	Wait string `query:"wait" doc:"A Go duration: how long to wait for an answer, at most 60s. Ask again afterwards."`
	Body api.Ask
}

func (g *Gateway) ask(ctx context.Context, in *askInput) (*output[api.Asked], error) {
	c := callOf(ctx).caller
	wait, err := waitOf(in.Wait)
	if err != nil {
		return nil, g.fail(ctx, err)
	}
	request, err := askOf(&in.Body)
	if err != nil {
		return nil, g.fail(ctx, err)
	}
	asked, err := g.deps.Approvals.Ask(ctx, c, request)
	if err != nil {
		return nil, g.failWith(ctx, c, err, asked.Approval)
	}
	if asked.Unrecorded {
		return respond(api.Asked{Verdict: api.VerdictAllow, Unrecorded: true, AgentText: presentation.AgentReads}), nil
	}
	a := asked.Approval
	if a.Status == core.StatusPending && wait > 0 {
		// The record stands: should the wait fail, the caller still learns of it.
		if later, err := g.wait(ctx, &c, &approvals.WaitRequest{Lookup: core.Lookup{ID: a.ID}, For: wait}); err == nil {
			a = *later
		}
	}
	got, err := g.answer(ctx, c, &a)
	if err != nil {
		return nil, g.fail(ctx, err)
	}
	status := http.StatusCreated
	if asked.Existing {
		status = http.StatusOK
	}
	return &output[api.Asked]{Status: status, Body: api.Asked{
		Verdict: got.Verdict, Approval: got.Approval, AgentText: got.AgentText, Hint: asked.Hint,
	}}, nil
}

func askOf(b *api.Ask) (approvals.Ask, error) {
	ask := approvals.Ask{
		GivenID: b.ID, IdempotencyKey: b.IdempotencyKey, Kind: b.Kind, Title: b.Title, Agent: b.Agent,
		Operation: approvals.AskOperation{
			ID: b.Operation.ID, Type: b.Operation.Type, Tool: b.Operation.Tool, Name: b.Operation.Name,
			Summary: b.Operation.Summary, Arguments: b.Operation.Arguments,
		},
		Details: b.Details, Risk: b.Risk, Continuation: b.Continuation,
		SessionKey: b.SessionKey, RunID: b.RunID, FrameID: b.FrameID, Group: b.Group, CausedBy: b.CausedBy,
		Audience: b.Audience, Instance: b.Instance, Epoch: b.Epoch,
		Reviewers: b.Reviewers, ExcludeRequester: b.ExcludeRequester, RequirePush: b.RequirePush, Supersedes: b.Supersedes,
		CallbackURL: b.CallbackURL,
	}
	if b.ExpiresIn != "" {
		d, err := time.ParseDuration(b.ExpiresIn)
		if err != nil {
			return ask, core.Invalid("expires_in", "must be a duration such as 30m")
		}
		ms := core.Millis(d.Milliseconds())
		ask.ExpiresIn = &ms
	}
	return ask, nil
}

type getInput struct {
	ID       string `path:"id" doc:"The id of the approval, percent-encoded."`
	Wait     string `query:"wait" doc:"A Go duration: how long to wait for an answer, at most 60s. Ask again afterwards."`
	Revision int64  `query:"revision" minimum:"0" doc:"The revision that the caller has seen: with it, wait ends with any change; without, with the final answer."`
}

func (g *Gateway) get(ctx context.Context, in *getInput) (*output[api.Answer], error) {
	c := callOf(ctx).caller
	wait, err := waitOf(in.Wait)
	if err != nil {
		return nil, g.fail(ctx, err)
	}
	l, err := lookup(in.ID)
	if err != nil {
		return nil, g.fail(ctx, err)
	}
	a, err := g.wait(ctx, &c, &approvals.WaitRequest{Lookup: l, Revision: in.Revision, For: wait})
	if err != nil {
		return nil, g.fail(ctx, err)
	}
	return g.answered(ctx, c, a)
}

// answered is apart from get because its frame is large, and callers that wait
// rest in get.
//
//go:noinline
func (g *Gateway) answered(ctx context.Context, c core.Caller, a *core.Approval) (*output[api.Answer], error) {
	got, err := g.answer(ctx, c, a)
	if err != nil {
		return nil, g.fail(ctx, err)
	}
	return respond(got), nil
}

// wait reads the record, at once or when it changes. When this replica stops the
// wait ends early with the record as it is: the caller asks another replica, or
// this one after its restart.
func (g *Gateway) wait(ctx context.Context, c *core.Caller, w *approvals.WaitRequest) (*core.Approval, error) {
	if a := callOf(ctx).rested; a != nil {
		return a, nil
	}
	if w.For <= 0 {
		a, err := g.deps.Approvals.Get(ctx, *c, w.Lookup)
		return &a, err
	}
	g.hold(ctx, w.For)
	return g.deps.Approvals.Await(ctx, c, w)
}

type listInput struct {
	Status  core.Status `query:"status" enum:"pending,allowed,denied,expired,cancelled"`
	Origin  core.Origin `query:"origin" enum:"ask,auto" doc:"auto: what ran without asking a person."`
	Within  string      `query:"within" doc:"A Go duration such as 12h: only what was asked within this time."`
	Agent   string      `query:"agent"`
	Session string      `query:"session" doc:"A session key."`
	Run     string      `query:"run"`
	Limit   int         `query:"limit" minimum:"1" maximum:"1000" doc:"Default 1000."`
	Cursor  string      `query:"cursor" doc:"The cursor of the page before, with the same filters."`
}

func (g *Gateway) list(ctx context.Context, in *listInput) (*output[api.List], error) {
	c := callOf(ctx).caller
	q := core.ListQuery{Status: in.Status, Origin: in.Origin, Agent: in.Agent, Session: in.Session, Run: in.Run, Limit: in.Limit}
	if in.Within != "" {
		d, err := time.ParseDuration(in.Within)
		if err != nil || d < time.Millisecond {
			return nil, g.fail(ctx, core.Invalid("query.within", "must be a duration such as 12h"))
		}
		q.Within = core.Millis(d.Milliseconds())
	}
	scope := scopeOf(c, q)
	if in.Cursor != "" {
		before, err := g.cursors.decode(in.Cursor, scope)
		if err != nil {
			return nil, g.fail(ctx, err)
		}
		q.Before = before
	}
	page, err := g.deps.Approvals.List(ctx, c, q)
	if err != nil {
		return nil, g.fail(ctx, err)
	}
	out := api.List{Approvals: make([]api.Approval, 0, len(page.Approvals)), Truncated: page.More, ServerTime: page.Now}
	for i := range page.Approvals {
		out.Approvals = append(out.Approvals, g.project(c, &page.Approvals[i], page.Now))
	}
	if n := len(page.Approvals); page.More && n > 0 {
		last := &page.Approvals[n-1]
		out.Cursor = g.cursors.encode(core.ListCursor{CreatedAt: last.CreatedAt, ID: last.ID}, scope)
	}
	if c.Admin() {
		out.Corrupt = page.Corrupt
	}
	return respond(out), nil
}

type idInput struct {
	ID string `path:"id" doc:"The id of the approval, percent-encoded."`
}

func (g *Gateway) detail(ctx context.Context, in *idInput) (*output[api.Detail], error) {
	c := callOf(ctx).caller
	l, err := lookup(in.ID)
	if err != nil {
		return nil, g.fail(ctx, err)
	}
	a, d, err := g.deps.Approvals.Detail(ctx, c, l)
	if err != nil {
		return nil, g.fail(ctx, err)
	}
	p, err := g.full(ctx, c, &a)
	if err != nil {
		return nil, g.fail(ctx, err)
	}
	out := api.Detail{Approval: p, Text: d.Text, OmittedBytes: d.Omitted}
	if c.Session != "" {
		out.View = g.deps.Views.Sign(a.ID, a.CardRevision, a.ActionHash, c.Session, d.Omitted == 0)
	}
	return respond(out), nil
}
