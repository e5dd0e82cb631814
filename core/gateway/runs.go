package gateway

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/api"
	"github.com/saysohq/sayso/core/approvals"
)

func (g *Gateway) registerRuns() {
	huma.Register(g.api, g.operation("register-instance", http.MethodPut, "/v1/runtimes/self/instances/{name}",
		"Register a start of an instance and get its epoch"), g.registerInstance)
	huma.Register(g.api, g.operation("run", http.MethodGet, "/v1/runs/{run}", "How a run stands"), g.run)
	huma.Register(g.api, g.operation("abort-run", http.MethodPost, "/v1/runs/{run}/abort",
		"Stop a run for good: cancel what waits, take back what was not claimed"), g.abortRun)
	huma.Register(g.api, g.operation("reply", http.MethodPost, "/v1/runs/{run}/reply",
		"The person wrote a message instead of answering"), g.reply)
}

type instanceInput struct {
	Name string `path:"name"`
	Body api.Register
}

func (g *Gateway) registerInstance(ctx context.Context, in *instanceInput) (*output[api.Instance], error) {
	name, err := segment("path.name", in.Name)
	if err != nil {
		return nil, g.fail(ctx, err)
	}
	i, err := g.deps.Approvals.RegisterInstance(ctx, callOf(ctx).caller, approvals.Registration{
		Name: name, BootID: in.Body.BootID, Facts: in.Body.Facts,
	})
	if err != nil {
		return nil, g.fail(ctx, err)
	}
	return respond(api.Instance{Name: i.Name, Epoch: i.Epoch}), nil
}

type runInput struct {
	Run string `path:"run" doc:"The runtime's own id of the run, percent-encoded."`
}

func (g *Gateway) run(ctx context.Context, in *runInput) (*output[api.Run], error) {
	return g.onRun(ctx, in.Run, g.deps.Approvals.RunStatus)
}

func (g *Gateway) abortRun(ctx context.Context, in *runInput) (*output[api.Run], error) {
	return g.onRun(ctx, in.Run, g.deps.Approvals.AbortRun)
}

func (g *Gateway) onRun(ctx context.Context, run string,
	do func(context.Context, core.Caller, string) (core.Run, error),
) (*output[api.Run], error) {
	if _, err := segment("path.run", run); err != nil {
		return nil, g.fail(ctx, core.ErrNotFound) // Nothing was ever asked for it.
	}
	r, err := do(ctx, callOf(ctx).caller, run)
	if err != nil {
		return nil, g.fail(ctx, err)
	}
	return respond(api.Run{
		ID: r.ID, AbortedAt: r.AbortedAt, Pending: r.Pending, AcceptsReply: r.AcceptsReply,
		WaitingMillis: r.WaitingMillis, LastDecidedAt: r.LastDecidedAt, ServerTime: r.Now,
	}), nil
}

type replyInput struct {
	Run  string `path:"run"`
	Body api.Reply
}

func (g *Gateway) reply(ctx context.Context, in *replyInput) (*output[api.Replied], error) {
	if _, err := segment("path.run", in.Run); err != nil {
		return nil, g.fail(ctx, core.ErrNotFound)
	}
	r, err := g.deps.Approvals.Reply(ctx, callOf(ctx).caller, approvals.Reply{
		Run: in.Run, MessageID: in.Body.MessageID, Text: in.Body.Text,
	})
	if err != nil {
		return nil, g.fail(ctx, err)
	}
	declined := r.Declined
	if declined == nil {
		declined = []string{}
	}
	out := api.Replied{Declined: api.Declined{RunID: r.Run, ApprovalIDs: declined}, Delivery: api.DeliveredQueued}
	if r.Now {
		out.Delivery = api.DeliveredNow
	}
	return respond(out), nil
}

// segment checks a name that stands in a path.
func segment(field, name string) (string, error) {
	if name == "" || len(name) > core.MaxShortText || !validText(name) {
		return "", core.Invalid(field, "must be 1 to %d bytes of UTF-8 without control characters", core.MaxShortText)
	}
	return name, nil
}
