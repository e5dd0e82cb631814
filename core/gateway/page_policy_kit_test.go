package gateway_test

import (
	"html"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/approvals"
	"github.com/saysohq/sayso/core/policy"
	"github.com/saysohq/sayso/core/settings"
)

// press is a form of one button on a page: where it posts to, and its hidden fields.
type press struct {
	action string
	fields url.Values
}

var forms = regexp.MustCompile(`(?s)<form[^>]* action="([^"]*)"[^>]*>(.*?)</form>`)

// press finds the form that posts below a path.
func (a answer) press(t *testing.T, below string) press {
	t.Helper()
	p, ok := a.findPress(below)
	require.True(t, ok, "no form posts to %s", below)
	return p
}

func (a answer) findPress(below string) (press, bool) {
	for _, m := range forms.FindAllStringSubmatch(a.body, -1) {
		action, _, _ := strings.Cut(html.UnescapeString(m[1]), "#")
		path, _, _ := strings.Cut(action, "?")
		if !strings.HasSuffix(path, below) {
			continue
		}
		p := press{action: action, fields: url.Values{}}
		for _, f := range hiddenField.FindAllStringSubmatch(m[2], -1) {
			p.fields.Set(f[1], html.UnescapeString(f[2]))
		}
		return p, true
	}
	return press{}, false
}

// with is the form with a field set.
func (p press) with(name, value string) press {
	fields := url.Values{name: {value}}
	for k, v := range p.fields {
		if k != name {
			fields[k] = v
		}
	}
	return press{action: p.action, fields: fields}
}

func (v *visitor) press(p press) answer {
	v.site.t.Helper()
	return v.post(strings.TrimPrefix(p.action, v.site.base), p.fields)
}

// ran lets what is asked run without asking, under a policy.
func ran(policyID string) func(*policy.Verdict) {
	return func(v *policy.Verdict) {
		v.Answer, v.Class, v.PolicyID = policy.Auto, core.ClassWrite, policyID
		if id, under := strings.CutPrefix(policyID, core.RulePolicy); under {
			v.RuleID = id
		}
		v.Trail = []core.TrailStep{
			{Step: "class", Matched: "starter", Verdict: "write", Why: "it changes what is the agent's own"},
			{Step: "default", Matched: policyID, Verdict: "auto", Why: "nothing asked", Change: "a stricter mode"},
		}
	}
}

// judgedSend has the trail of an ordinary question.
func judgedSend(v *policy.Verdict) {
	v.Trail = []core.TrailStep{
		{Step: "class", Matched: "starter: shell", Verdict: "send", Why: "it reaches people or services"},
		{Step: "identity", Verdict: "next", Why: "no list says that this tool always asks"},
		{Step: "read", Verdict: "next", Why: "it does more than look things up"},
		{Step: "sticky-decline", Verdict: "next", Why: "nobody has just declined this action"},
		{Step: "organisation", Verdict: "next", Why: "the organisation does not make it ask"},
		{Step: "unlisted-mcp", Verdict: "next", Why: "it is no tool of a tool server"},
		{Step: "always-allow", Verdict: "next", Why: "no rule covers it"},
		{Step: "auto-policy", Matched: "sandbox.workspace.v1: sandbox", Verdict: "next", Why: "the runtime has not attested what the policy needs"},
		{
			Step: "mode", Matched: core.ModeBeforeOutside, Verdict: "ask", Why: "the mode asks for this class",
			Change: "a mode that does not ask for this class, or the rule that the card offers",
		},
	}
}

// claimed has the runtime take the grant of an allowed approval.
func (s *site) claimed(a core.Approval) {
	s.t.Helper()
	_, err := s.service.Claim(s.t.Context(), s.agent, approvals.Claim{
		Lookup: core.Lookup{ID: a.ID}, ActionHash: a.ActionHash, Token: strings.Repeat("t", 32),
	})
	require.NoError(s.t, err)
}

// doubtful asks, has it allowed and started, and lets nobody say how it ended.
func (s *site) doubtful(change ...func(*approvals.Ask)) core.Approval {
	s.t.Helper()
	a := s.ask(change...)
	s.admin.post(pathOf(&a), s.admin.get(pathOf(&a)).form(core.DecisionAllowOnce))
	s.claimed(a)
	_, err := s.service.Report(s.t.Context(), s.agent, approvals.Report{Lookup: core.Lookup{ID: a.ID}, Outcome: core.ExecutionUnknown})
	require.NoError(s.t, err)
	return s.read(a.ID)
}

// listens has the runtime ask for an agent's updates.
func (s *site) listens(agent string) {
	s.t.Helper()
	_, err := s.service.ClaimUpdates(s.t.Context(), s.agent, approvals.ClaimUpdates{Agent: agent, Token: strings.Repeat("u", 32)})
	require.NoError(s.t, err)
}

// allowAlways answers a question with a rule, and returns it.
func (s *site) allowAlways(v *visitor, change ...func(*approvals.Ask)) (core.Approval, settings.RuleView) {
	s.t.Helper()
	s.judged(always)
	a := s.ask(append([]func(*approvals.Ask){mail}, change...)...)
	s.judged(nil)
	v.post(pathOf(&a), v.get(pathOf(&a)).form(core.DecisionAllowAlways))
	rules, err := s.rules.Rules(s.t.Context(), s.callerOf(v), core.RuleQuery{Runtime: a.Runtime, Agent: &a.Agent})
	require.NoError(s.t, err)
	require.NotEmpty(s.t, rules)
	return s.read(a.ID), rules[0]
}

// callerOf is a visitor as the services see them.
func (s *site) callerOf(v *visitor) core.Caller {
	s.t.Helper()
	u, err := url.Parse(s.url + "/")
	require.NoError(s.t, err)
	for _, c := range v.client.Jar.Cookies(u) {
		caller, err := s.people.Authenticate(s.t.Context(), c.Value)
		require.NoError(s.t, err)
		return caller
	}
	require.FailNow(s.t, "nobody is signed in")
	return core.Caller{}
}

func agentPath(name string) string {
	return "/agent?" + url.Values{"runtime": {"agents"}, "name": {name}}.Encode()
}
