package policy_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/policy"
)

var (
	names      = []string{"look", "note", "post", "pay", "crm", "run", "deleteAll", "request_approval", "POST", "po\u200bst"}
	serverOnes = []string{"mcp__srv__list", "mcp__srv__wipe", "mcp__home__lamp", "mcp__other__x", "mcp__srv__List", "mcp_srv_list", "MCP__srv__list", "mcp__a__b__c", "srv.list"}
	words      = []string{"list", "send", "wipe", "LIST", "purge_all", ""}
	people     = []string{"ann@example.com", "Bob <bob@example.com>", "eve@evil.example, ann@example.com", "x", ""}
	hosts      = []string{"https://a.example/x", "http://b.example", "ftp://c.example", "nonsense", ""}
	ladder     = []core.Class{core.ClassRead, core.ClassWrite, core.ClassSend, core.ClassMoney}
	allModes   = []policy.Mode{"", policy.ModeOutside, policy.ModeEverything, policy.ModeMoney}
	runtimes   = []string{"ci", "prod"}
)

func from[T any](t *rapid.T, label string, in []T) T { return rapid.SampledFrom(in).Draw(t, label) }

// someTool draws what a table might say of a tool.
func someTool(t *rapid.T, name, server string) policy.Tool {
	tool := policy.Tool{Names: []string{name}, Server: server, Loosens: true}
	if rapid.Bool().Draw(t, "mapped") {
		tool.By = &policy.Mapping{
			Field: from(t, "field", []string{"do", policy.OperationField}), IgnoreCase: rapid.Bool().Draw(t, "ignore case"),
			Default: from(t, "default", []string{"", "list"}),
			Values: map[core.Class][]string{
				from(t, "class of list", []core.Class{core.ClassRead, core.ClassWrite}): {"list"},
				core.ClassSend: {"send"}, core.ClassMoney: {"wipe"},
			},
		}
	} else {
		tool.Class = from(t, "class", ladder)
	}
	if rapid.Bool().Draw(t, "quiet") {
		tool.ReachesNoOne = []policy.Predicate{{{Field: "to", Empty: true}}}
	}
	if rapid.Bool().Draw(t, "raise") {
		tool.Raise = []policy.Raise{{When: policy.Predicate{{Field: "net", IsNot: []string{"false"}}}, Class: from(t, "raised", ladder)}}
	}
	switch rapid.IntRange(0, 4).Draw(t, "always") {
	case 0:
		tool.NoAlways = true
	case 1:
		tool.Interpreter = &policy.Interpreter{Text: []string{"command"}, Folder: []string{"folder"}, Ignore: []string{"description"}}
	case 2:
		tool.Always = []policy.AlwaysScope{{Scope: policy.ScopeRecipient, Fields: []string{"to", "cc"}}, {Scope: policy.ScopeOperation}}
	case 3:
		tool.Always = []policy.AlwaysScope{{Scope: policy.ScopeHost, Fields: []string{"url"}}, {Scope: policy.ScopeTool}}
	}
	return tool
}

// someTable draws an operator's table.
func someTable(t *rapid.T) policy.Table {
	table := policy.Table{
		DefaultMode: from(t, "default mode", allModes),
		AlwaysAsk:   []string{"request_approval"}, MoneyWords: []string{"delete", "purge", "wipe"},
		Programs: []policy.Program{{Names: []string{"rm"}, Class: core.ClassMoney}},
		Servers:  []policy.Server{{Name: "srv", Exempt: rapid.Bool().Draw(t, "srv exempt")}, {Name: "home", Exempt: rapid.Bool().Draw(t, "home exempt"), Require: []string{"door"}}},
		AutoPolicies: []policy.AutoPolicy{{
			ID: "sandbox.test.v1", Tools: []string{"note", "post", "pay", "run", "mcp__srv__list"}, Needs: map[policy.Fact][]string{policy.FactSandbox: nil},
		}},
	}
	for _, n := range []string{"look", "note", "post", "pay", "crm", "run"} {
		if rapid.Bool().Draw(t, "lists "+n) {
			table.Tools = append(table.Tools, someTool(t, n, ""))
		}
	}
	for _, n := range []string{"list", "wipe"} {
		if rapid.Bool().Draw(t, "lists srv "+n) {
			table.Tools = append(table.Tools, someTool(t, n, "srv"))
		}
	}
	return table
}

// someArguments draws arguments, now and then hostile ones.
func someArguments(t *rapid.T) []byte {
	if rapid.IntRange(0, 9).Draw(t, "hostile") == 0 {
		return []byte(from(t, "hostile arguments", []string{
			"", "{", "null", "[]", `"x"`, "7", `{"do":{"do":{}}}`, `{"do":"list","do":"wipe"}`, `{"do":"list","DO":"wipe"}`, `{"to":[[[[[[1]]]]]]}`,
			"{\"do\":\"\xff\"}", strings.Repeat("[", 20_000), strings.Repeat("[", 500) + strings.Repeat("]", 500), `{"do":"\ud800"}`,
		}))
	}
	members := map[string]any{}
	add := func(name string, value any) {
		if rapid.Bool().Draw(t, "has "+name) {
			members[name] = value
		}
	}
	add("do", from(t, "do", words))
	add("to", from(t, "to", people))
	add("cc", []string{from(t, "cc", people)})
	add("url", from(t, "url", hosts))
	add("net", rapid.Bool().Draw(t, "net"))
	add("command", from(t, "command", []string{"ls", "rm -rf /", "make"}))
	add("folder", from(t, "folder", []string{"/w", ""}))
	b, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func someRequest(t *rapid.T) policy.Request {
	return policy.Request{
		Runtime: from(t, "runtime", runtimes), Agent: from(t, "agent", []string{"", "dev"}),
		Kind: from(t, "kind", []core.Kind{core.KindExec, core.KindPlugin}),
		Tool: from(t, "tool", slices.Concat(names, serverOnes)), Operation: from(t, "operation", words),
		Arguments:    someArguments(t),
		Continuation: from(t, "continuation", []core.Continuation{core.ContinuationLive, core.ContinuationDurable, core.ContinuationDraft}),
	}
}

// someRules draws rules that fit the request more often than chance would.
func someRules(t *rapid.T, r *policy.Request, switches bool) []policy.Rule {
	var out []policy.Rule
	for i := range rapid.IntRange(0, 6).Draw(t, "rules") {
		rule := policy.Rule{
			ID: string(rune('a' + i)), Runtime: r.Runtime, Agent: r.Agent, Tool: r.Tool,
			Class: from(t, "rule class", []core.Class{core.ClassWrite, core.ClassSend}), Scope: from(t, "scope", []policy.Scope{policy.ScopeTool, policy.ScopeOperation, policy.ScopeRecipient, policy.ScopeHost}),
		}
		if rule.Scope != policy.ScopeTool {
			rule.Operation = from(t, "rule operation", words)
			rule.Value = from(t, "value", []string{"ann@example.com", "a.example", rule.Operation})
			if rule.Scope == policy.ScopeOperation {
				rule.Value = rule.Operation
			}
		} else if switches && rapid.Bool().Draw(t, "money") {
			rule.Class = core.ClassMoney
		}
		if rule.Check() == nil {
			out = append(out, rule)
		}
	}
	return out
}

func someInputs(t *rapid.T, r *policy.Request, switches bool) policy.Inputs {
	in := policy.Inputs{Now: now, Generation: 3, Mode: from(t, "mode", allModes)}
	if rapid.Bool().Draw(t, "sandbox") {
		in.Facts = policy.Facts{policy.FactSandbox: "docker", policy.FactNetwork: "on"}
	}
	in.Rules, _ = policy.NewRules(someRules(t, r, switches))
	return in
}

// somePolicy draws tables that hold together.
func somePolicy(t *rapid.T) *policy.Policy {
	p, err := policy.New(policy.Layers{Operator: []policy.Table{someTable(t)}})
	if err != nil {
		t.Skip("contradictory tables")
	}
	return p
}

// R73, K14: no path from money to automatic without a money switch.
func TestPropertyMoneyNeedsItsSwitch(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p, r := somePolicy(t), someRequest(t)
		in := someInputs(t, &r, rapid.Bool().Draw(t, "switches"))
		v := policy.Evaluate(p, r, in)
		if v.Class != core.ClassMoney {
			return
		}
		if v.AlwaysOffer != nil {
			t.Fatalf("a money card offers a rule")
		}
		if v.Answer == policy.Allow {
			t.Fatalf("money ran as reading")
		}
		if v.Answer != policy.Auto {
			return
		}
		if !strings.HasPrefix(v.PolicyID, "rule.") || v.PolicyID != "rule."+v.RuleID {
			t.Fatalf("money ran under %s", v.PolicyID)
		}
		in.Rules, _ = policy.NewRules([]policy.Rule{ // The same one, but for money.
			{ID: v.RuleID, Runtime: r.Runtime, Agent: r.Agent, Tool: r.Tool, Scope: policy.ScopeTool, Class: core.ClassSend},
		})
		if policy.Evaluate(p, r, in).Answer == policy.Auto {
			t.Fatalf("money ran without its switch")
		}
	})
}

// K12: a tool of a tool server that no table lists asks, in every mode, under every
// rule and fact, unless its server is exempt.
func TestPropertyUnlistedMCPAsks(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		table, r := someTable(t), someRequest(t)
		for i := range table.Servers {
			table.Servers[i].Exempt = false
		}
		p, err := policy.New(policy.Layers{Operator: []policy.Table{table}})
		if err != nil {
			t.Skip("contradictory tables")
		}
		r.Tool = from(t, "server's tool", serverOnes[:8])
		e := policy.Explain(p, r, someInputs(t, &r, true))
		if !e.MCP {
			t.Fatalf("not seen as a server's tool: %s", r.Tool)
		}
		if !e.Listed && (e.Answer != policy.Ask || e.AlwaysOffer != nil) {
			t.Fatalf("ran: %+v", e)
		}
	})
}

// R59: whatever cannot be read asks.
func TestPropertyUnreadableAsks(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p, r := somePolicy(t), someRequest(t)
		in := someInputs(t, &r, true)
		switch rapid.IntRange(0, 3).Draw(t, "what") {
		case 0:
			p = nil
		case 1:
			in.Unreadable = "rules"
		case 2:
			in.Mode = "no such mode"
		case 3:
			r.Arguments = append(slices.Clone(r.Arguments), '}')
			if json.Valid(r.Arguments) {
				t.Skip("readable all the same")
			}
		}
		if v := policy.Evaluate(p, r, in); v.Answer != policy.Ask || v.AlwaysOffer != nil || v.PolicyID != "" {
			t.Fatalf("did not ask: %+v", v)
		}
	})
}

// R60: what a caller says about policy changes nothing.
func TestPropertyCallersFieldsChangeNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p, r := somePolicy(t), someRequest(t)
		var members map[string]any
		if json.Unmarshal(r.Arguments, &members) != nil || members == nil {
			t.Skip("no object")
		}
		if plain, err := json.Marshal(members); err != nil || string(plain) != string(r.Arguments) {
			t.Skip("an object that reads in several ways")
		}
		in := someInputs(t, &r, true)
		before := policy.Evaluate(p, r, in)
		said := r
		said.Type = rapid.StringMatching(`[a-z.]{0,20}`).Draw(t, "type")
		opinions := maps.Clone(members)
		for _, name := range []string{"class", "mode", "policy", "policy_id", "approval_mode", "auto", "sandbox", "facts", "reaches_no_one", "risk", "allow", "mcp", "always"} {
			opinions[name] = from(t, name, []string{"read", "auto", "docker", "allow", "true"})
		}
		b, err := json.Marshal(opinions)
		if err != nil {
			t.Fatal(err)
		}
		said.Arguments = b
		after := policy.Evaluate(p, said, in)
		if before.AlwaysOffer != nil && after.AlwaysOffer != nil && core.ValidHash(after.AlwaysOffer.Value) {
			after.AlwaysOffer = before.AlwaysOffer // Another command, to the letter.
		}
		if diff := cmp.Diff(before, after); diff != "" {
			t.Fatalf("changed: %s", diff)
		}
	})
}

// R55: what the organisation makes ask, asks, whatever the tables, rules, facts and
// modes below it say; and no tool falls below its floor.
func TestPropertyOrganisationIsNotLoosened(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l := policy.Layers{Starter: someTable(t)}
		l.Starter.Servers, l.Starter.AutoPolicies = nil, nil
		l.Organisation = policy.Organisation{
			AlwaysAsk: []string{"crm"}, Tools: []policy.Tool{{Names: []string{"note"}, Class: from(t, "floor", ladder)}},
			Ask: []policy.Force{{Runtimes: []string{"prod"}, From: from(t, "from", []core.Class{"", core.ClassWrite, core.ClassSend, core.ClassMoney})}},
		}
		above, err := policy.New(l)
		if err != nil {
			t.Skip("contradictory tables")
		}
		l.Operator = []policy.Table{someTable(t)}
		whole, err := policy.New(l)
		if err != nil {
			t.Skip("contradictory tables")
		}
		r := someRequest(t)
		strict := policy.Explain(above, r, policy.Inputs{Now: now, Mode: policy.ModeEverything})
		got := policy.Evaluate(whole, r, someInputs(t, &r, true))
		if (strict.Steps[1].Matched || strict.Steps[4].Matched) && got.Answer != policy.Ask {
			t.Fatalf("the organisation asks, and it answered %s under %s", got.Answer, got.PolicyID)
		}
		if r.Tool == "note" && policy.Strictest(got.Class, l.Organisation.Tools[0].Class) != got.Class {
			t.Fatalf("below the floor: %s", got.Class)
		}
		if r.Runtime == "prod" && policy.Strictest(got.Class, strict.Class) != got.Class {
			t.Fatalf("milder than without the operator: %s < %s", got.Class, strict.Class)
		}
	})
}

// The same tables and the same question give the same answer, to the letter.
func TestPropertyDeterministic(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		table, r := someTable(t), someRequest(t)
		in := someInputs(t, &r, true)
		one, err := policy.New(policy.Layers{Operator: []policy.Table{table}})
		two, again := policy.New(policy.Layers{Operator: []policy.Table{table}})
		if (err == nil) != (again == nil) {
			t.Fatalf("compiled once: %v, %v", err, again)
		}
		if err != nil {
			t.Skip("contradictory tables")
		}
		if diff := cmp.Diff(policy.Explain(one, r, in), policy.Explain(two, r, in)); diff != "" {
			t.Fatalf("differs: %s", diff)
		}
		if diff := cmp.Diff(policy.Evaluate(one, r, in), policy.Evaluate(two, r, in)); diff != "" {
			t.Fatalf("differs: %s", diff)
		}
	})
}

// R72, K7: an offer that a person accepts makes the same call run, and is made only
// where a turn waits and where it is neither money nor reading.
func TestPropertyOffersHold(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p, r := somePolicy(t), someRequest(t)
		in := policy.Inputs{Now: now, Mode: policy.ModeEverything}
		v := policy.Evaluate(p, r, in)
		if v.AlwaysOffer == nil {
			return
		}
		if v.Answer != policy.Ask || r.Continuation == core.ContinuationDraft || v.Class == core.ClassMoney || v.Class == core.ClassRead {
			t.Fatalf("offered: %+v", v)
		}
		a := core.Approval{Runtime: r.Runtime, Agent: r.Agent, Class: v.Class, AlwaysOffer: v.AlwaysOffer, Offered: v.Offered()}
		rule, err := policy.RuleOf(&a)
		if err != nil {
			t.Fatal(err)
		}
		rule.ID = "made"
		in.Rules, _ = policy.NewRules([]policy.Rule{rule})
		if got := policy.Evaluate(p, r, in); got.PolicyID != "rule.made" || got.Answer != policy.Auto {
			t.Fatalf("the accepted offer does not hold: %+v", got)
		}
	})
}

// R51: a stricter mode asks wherever a milder one does.
func TestPropertyModesAreOrdered(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p, r := somePolicy(t), someRequest(t)
		in := someInputs(t, &r, true)
		asked := false
		for _, m := range []policy.Mode{policy.ModeMoney, policy.ModeOutside, policy.ModeEverything} {
			in.Mode = m
			asks := policy.Evaluate(p, r, in).Answer == policy.Ask
			if asked && !asks {
				t.Fatalf("%s does not ask", m)
			}
			asked = asks
		}
	})
}

// No input makes the evaluation panic, or answer outside of its set.
func FuzzEvaluate(f *testing.F) {
	p := compiled(f, policy.Table{Servers: []policy.Server{{Name: "octo", Like: "github", Prefixes: []string{"octo_"}}}})
	for _, c := range [][3]string{
		{"http", "", `{"method":"GET","url":"https://example.com"}`}, {"mail", "send", `{"to":["a@b.example"]}`}, {"Bash", "", `{"command":"ls","folder":"/w"}`},
		{"mcp__octo__get_me", "", `{}`}, {"octo_x", "", "[[[["}, {"", "", ""}, {"create_event", "", `{"attendees":null}`}, {"apply_patch", "", `{"input":"\ud83d"}`},
	} {
		f.Add(c[0], c[1], []byte(c[2]), true)
	}
	f.Fuzz(func(t *testing.T, tool, operation string, arguments []byte, exec bool) {
		r := policy.Request{Runtime: "ci", Agent: "dev", Kind: core.KindPlugin, Tool: tool, Operation: operation, Arguments: arguments, Continuation: core.ContinuationLive}
		if exec {
			r.Kind = core.KindExec
		}
		e := policy.Explain(p, r, inMode(policy.ModeEverything))
		v := policy.Evaluate(p, r, inMode(policy.ModeEverything))
		require.Equal(t, e.Answer, v.Answer)
		require.True(t, v.Class.Valid())
		require.Contains(t, []policy.Answer{policy.Ask, policy.Auto, policy.Allow}, v.Answer)
		if v.Answer == policy.Auto || v.Answer == policy.Allow {
			require.NotEqual(t, core.ClassMoney, v.Class)
			require.True(t, json.Valid(arguments))
		}
	})
}
