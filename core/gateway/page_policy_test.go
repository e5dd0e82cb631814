package gateway_test

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/approvals"
	"github.com/saysohq/sayso/core/policy"
	"github.com/saysohq/sayso/core/settings"
	"github.com/saysohq/sayso/presentation"
)

// The agents that a person may see: those that asked, with the mode in force (R51,
// R155); a machine's names are shown as text.
func TestPage_Agents(t *testing.T) {
	t.Parallel()
	s := newSite(t, siteOptions{base: "/gate"})
	rita := s.person("Rita", core.RoleReviewer)
	s.own(rita)
	s.ask()
	s.ask(func(q *approvals.Ask) { q.Agent = `<b>&"../x` })
	s.ask(func(q *approvals.Ask) { q.Agent = "" })

	page := s.admin.get("/agents")
	require.Equal(t, http.StatusOK, page.status)
	for _, want := range []string{
		`href="/gate/agent?name=deployer&amp;runtime=agents"`, "&lt;b&gt;&amp;&#34;../x", "Calls without an agent’s name",
		"Before anything outside (the default)",
	} {
		require.Contains(t, page.body, want)
	}
	for _, name := range []string{"deployer", `<b>&"../x`, ""} {
		require.Equal(t, "agent", s.admin.get(agentPath(name)).state(), name)
	}
	require.Contains(t, rita.get("/agents").body, "deployer")
	require.NotContains(t, rita.get("/agents").body, "&lt;b&gt;")
	for _, hidden := range []string{agentPath(`<b>&"../x`), agentPath("nobody"), "/agent", "/agent?runtime=%00&name=x", "/agent?runtime=agents&name=" + strings.Repeat("x", 300)} {
		require.Equal(t, http.StatusNotFound, rita.get(hidden).status, hidden)
	}
	require.Contains(t, s.admin.get("/").body, `href="/gate/agents"`, "the inbox leads there")

	out := s.visitor().get(agentPath("deployer"))
	require.Equal(t, http.StatusSeeOther, out.status)
	require.Equal(t, "/gate/signin?next="+url.QueryEscape("/gate"+agentPath("deployer")), out.header.Get("Location"))
}

// R52: a mode is changed by comparing with what the person saw. Whoever is second
// learns what it is now and who changed it, and has changed nothing.
func TestPage_ModeIsComparedAndSet(t *testing.T) {
	t.Parallel()
	s := newSite(t, siteOptions{base: "/gate"})
	s.ask()
	bea := s.person("Bea", core.RoleAdmin)
	mine, theirs := s.admin.get(agentPath("deployer")), bea.get(agentPath("deployer"))

	done := bea.press(theirs.press(t, "/agent/mode").with("mode", core.ModeOnlyMoney))
	require.Equal(t, http.StatusSeeOther, done.status)
	require.Equal(t, "/gate"+agentPath("deployer"), done.header.Get("Location"))

	lost := s.admin.press(mine.press(t, "/agent/mode").with("mode", core.ModeBeforeEverything))
	require.Equal(t, http.StatusConflict, lost.status)
	require.Contains(t, lost.body, "Bea changed when it asks, from the default to “Only money and deletes”")
	require.Contains(t, lost.body, `value="only-money-and-deletes" checked`)
	view, err := s.rules.Agent(t.Context(), s.callerOf(bea), "agents", "deployer")
	require.NoError(t, err)
	require.Equal(t, policy.ModeMoney, view.InForce)

	again := s.admin.press(lost.press(t, "/agent/mode").with("mode", core.ModeBeforeEverything))
	require.Equal(t, http.StatusSeeOther, again.status, "what the answer shows can be changed")
	page := s.admin.get(agentPath("deployer"))
	require.Contains(t, page.body, `value="before-everything" checked`)
	require.Contains(t, page.body, "You changed when it asks")
	require.Contains(t, page.body, "Bea changed when it asks")

	require.Equal(t, http.StatusUnprocessableEntity, s.admin.press(page.press(t, "/agent/mode").with("mode", "never")).status)
	back := s.admin.press(page.press(t, "/agent/mode").with("mode", settings.ModeDefault))
	require.Equal(t, http.StatusSeeOther, back.status)
	require.Contains(t, s.admin.get(agentPath("deployer")).body, `value="default" checked`)
}

// Forms hold for one session, one purpose, one subject and one revision; another site
// gets nothing done; a viewer has no forms, and theirs would not be taken.
func TestPage_PolicyFormsAreBound(t *testing.T) {
	t.Parallel()
	s := newSite(t, siteOptions{})
	s.ask()
	s.ask(func(q *approvals.Ask) { q.Agent = "other" })
	vic := s.person("Vic", core.RoleViewer)
	s.own(vic)
	bea := s.person("Bea", core.RoleAdmin)
	mode := s.admin.get(agentPath("deployer")).press(t, "/agent/mode").with("mode", core.ModeOnlyMoney)

	tampered := mode.with("revision", "7")
	elsewhere := mode
	elsewhere.action = "/agent/mode?" + strings.TrimPrefix(agentPath("other"), "/agent?")
	otherUse := press{action: strings.Replace(mode.action, "/mode", "/money", 1), fields: url.Values{"token": mode.fields["token"], "tool": {"x"}, "sure": {"1"}}}
	for name, p := range map[string]press{"revision": tampered, "agent": elsewhere, "purpose": otherUse, "no token": mode.with("token", "")} {
		require.Equal(t, http.StatusForbidden, s.admin.press(p).status, name)
	}
	require.Equal(t, http.StatusBadRequest, s.admin.press(mode.with("revision", "x")).status)
	require.Equal(t, http.StatusForbidden, bea.press(mode).status, "another's session")
	require.Equal(t, http.StatusForbidden, s.admin.post(mode.action, mode.fields, "Sec-Fetch-Site", "cross-site").status)
	require.Equal(t, http.StatusUnauthorized, s.visitor().press(mode).status)
	back := s.admin.get(mode.action)
	require.Equal(t, http.StatusSeeOther, back.status, "the address of a press leads to what it was about")
	require.Equal(t, agentPath("deployer"), back.header.Get("Location"))

	page := vic.get(agentPath("deployer"))
	require.Equal(t, http.StatusOK, page.status)
	require.Contains(t, page.body, "<fieldset disabled>")
	require.NotContains(t, page.body, `id="money"`)
	refused := vic.press(page.press(t, "/agent/mode").with("mode", core.ModeOnlyMoney))
	require.Equal(t, http.StatusForbidden, refused.status)
	require.Contains(t, refused.body, "Nothing was changed")

	view, err := s.rules.Agent(t.Context(), s.callerOf(bea), "agents", "deployer")
	require.NoError(t, err)
	require.True(t, view.Default)
	require.Empty(t, view.Rules)
}

// R76: allowing always says which rule it made, and the rule can be taken back there,
// in the list and on the agent's page; it ends once, and the list says by whom (R75).
func TestPage_AlwaysAllowNamesItsRule(t *testing.T) {
	t.Parallel()
	s := newSite(t, siteOptions{base: "/gate"})
	bea := s.person("Bea", core.RoleAdmin)
	a, rule := s.allowAlways(s.admin)

	page := s.admin.get(pathOf(&a))
	require.Contains(t, page.body, "From now on without asking: messages to team@example.com.")
	require.Contains(t, page.body, `href="/gate/rules#rule-`+rule.ID+`"`)
	list := bea.get("/rules")
	for _, want := range []string{"messages to team@example.com", "Made by Ann", "never used", `href="/gate` + pathOf(&a) + `"`, `id="rule-` + rule.ID + `"`, `name=books&amp;runtime=agents`} {
		require.Contains(t, list.body, want)
	}

	done := s.admin.press(page.press(t, "/remove"))
	require.Equal(t, http.StatusSeeOther, done.status)
	require.Equal(t, "/gate"+pathOf(&a), done.header.Get("Location"))
	settled := s.admin.get(pathOf(&a))
	require.Contains(t, settled.body, "does not hold any more. Taken back by Ann, 12:00 UTC.")
	require.NotContains(t, settled.body, "ow allowed without asking", "what holds no more is not claimed")
	_, offered := settled.findPress("/remove")
	require.False(t, offered)

	late := bea.press(list.press(t, "/remove"))
	require.Equal(t, http.StatusSeeOther, late.status, "it is gone, as was wished")
	require.Equal(t, "/gate/rules", late.header.Get("Location"))
	require.Contains(t, bea.get("/rules").body, "Taken back by Ann, 12:00 UTC")
	other := list.press(t, "/remove")
	other.action = "/gate/rules/unknown/remove"
	require.Equal(t, http.StatusForbidden, bea.press(other).status, "a token is for one rule")
}

// Somebody who may decide this one question without owning the agent hears of the rule,
// and no more.
func TestPage_RuleOfAnotherAgent(t *testing.T) {
	t.Parallel()
	s := newSite(t, siteOptions{})
	rita := s.person("Rita", core.RoleReviewer)
	a, rule := s.allowAlways(s.admin)
	require.Equal(t, http.StatusNotFound, rita.get(pathOf(&a)).status)
	require.NotContains(t, rita.get("/rules").body, rule.Label)
	form := s.admin.get("/rules").press(t, "/remove")
	require.Equal(t, http.StatusForbidden, rita.press(form).status)
	view, err := s.rules.Rule(t.Context(), s.callerOf(s.admin), rule.ID)
	require.NoError(t, err)
	require.True(t, view.Live)
}

// R73: money is let through on the agent's page alone, one tool at a time, after a
// second yes.
func TestPage_MoneyIsSwitchedOnInTheList(t *testing.T) {
	t.Parallel()
	s := newSite(t, siteOptions{})
	s.ask()
	page := s.admin.get(agentPath("deployer"))
	first := s.admin.press(page.press(t, "/agent/money").with("tool", "<create>_refund").with("life", "7"))
	require.Equal(t, http.StatusOK, first.status)
	require.Contains(t, first.body, "for seven days")
	require.Equal(t, http.StatusBadRequest, s.admin.press(page.press(t, "/agent/money").with("tool", "x").with("life", "8")).status)
	require.Contains(t, first.body, "Let <code>&lt;create&gt;_refund</code> spend and delete without asking anybody")
	require.Contains(t, s.admin.get("/rules").body, "Nothing. A question’s", "nothing was made yet")

	require.Equal(t, http.StatusSeeOther, s.admin.press(first.press(t, "/agent/money")).status)
	list := s.admin.get("/rules")
	require.Contains(t, list.body, "every use of &lt;create&gt;_refund, money and deletes included")
	require.Contains(t, list.body, "pill-money")
	require.Contains(t, list.body, `until <time datetime="2026-12-07T12:00:00Z"`)
	twice := s.admin.press(first.press(t, "/agent/money"))
	require.Equal(t, http.StatusConflict, twice.status)
	require.Contains(t, twice.body, "runs without asking already")
	require.Equal(t, http.StatusSeeOther, s.admin.press(list.press(t, "/remove")).status)

	for _, tool := range []string{"", " x", strings.Repeat("x", 201), "a\u202eb"} {
		bad := s.admin.press(page.press(t, "/agent/money").with("tool", tool).with("sure", "1"))
		require.Equal(t, http.StatusUnprocessableEntity, bad.status, "%q", tool)
		require.Contains(t, bad.body, "Nothing was changed")
	}
}

// K34: a denial for a recent decline points to it; the decline can be re-opened from
// either, once, while it still answers the same action.
func TestPage_StickyDecline(t *testing.T) {
	t.Parallel()
	s := newSite(t, siteOptions{})
	bea := s.person("Bea", core.RoleAdmin)
	first := s.ask()
	s.admin.post(pathOf(&first), s.admin.get(pathOf(&first)).form(core.DecisionDeny))
	s.judged(func(v *policy.Verdict) { v.Answer, v.StickyOf = policy.Deny, first.ID })
	second := s.ask()
	s.judged(nil)

	page := bea.get(pathOf(&second))
	require.Equal(t, "closed", page.state())
	for _, want := range []string{
		"the same action was declined shortly before", "The first time: Resolved elsewhere: denied by Ann on the page, 12:00 UTC.",
		`href="` + pathOf(&first) + `"`, "Until 12:10 UTC the same action is denied without asking anybody.",
	} {
		require.Contains(t, page.body, want)
	}
	done := bea.press(page.press(t, "/reopen"))
	require.Equal(t, http.StatusSeeOther, done.status)
	require.Equal(t, pathOf(&first), done.header.Get("Location"))
	again := s.admin.get(pathOf(&first))
	require.Contains(t, again.body, "Re-opened by Bea, 12:00 UTC: the same action asks again.")
	require.Contains(t, again.body, "Denied by you", "the answer itself stays")
	_, offered := again.findPress("/reopen")
	require.False(t, offered)

	third := s.ask()
	s.admin.post(pathOf(&third), s.admin.get(pathOf(&third)).form(core.DecisionDeny))
	s.advance(10 * time.Minute)
	_, offered = s.admin.get(pathOf(&third)).findPress("/reopen")
	require.False(t, offered, "it answers nothing any more")
}

// R67: what ran without asking is one list, newest first, with what let it run; it does
// not crowd the inbox. K15: its page says that nobody was asked.
func TestPage_RanWithoutAsking(t *testing.T) {
	t.Parallel()
	s := newSite(t, siteOptions{base: "/gate"})
	rita := s.person("Rita", core.RoleReviewer)
	asked := s.ask(func(q *approvals.Ask) { q.Title = "Asked before" })
	s.admin.post(pathOf(&asked), s.admin.get(pathOf(&asked)).form(core.DecisionDeny))
	s.judged(ran("mode.before-anything-outside.v1"))
	last := s.ask(func(q *approvals.Ask) { q.Title = "Edit the notes" })
	for range 120 {
		last = s.ask(func(q *approvals.Ask) { q.Title = "Edit the readme" })
	}
	s.judged(nil)

	page := s.admin.get(pathOf(&last))
	require.Equal(t, "ran-unasked", page.state())
	require.Contains(t, page.body, "Allowed without asking under the mode “Before anything outside”, 12:00 UTC")
	require.Contains(t, page.body, "Why this did not ask")

	list := s.admin.get("/unattended")
	require.Equal(t, 100, strings.Count(list.body, "under the mode “Before anything outside”"))
	require.NotContains(t, list.body, "Asked before")
	older := regexp.MustCompile(`href="/gate(/unattended\?[^"]*)">Older`).FindStringSubmatch(list.body)
	require.NotNil(t, older)
	rest := s.admin.get(html.UnescapeString(older[1]))
	require.Equal(t, 21, strings.Count(rest.body, "under the mode “Before anything outside”"))
	require.Contains(t, rest.body, "Edit the notes")
	require.NotContains(t, rest.body, ">Older<")
	require.Contains(t, s.admin.get("/unattended?"+strings.TrimPrefix(agentPath("books"), "/agent?")).body, "Nothing, as far back")
	unnamed := s.admin.get("/unattended?" + strings.TrimPrefix(agentPath(""), "/agent?")).body
	require.Contains(t, unnamed, "Only calls without an agent’s name")
	require.Contains(t, unnamed, "Nothing, as far back")
	require.NotContains(t, rita.get("/unattended").body, "Edit the notes")
	for _, odd := range []string{"?before=x&id=y", "?before=1", "?runtime=%00"} {
		require.Equal(t, http.StatusOK, s.admin.get("/unattended"+odd).status, odd)
	}

	inbox := s.admin.get("/")
	require.Contains(t, inbox.body, "Asked before")
	require.NotContains(t, inbox.body, "Edit the readme")
}

// The trail is for admins: it names tables, rules and modes.
func TestPage_TrailIsForAdmins(t *testing.T) {
	t.Parallel()
	s := newSite(t, siteOptions{})
	rita := s.person("Rita", core.RoleReviewer)
	s.own(rita)
	s.judged(judgedSend)
	a := s.ask()
	page := s.admin.get(pathOf(&a))
	for _, want := range []string{"Why this asks", "It reaches people or services.", "starter: shell", "What would change it: A mode that does not ask"} {
		require.Contains(t, page.body, want)
	}
	theirs := rita.get(pathOf(&a))
	require.Equal(t, "pending", theirs.state())
	require.NotContains(t, theirs.body, "Why this asks")
	require.NotContains(t, theirs.body, "starter: shell")
}

// R72, R87: a card about money offers no rule, and says why below its controls. The
// list that lets a tool through lets no command through, and is not pointed to there.
func TestPage_MoneyFooter(t *testing.T) {
	t.Parallel()
	s := newSite(t, siteOptions{})
	s.judged(func(v *policy.Verdict) {
		always(v)
		v.Class, v.AlwaysOffer = core.ClassMoney, nil
	})
	tool, command := s.ask(longPlugin(10)), s.ask()
	for why, a := range map[string]*core.Approval{presentation.MarkMoney: &tool, presentation.MarkMoneyCommand: &command} {
		page := s.admin.get(pathOf(a))
		require.Contains(t, page.body, "Money or deletes")
		require.NotContains(t, page.body, "Always allow")
		_, form, _ := strings.Cut(page.body, `<form id="decide"`)
		require.Contains(t, form, why)
		require.Equal(t, 1, strings.Count(page.body, why))
		require.Equal(t, a.Kind == core.KindPlugin, strings.Contains(form, "Open the list"))
	}
}

// R86, R108, K3: nobody knows what became of it, and the page says so until somebody
// dismisses it; asking again waits behind a confirmation, and is absent where no
// runtime would hear of it. What is done is done once, and says by whom.
func TestPage_MayHaveHappened(t *testing.T) {
	t.Parallel()
	s := newSite(t, siteOptions{base: "/gate"})
	bea := s.person("Bea", core.RoleAdmin)
	vic := s.person("Vic", core.RoleViewer)
	s.own(vic)
	a := s.doubtful()
	page := s.admin.get(pathOf(&a))
	require.Contains(t, page.body, "nobody has said how it ended")
	_, offered := page.findPress("/again")
	require.False(t, offered, "no runtime listens")
	_, offered = vic.get(pathOf(&a)).findPress("/dismiss")
	require.False(t, offered, "viewers do nothing")

	require.Contains(t, s.admin.get("/").body, "Look at these")

	s.listens("deployer")
	page = s.admin.get(pathOf(&a))
	require.Contains(t, page.body, "could then happen twice")
	require.Contains(t, page.body, `<details class="act"><summary>Ask again</summary>`)
	theirs := bea.get(pathOf(&a))
	done := s.admin.press(page.press(t, "/again"))
	require.Equal(t, http.StatusSeeOther, done.status)
	require.Equal(t, "/gate"+pathOf(&a), done.header.Get("Location"))
	require.Equal(t, http.StatusSeeOther, bea.press(theirs.press(t, "/again")).status, "the second changes nothing")
	page = bea.get(pathOf(&a))
	require.Contains(t, page.body, "Asked for again by Ann, 12:00 UTC.")
	_, offered = page.findPress("/again")
	require.False(t, offered)

	require.Equal(t, http.StatusSeeOther, bea.press(page.press(t, "/dismiss")).status)
	settled := s.admin.get(pathOf(&a))
	require.Contains(t, settled.body, "Dismissed by Bea, 12:00 UTC.")
	require.NotContains(t, settled.body, "nobody has said how it ended")
	require.NotContains(t, s.admin.get("/").body, "Look at these")
	_, offered = settled.findPress("/dismiss")
	require.False(t, offered)

	b := s.ask()
	form := press{action: "/gate" + pathOf(&b) + "/dismiss", fields: page.press(t, "/dismiss").fields}
	require.Equal(t, http.StatusForbidden, bea.press(form).status, "a token is for one approval")
}

// R139: pausing waits behind a confirmation, is compared with what the person saw, and
// the page says who paused it.
func TestPage_Pause(t *testing.T) {
	t.Parallel()
	s := newSite(t, siteOptions{base: "/gate"})
	bea := s.person("Bea", core.RoleAdmin)
	a := s.ask()
	s.admin.post(pathOf(&a), s.admin.get(pathOf(&a)).form(core.DecisionAllowOnce))
	mine, theirs := s.admin.get(agentPath("deployer")), bea.get(agentPath("deployer"))
	require.Contains(t, mine.body, "<summary>Pause</summary>")

	require.Equal(t, http.StatusSeeOther, bea.press(theirs.press(t, "/agent/pause")).status)
	require.Equal(t, http.StatusSeeOther, s.admin.press(mine.press(t, "/agent/pause")).status, "it is paused, as was wished")
	paused := s.admin.get(agentPath("deployer"))
	require.Contains(t, paused.body, "Paused by Bea, 12:00 UTC")
	require.Contains(t, s.admin.get("/agents").body, "pill-paused")
	require.Contains(t, s.admin.get(pathOf(&a)).body, "The agent is paused, by Bea, 12:00 UTC: what is allowed starts only when it goes on.")
	_, err := s.service.Claim(t.Context(), s.agent, approvals.Claim{Lookup: core.Lookup{ID: a.ID}, ActionHash: a.ActionHash, Token: strings.Repeat("t", 32)})
	require.ErrorIs(t, err, core.ErrPaused)

	resume := paused.press(t, "/agent/resume")
	require.Equal(t, http.StatusSeeOther, s.admin.press(resume).status)
	require.Contains(t, s.admin.get(agentPath("deployer")).body, "You let it go on")
	again := s.admin.get(agentPath("deployer")).press(t, "/agent/pause")
	require.Equal(t, http.StatusSeeOther, bea.press(bea.get(agentPath("deployer")).press(t, "/agent/pause")).status)
	require.Equal(t, http.StatusSeeOther, bea.press(bea.get(agentPath("deployer")).press(t, "/agent/resume")).status)
	lost := s.admin.press(again)
	require.Equal(t, http.StatusConflict, lost.status)
	require.Contains(t, lost.body, "Somebody was faster")
	s.claimed(a)
}

// R75, R76: however many rules an agent has and had, those that hold are all listed, in
// pages; the history names also those that are gone.
func TestPage_ManyRules(t *testing.T) {
	t.Parallel()
	s := newSite(t, siteOptions{})
	s.ask()
	admin := s.callerOf(s.admin)
	tool := func(i int) string { return "tool_" + strconv.Itoa(i) }
	var ids []string
	for i := range 203 {
		rule, err := s.rules.SwitchMoney(t.Context(), admin, settings.MoneySwitch{Runtime: "agents", Agent: "deployer", Tool: tool(i)})
		require.NoError(t, err)
		ids = append(ids, rule.ID)
	}
	for _, id := range ids[200:] {
		_, err := s.rules.RemoveRule(t.Context(), admin, id)
		require.NoError(t, err)
	}
	count := func(body string) int { return strings.Count(body, `<li class="rule"`) }
	page := s.admin.get(agentPath("deployer"))
	require.Equal(t, 200, count(page.body))
	require.Contains(t, page.body, "List them all")
	require.Contains(t, page.body, "You took back “every use of tool_202, money and deletes included”")

	require.Equal(t, 203, count(s.admin.get("/rules").body), "and those that ended")
	_, err := s.rules.SwitchMoney(t.Context(), admin, settings.MoneySwitch{Runtime: "agents", Agent: "other", Tool: "x"})
	require.NoError(t, err)
	list := s.admin.get("/rules")
	require.NotContains(t, list.body, "every use of tool_0,")
	older := regexp.MustCompile(`href="(/rules\?[^"]*)">Older`).FindStringSubmatch(list.body)
	require.NotNil(t, older)
	rest := s.admin.get(html.UnescapeString(older[1]))
	require.Contains(t, rest.body, "every use of tool_0,")
	require.Equal(t, 1, count(rest.body))
	one := s.admin.get("/rules?runtime=agents&name=other")
	require.Equal(t, 1, count(one.body))
	require.Contains(t, one.body, "Show all agents")
	require.Equal(t, http.StatusNotFound, s.admin.get("/rules?runtime=%00&name=x").status)
}

// R186, R215: what cannot be read is said to be so, and nothing is shown in its place;
// a press whose fate is not known is not said to have failed.
func TestPage_SettingsThatCannotBeReached(t *testing.T) {
	t.Parallel()
	s := newSite(t, siteOptions{})
	a, _ := s.allowAlways(s.admin)
	agent, rules := s.admin.get(agentPath("books")), s.admin.get("/rules")

	unknown := core.ErrOutcomeUnknown
	s.broken.writes.Store(&unknown)
	for _, p := range []press{agent.press(t, "/agent/mode").with("mode", core.ModeOnlyMoney), rules.press(t, "/remove")} {
		res := s.admin.press(p)
		require.Equal(t, http.StatusServiceUnavailable, res.status)
		require.Equal(t, "error", res.state())
		require.Contains(t, res.body, "It is not known whether what you sent was recorded")
	}
	s.broken.writes.Store(nil)

	gone := core.ErrUnavailable
	s.broken.reads.Store(&gone)
	for _, path := range []string{agentPath("books"), "/rules", pathOf(&a)} {
		res := s.admin.get(path)
		require.Equal(t, http.StatusServiceUnavailable, res.status, path)
		require.Equal(t, "error", res.state(), path)
		require.NotContains(t, res.body, "messages to team@example.com", path)
	}
	s.broken.reads.Store(nil)
	require.Equal(t, "agent", s.admin.get(agentPath("books")).state())
}
