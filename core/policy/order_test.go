package policy_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/policy"
)

// R51, K14: which classes each mode asks for; none lets money pass.
func TestModesR51(t *testing.T) {
	t.Parallel()
	for mode, asks := range map[policy.Mode][]core.Class{
		policy.ModeOutside:    {core.ClassSend, core.ClassMoney},
		policy.ModeEverything: {core.ClassWrite, core.ClassSend, core.ClassMoney},
		policy.ModeMoney:      {core.ClassMoney},
	} {
		require.True(t, mode.Valid())
		for _, c := range []core.Class{core.ClassRead, core.ClassWrite, core.ClassSend, core.ClassMoney} {
			require.Equal(t, slices.Contains(asks, c), mode.Asks(c), "%s %s", mode, c)
		}
	}
	for _, c := range []core.Class{core.ClassRead, core.ClassMoney} {
		require.True(t, policy.Mode("never").Asks(c), "a mode that does not exist asks")
	}
	for mode, name := range map[policy.Mode]string{
		policy.ModeOutside: "Before anything outside", policy.ModeEverything: "Before everything",
		policy.ModeMoney: "Only money and deletes", "never": "Unknown",
	} {
		require.Equal(t, name, mode.String())
	}
}

// R54, K14: the control levels that other systems use are names of two modes.
func TestControlLevelsR54(t *testing.T) {
	t.Parallel()
	for level, want := range map[string]policy.Mode{
		"": policy.ModeOutside, "autonomous": policy.ModeOutside, "auto": policy.ModeOutside, "monitored": policy.ModeOutside,
		"strict": policy.ModeEverything, "prompt": policy.ModeEverything, "manual": policy.ModeEverything, "tools": policy.ModeEverything,
		"before-anything-outside": policy.ModeOutside, "before-everything": policy.ModeEverything, "only-money-and-deletes": policy.ModeMoney,
	} {
		got, err := policy.ParseMode(level)
		require.NoError(t, err, level)
		require.Equal(t, want, got, level)
	}
	for _, bad := range []string{"never", "Strict", " strict", "none", "off", "before-nothing"} {
		_, err := policy.ParseMode(bad)
		require.ErrorIs(t, err, core.ErrInvalid, bad)
		require.NotContains(t, err.Error(), "nothing ", "no error repeats the value")
	}
}

// R53: an agent without a mode has the default of the tables, and there is always one.
func TestDefaultModeR53(t *testing.T) {
	t.Parallel()
	p := compiled(t, policy.Table{})
	require.Equal(t, policy.ModeOutside, p.DefaultMode())
	require.Equal(t, policy.Ask, policy.Evaluate(p, call("deploy", `{}`), inputs()).Answer)
	p = compiled(t, policy.Table{DefaultMode: policy.ModeMoney})
	v := policy.Evaluate(p, call("deploy", `{}`), inputs())
	require.Equal(t, policy.Auto, v.Answer)
	require.Equal(t, "mode.only-money-and-deletes.v1", v.PolicyID)
	require.Equal(t, policy.Ask, policy.Evaluate(p, call("deploy", `{}`), inMode("never")).Answer)
	require.Equal(t, policy.ModeEverything, (*policy.Policy)(nil).DefaultMode())
}

// everything is a world in which each step of the order has something that it matches.
func everything(t *testing.T) (*policy.Policy, policy.Inputs) {
	t.Helper()
	p := build(t, policy.Layers{
		Operator: []policy.Table{{
			AlwaysAsk:  []string{"confirm", "mcp__crm__publish"},
			MoneyWords: []string{"purchase"},
			Tools: []policy.Tool{
				{Names: []string{"confirm"}, Class: core.ClassRead},
				{Names: []string{"look"}, Class: core.ClassRead},
				{Names: []string{"note"}, Class: core.ClassWrite},
				{Names: []string{"post"}, Class: core.ClassSend},
				{Names: []string{"pay"}, Class: core.ClassMoney},
				{Names: []string{"list"}, Server: "crm", Class: core.ClassRead},
			},
			Servers: []policy.Server{
				{Name: "crm", Require: []string{"export"}, Prefixes: []string{"crm_"}},
				{Name: "home", Exempt: true, Require: []string{"unlock"}},
			},
			AutoPolicies: []policy.AutoPolicy{{
				ID: "sandbox.test.v1", Tools: []string{"post", "pay", "note"}, Needs: map[policy.Fact][]string{policy.FactSandbox: {"docker"}},
			}},
		}},
		Organisation: policy.Organisation{
			Ask:   []policy.Force{{Runtimes: []string{"prod"}}},
			Tools: []policy.Tool{{Names: []string{"look"}, Class: core.ClassRead}},
		},
	})
	in := inputs()
	in.Decline = &policy.Decline{Approval: "a1", At: now - 1}
	in.Facts = policy.Facts{policy.FactSandbox: "docker"}
	index, findings := policy.NewRules([]policy.Rule{
		{ID: "r1", Runtime: "ci", Agent: "dev", Tool: "post", Scope: policy.ScopeTool, Class: core.ClassSend},
		{ID: "r2", Runtime: "prod", Agent: "dev", Tool: "post", Scope: policy.ScopeTool, Class: core.ClassSend},
		{ID: "r3", Runtime: "ci", Agent: "dev", Tool: "mcp__x__post", Scope: policy.ScopeTool, Class: core.ClassSend},
		{ID: "r4", Runtime: "ci", Agent: "dev", Tool: "confirm", Scope: policy.ScopeTool, Class: core.ClassMoney},
	})
	require.Empty(t, findings)
	in.Rules = index
	return p, in
}

// R57, R58, K13: each step beats all that come after it, in this order and no other.
func TestOrderR58(t *testing.T) {
	t.Parallel()
	p, all := everything(t)
	from := func(runtime, tool string) policy.Request {
		r := call(tool, `{}`)
		r.Runtime = runtime
		return r
	}
	open := all
	open.Decline = nil
	bare := open
	bare.Rules, bare.Facts = nil, nil
	everythingAsks := bare
	everythingAsks.Mode = policy.ModeEverything
	for _, c := range []struct {
		name   string
		r      policy.Request
		in     policy.Inputs
		step   string
		answer policy.Answer
		id     string
	}{
		{"identity beats read, rules and all", from("ci", "confirm"), all, "identity", policy.Ask, ""},
		{"identity in another spelling", from("ci", "CONFIRM"), all, "identity", policy.Ask, ""},
		{"a server's list beats its exemption", from("ci", "mcp__home__unlock"), all, "identity", policy.Ask, ""},
		{"and what else its list has", from("ci", "mcp__crm__Export"), all, "identity", policy.Ask, ""},
		{"a list that spells the server out", from("ci", "crm_publish"), all, "identity", policy.Ask, ""},
		{"read beats a decline", from("ci", "look"), all, "read", policy.Allow, ""},
		{"read beats the organisation", from("prod", "look"), all, "read", policy.Allow, ""},
		{"a decline beats the organisation", from("prod", "post"), all, "sticky-decline", policy.Deny, ""},
		{"a decline beats rules and facts", from("ci", "post"), all, "sticky-decline", policy.Deny, ""},
		{"the organisation beats rules and facts", from("prod", "post"), open, "organisation", policy.Ask, ""},
		{"the organisation beats an exemption", from("prod", "mcp__home__lamp"), open, "organisation", policy.Ask, ""},
		{"an unlisted server's tool beats a rule", from("ci", "mcp__x__post"), open, "unlisted-mcp", policy.Ask, ""},
		{"a rule beats the facts", from("ci", "post"), open, "always-allow", policy.Auto, "rule.r1"},
		{"an exemption", from("ci", "mcp__home__lamp"), open, "always-allow", policy.Auto, "mcp.home.exempt"},
		{"an exemption does not cover money", from("ci", "mcp__home__purchase"), open, "mode", policy.Ask, ""},
		{"facts beat the mode", from("ci", "note"), open, "auto-policy", policy.Auto, "sandbox.test.v1"},
		{"facts do not cover money", from("ci", "pay"), open, "mode", policy.Ask, ""},
		{"the mode asks", from("ci", "post"), bare, "mode", policy.Ask, ""},
		{"the mode asks for writing", from("ci", "note"), everythingAsks, "mode", policy.Ask, ""},
		{"nothing asks", from("ci", "note"), bare, "default", policy.Auto, "mode.before-anything-outside.v1"},
	} {
		v := policy.Evaluate(p, c.r, c.in)
		require.Equal(t, c.answer, v.Answer, c.name)
		require.Equal(t, c.id, v.PolicyID, c.name)
		require.Equal(t, c.step, endedAt(t, p, c.r, c.in), c.name)
		require.Equal(t, c.answer == policy.Deny, v.StickyOf == "a1", c.name)
		require.Equal(t, c.in.Generation, v.Generation, c.name)
		require.Equal(t, p.Digest(), v.Digest, c.name)
		if c.answer != policy.Allow {
			last := v.Trail[len(v.Trail)-1]
			require.Equal(t, c.step, last.Step, c.name)
			require.Equal(t, string(c.answer), last.Verdict, c.name)
			require.NotEmpty(t, last.Why, c.name)
			require.NotEmpty(t, last.Change, c.name)
			require.Equal(t, "class", v.Trail[0].Step, c.name)
			require.Equal(t, string(v.Class), v.Trail[0].Verdict, c.name)
		} else {
			require.Empty(t, v.Trail, "what leaves no record has no trail")
		}
	}
}

// K14: in "before everything" facts do not count, rules do.
func TestBeforeEverythingK14(t *testing.T) {
	t.Parallel()
	p, in := everything(t)
	in.Decline, in.Mode = nil, policy.ModeEverything
	require.Equal(t, policy.Ask, policy.Evaluate(p, call("note", `{}`), in).Answer)
	require.Equal(t, policy.Auto, policy.Evaluate(p, call("post", `{}`), in).Answer)
}

// R58, R66: the explicit question for approval asks in every mode, on every server, in
// every spelling, whatever stands in its way.
func TestRequestApprovalAlwaysAsksR66(t *testing.T) {
	t.Parallel()
	p := compiled(t, policy.Table{
		DefaultMode: policy.ModeMoney,
		Servers:     []policy.Server{{Name: "sayso", Exempt: true, Prefixes: []string{"sayso_"}}},
		Tools:       []policy.Tool{{Names: []string{"request_approval"}, Server: "sayso", Class: core.ClassRead}},
	})
	for _, tool := range []string{
		"request_approval", "Request-Approval", "requestApproval", "mcp__sayso__request_approval", "mcp__other__request_approval",
		"mcp_sayso_request_approval", "sayso_request_approval", "sayso.request_approval", "mcp__a__b__request_approval", "request\u200b_approval", "ask",
	} {
		in := inMode(policy.ModeMoney)
		in.Facts = policy.Facts{policy.FactSandbox: "docker"}
		require.Equal(t, policy.Ask, policy.Evaluate(p, call(tool, `{}`), in).Answer, tool)
	}
	require.Equal(t, policy.Auto, policy.Evaluate(p, call("mcp__sayso__get_approval", `{}`), inMode(policy.ModeMoney)).Answer)
}

// R61, R62, K12: a tool of a tool server that no table lists asks in every mode,
// whatever it is called; its server's exemption is the only way around, and exact.
func TestUnlistedMCPAsksK12(t *testing.T) {
	t.Parallel()
	p := compiled(t, policy.Table{Servers: []policy.Server{
		{Name: "home", Exempt: true},
		{Name: "lab", Exempt: true, Runtimes: []string{"lab-runtime"}},
		{Name: "octo", Like: "github"},
		{Name: "open", Prefixes: []string{"open_"}},
		{Name: "wide", Exempt: true, Prefixes: []string{"wide_"}},
	}})
	in := inMode(policy.ModeMoney)
	for _, tool := range []string{
		"mcp__x__y", "MCP__x__y", "mcp_x_y", "mcp.x.y", "mcp:x", "mcp/x/y", "mcp-x", "mcp__x", "mcp__", "mcp____y", "mcp__x__", "\u200bmcp__x__y", "m\u00adcp__x__y",
		"mcp__Home__lamp", "mcp__home", "mcp__home___lamp", "mcp__home__evil__lamp", "mcp__home_2__lamp", "mcp__lab__probe",
		"mcp__github__create_issue", "mcp__octo__no_such_tool", "mcp__octo__Create_Issue", "open_door", "OPEN_door", "WIDE_door",
	} {
		v := policy.Evaluate(p, call(tool, `{}`), in)
		require.Equal(t, policy.Ask, v.Answer, tool)
		require.Nil(t, v.AlwaysOffer, tool)
		require.Equal(t, "unlisted-mcp", endedAt(t, p, call(tool, `{}`), in), tool)
	}
	for tool, want := range map[string]policy.Answer{
		"mcp__home__lamp": policy.Auto, "mcp__octo__create_issue": policy.Auto, "mcp__octo__get_me": policy.Allow, "wide_door": policy.Auto,
		"mcp__home__delete_all": policy.Ask, // Never money.
	} {
		require.Equal(t, want, policy.Evaluate(p, call(tool, `{}`), in).Answer, tool)
	}
	exec := call("mcp__home__lamp", `{"argv":["curl"],"folder":"/w"}`)
	exec.Kind = core.KindExec // No server's tool is a command.
	require.Equal(t, policy.Ask, policy.Evaluate(p, exec, in).Answer)
	lab := call("mcp__lab__probe", `{}`)
	lab.Runtime = "lab-runtime"
	require.Equal(t, "mcp.lab.exempt", policy.Evaluate(p, lab, in).PolicyID)
}

// R59: whatever cannot be read asks.
func TestUnreadableAsksR59(t *testing.T) {
	t.Parallel()
	p := compiled(t, policy.Table{})
	unreadable := inMode(policy.ModeMoney)
	unreadable.Unreadable = "rules"
	for name, v := range map[string]policy.Verdict{
		"no policy":              policy.Evaluate(nil, call("Read", `{}`), inputs()),
		"no rules":               policy.Evaluate(p, call("Read", `{}`), unreadable),
		"no such mode":           policy.Evaluate(p, call("Edit", `{}`), inMode("never")),
		"arguments cut":          policy.Evaluate(p, call("Read", `{"a":`), inputs()),
		"no arguments":           policy.Evaluate(p, call("Read", ``), inputs()),
		"arguments not in UTF-8": policy.Evaluate(p, call("Read", "{\"a\":\"\xff\"}"), inputs()),
		"two documents":          policy.Evaluate(p, call("Read", `{}{}`), inputs()),
		"arguments over 1 MiB":   policy.Evaluate(p, call("Read", `"`+string(make([]byte, 1<<20))+`"`), inputs()),
	} {
		require.Equal(t, policy.Ask, v.Answer, name)
		require.Nil(t, v.AlwaysOffer, name)
		require.Empty(t, v.PolicyID, name)
		require.Len(t, v.Trail, 1, name)
		require.Equal(t, string(policy.Ask), v.Trail[0].Verdict, name)
	}
}

// K34: a decline answers the same action for its window, to the millisecond, and not
// at all where the window is 0.
func TestStickyDeclineK34(t *testing.T) {
	t.Parallel()
	window := 10 * time.Minute
	p := compiled(t, policy.Table{StickyDecline: &window})
	require.Equal(t, window, p.StickyWindow())
	in := inputs()
	for at, want := range map[core.Millis]policy.Answer{
		now: policy.Deny, now.Add(-window) + 1: policy.Deny, now.Add(-window): policy.Ask, 1: policy.Ask, now + 1000: policy.Deny,
	} {
		in.Decline = &policy.Decline{Approval: "a1", At: at}
		require.Equal(t, want, policy.Evaluate(p, call("deploy", `{}`), in).Answer, now-at)
	}
	in.Decline = &policy.Decline{At: now}
	require.Equal(t, policy.Ask, policy.Evaluate(p, call("deploy", `{}`), in).Answer, "a denial points to its record")
	off := time.Duration(0)
	in.Decline = &policy.Decline{Approval: "a1", At: now}
	require.Equal(t, policy.Ask, policy.Evaluate(compiled(t, policy.Table{StickyDecline: &off}), call("deploy", `{}`), in).Answer)
	require.Equal(t, policy.DefaultStickyWindow, bare(t, policy.Table{}).StickyWindow())
}

// R63: a browser is judged step by step: going to an address reaches out, and looking at
// what is there does not.
func TestBrowserR63(t *testing.T) {
	t.Parallel()
	p := compiled(t, policy.Table{Servers: []policy.Server{{Name: "web", Like: "playwright"}}})
	require.Equal(t, policy.Ask, policy.Evaluate(p, call("mcp__web__browser_navigate", `{"url":"https://example.com"}`), inputs()).Answer)
	require.Equal(t, policy.Allow, policy.Evaluate(p, call("mcp__web__browser_snapshot", `{}`), inputs()).Answer)
}
