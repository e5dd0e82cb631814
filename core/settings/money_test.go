package settings_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/policy"
	"github.com/saysohq/sayso/core/policy/tables"
	"github.com/saysohq/sayso/core/policy/world"
	"github.com/saysohq/sayso/core/settings"
)

// judge evaluates a call of the agent that deletes or spends, under what is set now.
func (k *kit) judge(p *policy.Policy, w *world.World) policy.Answer {
	k.t.Helper()
	r := policy.Request{
		Runtime: "agents", Agent: "books", Kind: core.KindPlugin, Tool: "delete_customer", Arguments: []byte(`{"id":"7"}`),
		Continuation: core.ContinuationLive, ActionHash: core.HashOf([]byte("the call")),
	}
	in, err := w.Inputs(context.Background(), r, time.Minute)
	require.NoError(k.t, err)
	v := policy.Evaluate(p, r, in)
	require.Equal(k.t, core.ClassMoney, v.Class)
	return v.Answer
}

// R73, R51, K14: whatever people set, in whatever order and by whomever, money asks,
// unless somebody made a switch for this very tool of this very agent.
func TestNothingButASwitchLetsMoneyPass(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.defaults = policy.ModeMoney // The least strict there is.
	p, err := tables.Load(tables.Files{})
	require.NoError(t, err)
	w := world.New(k.store, func(context.Context, []policy.Finding) {})
	declined := k.declined()
	d := k.deps()
	d.TerminalLoosens = true
	service := settings.New(d)
	ctx := t.Context()

	callers := []core.Caller{k.admin, k.owner, terminal(k.admin), k.viewer, k.stranger, k.machine, {Operator: true}, {}}
	modes := []string{
		"before-anything-outside", "before-everything", "only-money-and-deletes", "autonomous", "auto", "monitored", "strict", "prompt",
		"manual", "tools", "default", "", "never", "money", "everything", "only-money-and-deletes.v1",
	}
	rapid.Check(t, func(rt *rapid.T) {
		c := rapid.SampledFrom(callers).Draw(rt, "caller")
		is, err := service.Agent(ctx, k.admin, "agents", "books")
		require.NoError(rt, err)
		switch rapid.SampledFrom([]string{"mode", "pause", "resume", "reset", "delete", "reopen", "switch another"}).Draw(rt, "change") {
		case "mode":
			in := settings.ModeChange{Runtime: "agents", Agent: "books", Mode: rapid.SampledFrom(modes).Draw(rt, "mode"), Revision: is.ModeRevision}
			_, err = service.SetMode(ctx, c, in)
		case "pause":
			_, err = service.Pause(ctx, c, "agents", "books", is.PauseRevision)
		case "resume":
			_, err = service.Resume(ctx, c, "agents", "books", is.PauseRevision)
		case "reset":
			_, err = service.Reset(ctx, c, "agents", "books")
		case "delete":
			_, err = service.Delete(ctx, c, "agents", "books")
		case "reopen":
			_, err = service.Reopen(ctx, c, declined.ID)
		case "switch another":
			another := rapid.SampledFrom([]settings.MoneySwitch{
				{Runtime: "agents", Agent: "others", Tool: "delete_customer"}, {Runtime: "agents", Tool: "delete_customer"},
				{Runtime: "elsewhere", Agent: "books", Tool: "delete_customer"},
				money("delete_customers"), money("Delete_Customer"), money("delete_"), money("*"), money("delete_customer*"), money(`.*`),
			}).Draw(rt, "switch")
			_, err = service.SwitchMoney(ctx, c, another)
		}
		if err != nil {
			require.NotEqual(rt, "internal", core.CodeOf(err))
		}
		require.Equal(rt, policy.Ask, k.judge(p, w))
	})

	// And that one does, until it is switched off.
	on, err := service.SwitchMoney(ctx, k.owner, money("delete_customer"))
	require.NoError(t, err)
	require.Equal(t, policy.Auto, k.judge(p, w))
	_, err = service.RemoveRule(ctx, k.owner, on.ID)
	require.NoError(t, err)
	require.Equal(t, policy.Ask, k.judge(p, w))
}
