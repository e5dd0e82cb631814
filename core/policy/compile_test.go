package policy_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/policy"
)

func tool(change func(*policy.Tool)) policy.Layers {
	t := policy.Tool{Names: []string{"x"}, Class: core.ClassSend}
	change(&t)
	return policy.Layers{Operator: []policy.Table{{Tools: []policy.Tool{t}}}}
}

func mapped(change func(*policy.Mapping)) policy.Layers {
	m := policy.Mapping{Field: "a", Values: map[core.Class][]string{core.ClassSend: {"b"}}}
	change(&m)
	return tool(func(t *policy.Tool) { t.Class, t.By = "", &m })
}

func operator(t policy.Table) policy.Layers { return policy.Layers{Operator: []policy.Table{t}} }

// Each fault of a table is found, by its own code, and refuses the whole.
func TestFaultsAreFound(t *testing.T) {
	t.Parallel()
	negative, long := -time.Second, 25*time.Hour
	condition := func(c policy.Condition) policy.Layers {
		return tool(func(t *policy.Tool) { t.ReachesNoOne = []policy.Predicate{{c}} })
	}
	always := func(a policy.AlwaysScope) policy.Layers {
		return tool(func(t *policy.Tool) { t.Always = []policy.AlwaysScope{a} })
	}
	auto := func(id string, tools []string, needs map[policy.Fact][]string) policy.Layers {
		return operator(policy.Table{AutoPolicies: []policy.AutoPolicy{{ID: id, Tools: tools, Needs: needs}}})
	}
	boxed := map[policy.Fact][]string{policy.FactSandbox: nil}
	server := func(s policy.Server) policy.Layers { return operator(policy.Table{Servers: []policy.Server{s}}) }
	for name, c := range map[string]struct {
		l    policy.Layers
		want policy.Code
	}{
		"unknown class": {tool(func(t *policy.Tool) { t.Class = "harmless" }), policy.FindingClass},
		"no class":      {tool(func(t *policy.Tool) { t.Class = "" }), policy.FindingClass},
		"class and field": {tool(func(t *policy.Tool) {
			t.By = &policy.Mapping{Field: "a", Values: map[core.Class][]string{core.ClassRead: {"b"}}}
		}), policy.FindingContradicts},
		"no names":             {tool(func(t *policy.Tool) { t.Names = nil }), policy.FindingBadName},
		"empty name":           {tool(func(t *policy.Tool) { t.Names = []string{""} }), policy.FindingBadName},
		"hidden name":          {tool(func(t *policy.Tool) { t.Names = []string{"re\u200bad"} }), policy.FindingBadName},
		"blank at the end":     {tool(func(t *policy.Tool) { t.Names = []string{"read "} }), policy.FindingBadName},
		"long name":            {tool(func(t *policy.Tool) { t.Names = []string{strings.Repeat("x", 257)} }), policy.FindingBadName},
		"twice":                {tool(func(t *policy.Tool) { t.Names = []string{"x", "x"} }), policy.FindingDuplicate},
		"a server's name":      {tool(func(t *policy.Tool) { t.Names = []string{"mcp__a__b"} }), policy.FindingContradicts},
		"bad server":           {tool(func(t *policy.Tool) { t.Server = "a__b" }), policy.FindingBadName},
		"bad runtime":          {tool(func(t *policy.Tool) { t.Runtimes = []string{"CI"} }), policy.FindingBadName},
		"hidden label":         {tool(func(t *policy.Tool) { t.Label = "a\u202eb" }), policy.FindingBadName},
		"raise to nothing":     {tool(func(t *policy.Tool) { t.Raise = []policy.Raise{{When: policy.Predicate{{Field: "a", Empty: true}}}} }), policy.FindingClass},
		"no conditions":        {tool(func(t *policy.Tool) { t.ReachesNoOne = []policy.Predicate{{}} }), policy.FindingContradicts},
		"no test":              {condition(policy.Condition{Field: "a"}), policy.FindingContradicts},
		"two tests":            {condition(policy.Condition{Field: "a", Empty: true, Is: []string{"b"}}), policy.FindingContradicts},
		"no field":             {condition(policy.Condition{Empty: true}), policy.FindingBadField},
		"deep field":           {condition(policy.Condition{Field: "a.b.c.d.e.f.g.h.i", Empty: true}), policy.FindingBadField},
		"no such pseudo field": {condition(policy.Condition{Field: "$risk", Empty: true}), policy.FindingBadField},
		"domain in disguise":   {condition(policy.Condition{Field: "a", Domains: []string{"exa mple.com"}}), policy.FindingBadName},
		"unknown scope":        {always(policy.AlwaysScope{Scope: "session"}), policy.FindingScope},
		"unknown form":         {always(policy.AlwaysScope{Scope: policy.ScopeRecipient, Fields: []string{"to"}, Form: "fax"}), policy.FindingForm},
		"recipient nowhere":    {always(policy.AlwaysScope{Scope: policy.ScopeRecipient}), policy.FindingContradicts},
		"tool with field":      {always(policy.AlwaysScope{Scope: policy.ScopeTool, Fields: []string{"to"}}), policy.FindingContradicts},
		"never and a scope":    {tool(func(t *policy.Tool) { t.NoAlways, t.Always = true, []policy.AlwaysScope{{Scope: policy.ScopeTool}} }), policy.FindingContradicts},
		"interpreter and scope": {tool(func(t *policy.Tool) {
			t.Interpreter, t.Always = &policy.Interpreter{}, []policy.AlwaysScope{{Scope: policy.ScopeTool}}
		}), policy.FindingContradicts},
		"no values":           {mapped(func(m *policy.Mapping) { m.Values = nil }), policy.FindingTooMuch},
		"value twice":         {mapped(func(m *policy.Mapping) { m.Values[core.ClassRead] = []string{"b"} }), policy.FindingDuplicate},
		"value in two cases":  {mapped(func(m *policy.Mapping) { m.IgnoreCase, m.Values[core.ClassRead] = true, []string{"B"} }), policy.FindingDuplicate},
		"value of no class":   {mapped(func(m *policy.Mapping) { m.Values["cheap"] = []string{"c"} }), policy.FindingClass},
		"empty value":         {mapped(func(m *policy.Mapping) { m.Values[core.ClassRead] = []string{""} }), policy.FindingBadName},
		"default of no value": {mapped(func(m *policy.Mapping) { m.Default = "c" }), policy.FindingContradicts},
		"unknown mode":        {operator(policy.Table{DefaultMode: "never"}), policy.FindingMode},
		"negative window":     {operator(policy.Table{StickyDecline: &negative}), policy.FindingDuration},
		"long window":         {operator(policy.Table{StickyDecline: &long}), policy.FindingDuration},
		"hidden always":       {operator(policy.Table{AlwaysAsk: []string{"a\x00"}}), policy.FindingBadName},
		"upper-case word":     {operator(policy.Table{MoneyWords: []string{"Pay"}}), policy.FindingBadName},
		"program of no class": {operator(policy.Table{Programs: []policy.Program{{Names: []string{"rm"}}}}), policy.FindingClass},
		"program of no name":  {operator(policy.Table{Programs: []policy.Program{{Class: core.ClassMoney}}}), policy.FindingBadName},
		"server twice":        {operator(policy.Table{Servers: []policy.Server{{Name: "a"}, {Name: "a"}}}), policy.FindingDuplicate},
		"unknown profile":     {server(policy.Server{Name: "a", Like: "b"}), policy.FindingUnknownLike},
		"prefix without end":  {server(policy.Server{Name: "a", Prefixes: []string{"ab"}}), policy.FindingBadName},
		"prefix of another": {operator(policy.Table{Servers: []policy.Server{
			{Name: "a", Prefixes: []string{"x_"}}, {Name: "b", Prefixes: []string{"x_"}},
		}}), policy.FindingContradicts},
		"profile twice":          {operator(policy.Table{Profiles: []policy.Profile{{Name: "a"}, {Name: "a"}}}), policy.FindingDuplicate},
		"profile of a runtime":   {operator(policy.Table{Profiles: []policy.Profile{{Name: "a", Tools: []policy.Tool{{Names: []string{"x"}, Class: core.ClassRead, Runtimes: []string{"ci"}}}}}}), policy.FindingContradicts},
		"policy of a rule":       {auto("rule.x.v1", []string{"x"}, boxed), policy.FindingPolicyID},
		"policy of a mode":       {auto("mode.mine.v1", []string{"x"}, boxed), policy.FindingPolicyID},
		"policy of a server":     {auto("mcp.x.exempt", []string{"x"}, boxed), policy.FindingPolicyID},
		"policy without version": {auto("sandbox", []string{"x"}, boxed), policy.FindingPolicyID},
		"policy without facts":   {auto("a.b.v1", []string{"x"}, nil), policy.FindingContradicts},
		"policy without tools":   {auto("a.b.v1", nil, boxed), policy.FindingContradicts},
		"unknown fact":           {auto("a.b.v1", []string{"x"}, map[policy.Fact][]string{"trust_me": nil}), policy.FindingFact},
		"force over reading":     {policy.Layers{Organisation: policy.Organisation{Ask: []policy.Force{{From: core.ClassRead}}}}, policy.FindingClass},
		"floor with exceptions":  {policy.Layers{Organisation: policy.Organisation{Tools: []policy.Tool{{Names: []string{"x"}, Class: core.ClassRead, Loosens: true}}}}, policy.FindingContradicts},
	} {
		require.Contains(t, refused(t, c.l), c.want, name)
	}
}

// All faults are told at once, and no error text repeats a name from a table.
func TestAllFaultsAtOnce(t *testing.T) {
	t.Parallel()
	_, err := policy.New(policy.Layers{
		Starter:      policy.Table{Tools: []policy.Tool{{Names: []string{"alpha-tool"}, Class: "?"}}},
		Operator:     []policy.Table{{DefaultMode: "?", Tools: []policy.Tool{{Names: []string{"beta-tool"}, Class: "?"}}}},
		Organisation: policy.Organisation{Tools: []policy.Tool{{Names: []string{"gamma-tool"}, Class: "?"}}},
	})
	var invalid *policy.InvalidError
	require.ErrorAs(t, err, &invalid)
	require.Len(t, invalid.Findings, 4)
	require.Equal(t, "invalid", core.CodeOf(err))
	require.NotContains(t, err.Error(), "-tool")
	require.Contains(t, invalid.Findings[0].String(), "starter: tools[0].class: alpha-tool")
	require.Equal(t, "organisation", invalid.Findings[3].Table)
}

// A later table may make a tool stricter as it likes, and milder only if it says so.
func TestLooseningIsSaid(t *testing.T) {
	t.Parallel()
	first := policy.Table{Tools: []policy.Tool{
		{Names: []string{"post"}, Class: core.ClassSend},
		{Names: []string{"crm"}, By: &policy.Mapping{Field: "do", Values: map[core.Class][]string{core.ClassRead: {"list"}, core.ClassMoney: {"wipe"}}}},
	}}
	by := func(m policy.Mapping) policy.Tool { return policy.Tool{Names: []string{"crm"}, By: &m} }
	for name, c := range map[string]struct {
		t      policy.Tool
		milder bool
	}{
		"stricter class":    {policy.Tool{Names: []string{"post"}, Class: core.ClassMoney}, false},
		"the same class":    {policy.Tool{Names: []string{"post"}, Class: core.ClassSend}, false},
		"milder class":      {policy.Tool{Names: []string{"post"}, Class: core.ClassRead}, true},
		"in one runtime":    {policy.Tool{Names: []string{"post"}, Class: core.ClassRead, Runtimes: []string{"ci"}}, true},
		"reaches no one":    {policy.Tool{Names: []string{"post"}, ReachesNoOne: []policy.Predicate{{{Field: "to", Empty: true}}}}, true},
		"milder by a value": {policy.Tool{Names: []string{"post"}, By: &policy.Mapping{Field: "do", Values: map[core.Class][]string{core.ClassRead: {"list"}}}}, true},
		"a value more":      {by(policy.Mapping{Field: "do", Values: map[core.Class][]string{core.ClassRead: {"list"}, core.ClassMoney: {"wipe", "pay"}}}), false},
		"a value less":      {by(policy.Mapping{Field: "do", Values: map[core.Class][]string{core.ClassRead: {"list"}}}), true},
		"a new milder one":  {by(policy.Mapping{Field: "do", Values: map[core.Class][]string{core.ClassRead: {"list", "peek"}, core.ClassMoney: {"wipe"}}}), true},
		"another field":     {by(policy.Mapping{Field: "other", Values: map[core.Class][]string{core.ClassMoney: {"wipe"}}}), true},
		"another default":   {by(policy.Mapping{Field: "do", Default: "list", Values: map[core.Class][]string{core.ClassRead: {"list"}, core.ClassMoney: {"wipe"}}}), true},
		"a rule less":       {policy.Tool{Names: []string{"crm"}, NoAlways: true}, false},
		"raise":             {policy.Tool{Names: []string{"crm"}, Raise: []policy.Raise{{When: policy.Predicate{{Field: "x", Empty: true}}, Class: core.ClassMoney}}}, false},
	} {
		l := policy.Layers{Starter: first, Operator: []policy.Table{{Tools: []policy.Tool{c.t}}}}
		if c.milder {
			require.Equal(t, []policy.Code{policy.FindingLoosens}, refused(t, l), name)
			l.Operator[0].Tools[0].Loosens = true
		}
		_, err := policy.New(l)
		require.NoError(t, err, name)
	}
}

// A later entry adds to an earlier one; an interpreter stays one, and its rules exact.
func TestLaterTablesAdd(t *testing.T) {
	t.Parallel()
	p := compiled(t, policy.Table{Tools: []policy.Tool{
		{Names: []string{"Bash"}, Class: core.ClassWrite, Loosens: true},
		{Names: []string{"Bash"}, Class: core.ClassMoney, Runtimes: []string{"prod"}},
		{Names: []string{"http"}, Label: "API calls"},
		{Names: []string{"create_event"}, Raise: []policy.Raise{{When: policy.Predicate{{Field: "calendar", Is: []string{"board"}}}, Class: core.ClassMoney}}},
	}})
	r := call("Bash", `{"command":"ls","folder":"/w"}`)
	require.Equal(t, core.ClassWrite, classOf(p, r))
	offer := policy.Evaluate(p, r, inMode(policy.ModeEverything)).AlwaysOffer
	require.Equal(t, "exactly this command in this folder", offer.Label)
	require.Equal(t, core.ClassMoney, classOf(p, call("Bash", `{"command":"rm a"}`)), "programs raise it still")
	r.Runtime = "prod"
	require.Equal(t, core.ClassMoney, classOf(p, r))
	require.Equal(t, core.ClassMoney, classOf(p, call("http", `{"method":"DELETE"}`)))
	require.Equal(t, "GET API calls to a.example", policy.Evaluate(p, call("http", `{"url":"https://a.example"}`), inputs()).AlwaysOffer.Label)
	require.Equal(t, core.ClassWrite, classOf(p, call("create_event", `{}`)))
	require.Equal(t, core.ClassMoney, classOf(p, call("create_event", `{"calendar":"board"}`)))
}

// A table may list a tool of a declared server over its profile, under the same terms.
func TestProfilesLieBelowTheTable(t *testing.T) {
	t.Parallel()
	octo := policy.Server{Name: "octo", Like: "github", Runtimes: []string{"ci"}}
	p := compiled(t, policy.Table{
		Servers: []policy.Server{octo},
		Tools:   []policy.Tool{{Names: []string{"merge_pull_request"}, Server: "octo", Runtimes: []string{"ci"}, Class: core.ClassMoney}},
	})
	require.Equal(t, core.ClassMoney, classOf(p, call("mcp__octo__merge_pull_request", `{}`)))
	require.Equal(t, core.ClassRead, classOf(p, call("mcp__octo__get_me", `{}`)))
	elsewhere := call("mcp__octo__get_me", `{}`)
	elsewhere.Runtime = "laptop"
	require.Equal(t, core.ClassSend, classOf(p, elsewhere))
	require.Contains(t, refused(t, policy.Layers{Starter: starter(t), Operator: []policy.Table{{
		Servers: []policy.Server{octo},
		Tools:   []policy.Tool{{Names: []string{"merge_pull_request"}, Server: "octo", Runtimes: []string{"ci"}, Class: core.ClassRead}},
	}}}), policy.FindingLoosens)
}

// The digest tells tables apart, and nothing else does.
func TestDigest(t *testing.T) {
	t.Parallel()
	one := compiled(t, policy.Table{})
	require.True(t, core.ValidHash(one.Digest()))
	require.Equal(t, one.Digest(), compiled(t, policy.Table{}).Digest())
	require.NotEqual(t, one.Digest(), compiled(t, policy.Table{DefaultMode: policy.ModeMoney}).Digest())
	require.Empty(t, (*policy.Policy)(nil).Digest())
	require.Zero(t, (*policy.Policy)(nil).StickyWindow())
}
