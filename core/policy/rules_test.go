package policy_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/policy"
)

// R70, R71, R72, R76: what is offered, and that an accepted offer covers exactly what
// its label says.
func TestOffersR70(t *testing.T) {
	t.Parallel()
	p := compiled(t, policy.Table{Servers: []policy.Server{{Name: "octo", Like: "github"}, {Name: "web", Like: "fetch"}}})
	everything := inMode(policy.ModeEverything)
	for _, c := range []struct {
		name    string
		r       policy.Request
		want    core.AlwaysOffer
		same    []policy.Request // What the rule covers too.
		another []policy.Request // What it does not.
	}{
		{
			"one recipient", operation("mail", "send", `{"to":"Ann <Ann@Example.com>","body":"x"}`),
			core.AlwaysOffer{Label: "send mail to ann@example.com", Scope: "recipient", Value: "ann@example.com", Tool: "mail", Operation: "send"},
			[]policy.Request{operation("mail", "send", `{"to":["ann@example.com"],"cc":[]}`), operation("mail", "SEND", `{"cc":"ANN@example.com."}`)},
			[]policy.Request{
				operation("mail", "send", `{"to":"ann+x@example.com"}`), operation("mail", "send", `{"to":"ann@example.com","bcc":"eve@example.com"}`),
				operation("mail", "reply", `{"to":"ann@example.com"}`), operation("mail", "delete", `{"to":"ann@example.com"}`),
				operation("mail", "send", `{}`), operation("mail", "send", `{"to":"ann@example.com","To":"eve@example.com"}`),
				operation("Mail", "send", `{"to":"ann@example.com"}`), operation("mail", "send", `{"to":"ann@example.com, eve@example.com"}`),
			},
		},
		{
			"one channel", operation("slack", "post", `{"channel":"#ops","text":"x"}`),
			core.AlwaysOffer{Label: "post messages to #ops", Scope: "recipient", Value: "#ops", Tool: "slack", Operation: "post"},
			[]policy.Request{operation("slack", "post", `{"channel":"#ops","text":"y"}`)},
			[]policy.Request{operation("slack", "post", `{"channel":"#Ops"}`), operation("slack", "post", `{"channel":"#ops","user":"U1"}`)},
		},
		{
			"one host and method", call("http", `{"url":"https://API.example.com:443/a?b=1"}`), // R71
			core.AlwaysOffer{Label: "GET requests to api.example.com", Scope: "host", Value: "api.example.com", Tool: "http", Operation: "GET"},
			[]policy.Request{call("http", `{"method":"get","url":"https://api.example.com/other"}`)},
			[]policy.Request{
				call("http", `{"method":"POST","url":"https://api.example.com/a"}`), call("http", `{"method":"DELETE","url":"https://api.example.com/a"}`),
				call("http", `{"url":"https://api.example.com:8443/a"}`), call("http", `{"url":"https://api.example.com.evil.example/a"}`),
				call("http", `{"url":"https://api.example.com@evil.example/"}`), call("http", `{"method":["GET","POST"],"url":"https://api.example.com/a"}`),
				call("http", `{"url":["https://api.example.com/a","https://evil.example"]}`),
			},
		},
		{
			"a fetched page", call("WebFetch", `{"url":"http://example.com/x","prompt":"y"}`),
			core.AlwaysOffer{Label: "requests to example.com", Scope: "host", Value: "example.com", Tool: "WebFetch"},
			[]policy.Request{call("WebFetch", `{"url":"https://example.com"}`)},
			[]policy.Request{call("webfetch", `{"url":"https://example.com"}`), call("WebFetch", `{}`)},
		},
		{
			"an operation that reaches nobody", operation("mail", "archive", `{"id":1}`),
			core.AlwaysOffer{Label: "every archive of mail", Scope: "operation", Value: "archive", Tool: "mail", Operation: "archive"},
			[]policy.Request{operation("mail", "archive", `{"id":2}`)},
			[]policy.Request{operation("mail", "draft", `{}`), operation("mail", "move", `{}`)},
		},
		{
			"a whole tool", call("Edit", `{"file_path":"a"}`),
			core.AlwaysOffer{Label: "every use of Edit", Scope: "tool", Tool: "Edit"},
			[]policy.Request{call("Edit", `{"file_path":"b"}`), operation("Edit", "whatever", `{}`)},
			[]policy.Request{call("Write", `{}`), call("edit", `{}`)},
		},
		{
			"a server's tool", call("mcp__octo__create_issue", `{"title":"x"}`),
			core.AlwaysOffer{Label: "every use of octo create_issue", Scope: "tool", Tool: "mcp__octo__create_issue"},
			[]policy.Request{call("mcp__octo__create_issue", `{"title":"y"}`)},
			[]policy.Request{call("mcp__octo__merge_pull_request", `{}`), call("mcp__github__create_issue", `{}`)},
		},
	} {
		v := policy.Evaluate(p, c.r, everything)
		require.Equal(t, policy.Ask, v.Answer, c.name)
		require.Empty(t, cmp.Diff(&c.want, v.AlwaysOffer), c.name)
		require.Contains(t, v.Offered(), core.DecisionAllowAlways, c.name)
		in := under(t, ruleOf(t, c.r, v))
		in.Mode = policy.ModeEverything
		for _, same := range append(c.same, c.r) {
			require.Equal(t, "rule.r1", policy.Evaluate(p, same, in).PolicyID, "%s: %s", c.name, same.Arguments)
		}
		for _, other := range c.another {
			require.NotEqual(t, policy.Auto, policy.Evaluate(p, other, in).Answer, "%s: %s %s", c.name, other.Operation, other.Arguments)
		}
		elsewhere := c.r
		elsewhere.Agent = "other" // R70: of one agent, in one runtime.
		require.Equal(t, policy.Ask, policy.Evaluate(p, elsewhere, in).Answer, c.name)
		elsewhere = c.r
		elsewhere.Runtime = "laptop"
		require.Equal(t, policy.Ask, policy.Evaluate(p, elsewhere, in).Answer, c.name)
	}
}

// R72: no offer where the card could not name all that it would cover, where no turn
// waits, or for money.
func TestNoOfferR72(t *testing.T) {
	t.Parallel()
	p := compiled(t, policy.Table{})
	draft := operation("mail", "send", `{"to":"ann@example.com"}`)
	draft.Continuation = core.ContinuationDraft
	for name, r := range map[string]policy.Request{
		"money":                    call("create_refund", `{}`),
		"a draft":                  draft,
		"two recipients":           operation("mail", "send", `{"to":["ann@example.com","bob@example.com"]}`),
		"nobody named":             operation("mail", "reply", `{"id":7}`),
		"a recipient in disguise":  operation("mail", "send", `{"to":"ann%evil.example@example.com"}`),
		"a host in disguise":       call("http", `{"url":"http://0x7f.1/"}`),
		"no host":                  call("WebFetch", `{"prompt":"look at https://example.com"}`),
		"two methods":              call("http", `{"method":["GET","POST"],"url":"https://example.com"}`),
		"an unlisted method":       call("http", `{"method":"BREW","url":"https://example.com"}`),
		"an unlisted tool":         call("never_heard_of", `{}`),
		"any click":                call("computer", `{"action":"click"}`),
		"a command without folder": call("Bash", `{"command":"make"}`),
	} {
		v := policy.Evaluate(p, r, inputs())
		require.Equal(t, policy.Ask, v.Answer, name)
		require.Nil(t, v.AlwaysOffer, name)
		require.Equal(t, []core.Decision{core.DecisionAllowOnce, core.DecisionDeny}, v.Offered(), name)
		require.NotEmpty(t, policy.Explain(p, r, inputs()).NoOffer, name)
	}
}

// R70, R77: a rule about a shell or an interpreter covers one exact command in one
// folder. What only comments may differ; anything else may not.
func TestExactCommandsR77(t *testing.T) {
	t.Parallel()
	p := compiled(t, policy.Table{})
	exec := func(tool, arguments string) policy.Request {
		r := call(tool, arguments)
		r.Kind = core.KindExec
		return r
	}
	for _, c := range []struct {
		r       policy.Request
		same    []policy.Request
		another []policy.Request
	}{
		{
			call("Bash", `{"command":"make test","folder":"/w","description":"run tests"}`),
			[]policy.Request{call("Bash", `{ "folder":"/w", "description":"again", "timeout":5, "command":"make test" }`)},
			[]policy.Request{
				call("Bash", `{"command":"make test && curl evil.example","folder":"/w"}`), call("Bash", `{"command":"make test","folder":"/x"}`),
				call("Bash", `{"command":"make test"}`), call("Bash", `{"command":"make test","folder":"/w","env":{"A":"b"}}`),
				call("Bash", `{"command":"make test","command":"make test","folder":"/w"}`), call("Bash", `{"command":"make test","folder":"/w","cwd":"/w"}`),
				call("Bash", `{"command":"make test","folder":["/w","/x"]}`), call("Bash", `{"command":"make test","folder":"."}`), call("shell", `{"command":"make test","folder":"/w"}`),
			},
		},
		{
			exec("run", `{"argv":["make","test"],"folder":"/w","executable":"/usr/bin/make"}`),
			[]policy.Request{exec("run", `{"executable":"/usr/bin/make","folder":"/w","argv":["make" , "test"]}`)},
			[]policy.Request{
				exec("run", `{"argv":["make test"],"folder":"/w","executable":"/usr/bin/make"}`), exec("run", `{"argv":["make","test","x"],"folder":"/w","executable":"/usr/bin/make"}`),
				exec("run", `{"argv":["make","test"],"folder":"/w","executable":"/tmp/make"}`),
			},
		},
		{
			exec("own-tool", `{"argv":["ls"],"cwd":"/w"}`), nil,
			[]policy.Request{exec("own-tool", `{"argv":["ls"],"cwd":"/"}`), exec("own-tool", `{"argv":["ls"]}`)},
		},
	} {
		v := policy.Evaluate(p, c.r, inputs())
		require.NotNil(t, v.AlwaysOffer, string(c.r.Arguments))
		require.Equal(t, "exactly this command in this folder", v.AlwaysOffer.Label)
		require.True(t, core.ValidHash(v.AlwaysOffer.Value))
		in := under(t, ruleOf(t, c.r, v))
		for _, r := range append(c.same, c.r) {
			require.Equal(t, "rule.r1", policy.Evaluate(p, r, in).PolicyID, string(r.Arguments))
		}
		for _, r := range c.another {
			require.Equal(t, policy.Ask, policy.Evaluate(p, r, in).Answer, string(r.Arguments))
		}
	}
	for _, name := range []string{"own tool", "ru\u200bn", "läuft", strings.Repeat("x", 65), ""} {
		v := policy.Evaluate(p, exec(name, `{"argv":["ls"],"cwd":"/w"}`), inputs())
		require.Nil(t, v.AlwaysOffer, "a rule keeps no text of the caller's: %q", name)
	}
	wide := under(t,
		policy.Rule{ID: "w2", Runtime: "ci", Agent: "dev", Tool: "Bash", Scope: policy.ScopeTool, Class: core.ClassMoney},
		policy.Rule{ID: "w3", Runtime: "ci", Agent: "dev", Tool: "Bash", Operation: "ls", Value: "ls", Scope: policy.ScopeOperation, Class: core.ClassSend},
	)
	for _, command := range []string{"ls", "rm -rf /"} {
		r := operation("Bash", "ls", fmt.Sprintf(`{"command":%q,"folder":"/w"}`, command))
		require.Equal(t, policy.Ask, policy.Evaluate(p, r, wide).Answer, "no wider rule counts for a shell, wherever it came from")
	}
}

// R73, R87, K14: money passes by its switch alone, which holds for the whole tool.
func TestMoneySwitchR73(t *testing.T) {
	t.Parallel()
	p := compiled(t, policy.Table{})
	r := call("create_refund", `{"amount":1}`)
	own := policy.Rule{ID: "m1", Runtime: "ci", Agent: "dev", Tool: "create_refund", Scope: policy.ScopeTool, Class: core.ClassMoney}
	v := policy.Evaluate(p, r, under(t, own))
	require.Equal(t, policy.Auto, v.Answer)
	require.Equal(t, "rule.m1", v.PolicyID)
	own.Class = core.ClassSend
	require.Equal(t, policy.Ask, policy.Evaluate(p, r, under(t, own)).Answer, "a rule for less covers no money")
	own.Class, own.Tool = core.ClassMoney, "mail"
	for _, name := range []string{"send", "delete"} {
		require.Equal(t, policy.Auto, policy.Evaluate(p, operation("mail", name, `{"to":"a@example.com"}`), under(t, own)).Answer, name)
	}
	for _, narrow := range []policy.Scope{policy.ScopeRecipient, policy.ScopeHost, policy.ScopeOperation} {
		bad := own
		bad.Scope, bad.Operation, bad.Value = narrow, "delete", "delete"
		require.ErrorIs(t, bad.Check(), core.ErrInvalid, "a money switch is for a tool, not for a %s", narrow)
	}
}

// R70: a rule that was made for a call that reached nobody does not cover one that does.
func TestRulesKeepTheirClass(t *testing.T) {
	t.Parallel()
	p := compiled(t, policy.Table{})
	in := inMode(policy.ModeEverything)
	quiet := call("create_event", `{"title":"focus"}`)
	v := policy.Evaluate(p, quiet, in)
	require.Equal(t, core.ClassWrite, v.Class)
	rule := ruleOf(t, quiet, v)
	in = under(t, rule)
	in.Mode = policy.ModeEverything
	require.Equal(t, policy.Auto, policy.Evaluate(p, quiet, in).Answer)
	require.Equal(t, policy.Ask, policy.Evaluate(p, call("create_event", `{"title":"x","attendees":["eve@example.com"]}`), in).Answer)
}

// R75: an expired or used-up rule covers nothing; the moment of expiry is outside.
func TestSpentRulesR75(t *testing.T) {
	t.Parallel()
	p := compiled(t, policy.Table{})
	r := call("Edit", `{}`)
	rule := policy.Rule{ID: "r1", Runtime: "ci", Agent: "dev", Tool: "Edit", Scope: policy.ScopeTool, Class: core.ClassWrite}
	for _, c := range []struct {
		expires core.Millis
		limited bool
		uses    int64
		want    policy.Answer
	}{
		{0, false, 0, policy.Auto}, {now + 1, false, 0, policy.Auto}, {now, false, 0, policy.Ask}, {now - 1, false, 0, policy.Ask},
		{0, true, 1, policy.Auto}, {0, true, 0, policy.Ask},
	} {
		rule.ExpiresAt, rule.Limited, rule.UsesLeft = c.expires, c.limited, c.uses
		in := under(t, rule)
		in.Mode = policy.ModeEverything
		require.Equal(t, c.want, policy.Evaluate(p, r, in).Answer, "%+v", c)
	}
	// A spent rule does not stand in the way of a good one that covers the same.
	rule.Limited = false
	spent := rule
	spent.ID, spent.ExpiresAt = "r0", now
	index, findings := policy.NewRules([]policy.Rule{rule, spent})
	require.Len(t, findings, 1)
	require.Equal(t, policy.FindingRuleDuplicate, findings[0].Code)
	require.Equal(t, 2, index.Len())
	in := inMode(policy.ModeEverything)
	in.Rules = index
	require.Equal(t, "rule.r1", policy.Evaluate(p, r, in).PolicyID)
}

// R74: a rule that says two things at once is refused, and left out of the index.
func TestContradictoryRulesR74(t *testing.T) {
	t.Parallel()
	good := policy.Rule{ID: "r1", Runtime: "ci", Tool: "mail", Operation: "send", Scope: policy.ScopeRecipient, Value: "a@example.com", Class: core.ClassSend}
	require.NoError(t, good.Check())
	for name, spoil := range map[string]func(*policy.Rule){
		"no tool":              func(r *policy.Rule) { r.Tool = "" },
		"unknown scope":        func(r *policy.Rule) { r.Scope = "session" },
		"unknown class":        func(r *policy.Rule) { r.Class = "cheap" },
		"about reading":        func(r *policy.Rule) { r.Class = core.ClassRead },
		"money with scope":     func(r *policy.Rule) { r.Class = core.ClassMoney },
		"no value":             func(r *policy.Rule) { r.Value = "" },
		"tool with value":      func(r *policy.Rule) { r.Scope = policy.ScopeTool },
		"operation with other": func(r *policy.Rule) { r.Scope = policy.ScopeOperation },
		"negative uses":        func(r *policy.Rule) { r.Limited, r.UsesLeft = true, -1 },
	} {
		r := good
		spoil(&r)
		err := r.Check()
		require.ErrorIs(t, err, core.ErrInvalid, name)
		require.NotContains(t, err.Error(), "example.com", name)
		index, findings := policy.NewRules([]policy.Rule{r, good})
		require.Len(t, findings, 1, name)
		require.Equal(t, 1, index.Len(), name)
	}
}

// K7, R79: a rule is made from what the card offered, and from nothing else.
func TestRuleOfOfferK7(t *testing.T) {
	t.Parallel()
	a := core.Approval{
		Runtime: "ci", Agent: "dev", Class: core.ClassSend,
		Offered:     []core.Decision{core.DecisionAllowOnce, core.DecisionAllowAlways, core.DecisionDeny},
		AlwaysOffer: &core.AlwaysOffer{Label: "x", Scope: "host", Value: "example.com", Tool: "http", Operation: "GET"},
	}
	got, err := policy.RuleOf(&a)
	require.NoError(t, err)
	require.Equal(t, policy.Rule{
		Runtime: "ci", Agent: "dev", Tool: "http", Operation: "GET", Scope: policy.ScopeHost, Value: "example.com", Class: core.ClassSend,
	}, got)
	for name, spoil := range map[string]func(*core.Approval){
		"no offer":     func(a *core.Approval) { a.AlwaysOffer = nil },
		"money":        func(a *core.Approval) { a.Class = core.ClassMoney },
		"not offered":  func(a *core.Approval) { a.Offered = []core.Decision{core.DecisionAllowOnce, core.DecisionDeny} },
		"damaged":      func(a *core.Approval) { a.AlwaysOffer = &core.AlwaysOffer{Scope: "host", Tool: "http"} },
		"older record": func(a *core.Approval) { a.AlwaysOffer = &core.AlwaysOffer{Scope: "host", Value: "example.com"} },
	} {
		bad := a
		spoil(&bad)
		_, err := policy.RuleOf(&bad)
		require.Error(t, err, name)
	}
}

// R72: labels are made of words from the tables and of normalised values.
func TestLabelsHoldNoCallersText(t *testing.T) {
	t.Parallel()
	p := compiled(t, policy.Table{})
	long := strings.Repeat("a", 60) + "@" + strings.Repeat("b", 60) + ".example"
	require.Nil(t, policy.Evaluate(p, operation("mail", "send", `{"to":"`+long+`"}`), inputs()).AlwaysOffer, "too long to be named")
	v := policy.Evaluate(p, operation("mail", "Send", `{"to":"\"Press Allow\" <eve@example.com>"}`), inputs())
	require.Nil(t, v.AlwaysOffer)
	v = policy.Evaluate(p, operation("mail", "Send", `{"to":"Press Allow <eve@example.com>"}`), inputs())
	require.Equal(t, "send mail to eve@example.com", v.AlwaysOffer.Label)
}
