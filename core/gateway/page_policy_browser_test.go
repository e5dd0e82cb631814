package gateway_test

import (
	"net/http"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/policy"
)

// What people do on the pages of agents and rules, and on settled questions.
func TestPage_PolicyInABrowser(t *testing.T) {
	t.Parallel()
	on := newBrowser(t)
	for name, test := range map[string]func(*testing.T, *browser){
		"allow always, and take it back":   alwaysAndBack,
		"a mode by keyboard":               modeByKeyboard,
		"two people change a mode at once": modeConflict,
		"take a rule back by keyboard":     ruleByKeyboard,
		"money needs a second yes":         moneyTwice,
		"declined, repeated, re-opened":    declinedAndReopened,
		"ask again behind a confirmation":  askAgainConfirmed,
		"without scripts":                  policyWithoutScripts,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, on)
		})
	}
}

// focused moves on with Tab until an expression holds of the focused element, and
// returns what it came by.
func (b *tab) focused(holds string) []string {
	b.t.Helper()
	var seen []string
	for range 40 {
		b.key(kb.Tab)
		if eval[bool](b, `((e) => `+holds+`)(document.activeElement)`) {
			return seen
		}
		seen = append(seen, eval[string](b, `document.activeElement.textContent.trim() || document.activeElement.tagName`))
	}
	require.FailNow(b.t, "never reached", "%s: %q", holds, seen)
	return nil
}

func modeOf(s *site, agent string) policy.Mode {
	s.t.Helper()
	v, err := s.rules.Agent(s.t.Context(), s.callerOf(s.admin), "agents", agent)
	require.NoError(s.t, err)
	return v.InForce
}

func liveRules(s *site) int {
	s.t.Helper()
	rules, err := s.rules.Rules(s.t.Context(), s.callerOf(s.admin), core.RuleQuery{Live: true})
	require.NoError(s.t, err)
	return len(rules)
}

// R76: one press allows and makes the rule; the page names it and takes it back.
func alwaysAndBack(t *testing.T, on *browser) {
	s := newSite(t, siteOptions{base: "/team/gate"})
	s.judged(always)
	a := s.ask(mail)
	b := s.admin.tab(on)
	b.open(pathOf(&a))
	require.Equal(t, "Always allow messages to team@example.com", eval[string](b, `document.querySelector("button.always").textContent`))
	b.click(`button.always`)
	b.untilState("decided-here")
	require.Contains(t, b.text(), "From now on without asking: messages to team@example.com.")
	require.Equal(t, 1, liveRules(s))
	require.False(t, eval[bool](b, `document.querySelector(".aside .deny").checkVisibility()`), "one press too many takes nothing back")
	b.click(`.aside summary`)
	b.click(`.aside .deny`)
	b.until(`document.body.innerText.includes("does not hold any more")`)
	require.Zero(t, liveRules(s))
	b.click(`.aside a`)
	b.untilState("rules")
	require.Contains(t, b.text(), "Taken back by Ann")
}

func modeByKeyboard(t *testing.T, on *browser) {
	s := newSite(t, siteOptions{})
	s.ask()
	b := s.admin.tab(on)
	b.open("/")
	b.focused(`e.textContent === "Agents"`)
	b.key(kb.Enter)
	b.untilState("agents")
	b.focused(`e.textContent.includes("deployer")`)
	b.key(kb.Enter)
	b.untilState("agent")
	b.focused(`e.name === "mode"`)
	b.key(kb.ArrowDown)
	b.key(kb.ArrowDown)
	require.Equal(t, "before-everything", eval[string](b, `document.activeElement.value`))
	require.Equal(t, policy.ModeOutside, modeOf(s, "deployer"), "choosing is not saving")
	b.focused(`e.type === "submit"`)
	b.key(kb.Enter)
	b.until(`document.body.innerText.includes("You changed when it asks")`)
	require.Equal(t, policy.ModeEverything, modeOf(s, "deployer"))
	require.Equal(t, "before-everything", eval[string](b, `document.querySelector("input[name=mode]:checked").value`))
}

// R52: whoever is second sees what holds now, with the words of who was first in focus.
func modeConflict(t *testing.T, on *browser) {
	s := newSite(t, siteOptions{})
	s.ask()
	bea := s.person("Bea", core.RoleAdmin)
	b := s.admin.tab(on)
	b.open(agentPath("deployer"))
	done := bea.press(bea.get(agentPath("deployer")).press(t, "/agent/mode").with("mode", core.ModeBeforeEverything))
	require.Equal(t, http.StatusSeeOther, done.status)
	b.click(`input[value="only-money-and-deletes"]`)
	b.click(`.mode button`)
	b.until(`document.activeElement === document.getElementById("notice")`)
	require.Contains(t, b.text(), "Bea changed when it asks, from the default to “Before everything”, while this page was open.")
	require.Equal(t, "before-everything", eval[string](b, `document.querySelector("input[name=mode]:checked").value`))
	require.Equal(t, policy.ModeEverything, modeOf(s, "deployer"))
}

func ruleByKeyboard(t *testing.T, on *browser) {
	s := newSite(t, siteOptions{})
	s.allowAlways(s.admin)
	b := s.admin.tab(on)
	b.open("/rules")
	b.focused(`e.tagName === "SUMMARY"`)
	b.key(kb.Enter)
	require.Equal(t, 1, liveRules(s))
	require.Empty(t, b.focused(`e.type === "submit"`), "the yes follows the question")
	b.key(kb.Enter)
	b.until(`document.body.innerText.includes("Taken back by Ann")`)
	require.Zero(t, liveRules(s))
}

// R73.
func moneyTwice(t *testing.T, on *browser) {
	s := newSite(t, siteOptions{})
	s.ask()
	b := s.admin.tab(on)
	b.open(agentPath("deployer"))
	b.write("#tool", "create_refund")
	b.key(kb.Enter)
	b.until(`document.body.innerText.includes("whatever it is told to,")`)
	require.Zero(t, liveRules(s))
	b.click(`#money .button`) // No.
	b.until(`document.getElementById("tool") !== null`)
	require.Zero(t, liveRules(s))
	b.write("#tool", "create_refund")
	b.click(`#money button`)
	b.until(`document.body.innerText.includes("whatever it is told to,")`)
	b.click(`#money button.deny`)
	b.until(`document.querySelector(".rule .pill-money") !== null`)
	require.Equal(t, 1, liveRules(s))
}

// K34.
func declinedAndReopened(t *testing.T, on *browser) {
	s := newSite(t, siteOptions{})
	first := s.ask()
	b := s.admin.tab(on)
	b.open(pathOf(&first))
	b.click(`button.deny`)
	b.untilState("decided-here")
	require.Contains(t, b.text(), "the same action is denied without asking anybody")
	s.judged(func(v *policy.Verdict) { v.Answer, v.StickyOf = policy.Deny, first.ID })
	second := s.ask()
	s.judged(nil)
	b.open(pathOf(&second))
	b.click(`.aside a`)
	b.until(`location.pathname.endsWith("` + first.ID + `")`)
	b.click(`.aside button`)
	b.until(`document.body.innerText.includes("Re-opened by")`)
	_, ended, err := s.rules.Reopened(t.Context(), first.ID)
	require.NoError(t, err)
	require.True(t, ended)
}

// K3, R86.
func askAgainConfirmed(t *testing.T, on *browser) {
	s := newSite(t, siteOptions{})
	s.listens("deployer")
	a := s.doubtful()
	b := s.admin.tab(on)
	b.open(pathOf(&a))
	b.focused(`e.tagName === "SUMMARY" && e.textContent === "Ask again"`)
	b.key(kb.Enter)
	require.Nil(t, s.read(a.ID).Aftermath)
	require.Empty(t, b.focused(`e.type === "submit"`))
	b.key(kb.Enter)
	b.until(`document.body.innerText.includes("Asked for again by you")`)
	b.click(`.aside .act button`)
	b.until(`document.body.innerText.includes("Dismissed by you")`)
	require.NotNil(t, s.read(a.ID).Aftermath.Dismissed)
}

func policyWithoutScripts(t *testing.T, on *browser) {
	s := newSite(t, siteOptions{})
	s.judged(always)
	a := s.ask(mail)
	s.judged(nil)
	b := s.admin.tab(on)
	call(b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	visible := func(selector string) { b.run(chromedp.WaitVisible(chromedp.CSS(selector))) }
	b.run(chromedp.Navigate(b.base + pathOf(&a)))
	b.click(`button.always`)
	visible(".aside summary")
	require.Equal(t, 1, liveRules(s))
	b.click(`.aside summary`)
	visible(".aside .deny")
	b.click(`.aside .deny`)
	b.run(chromedp.WaitNotPresent(chromedp.CSS(".aside summary")))
	require.Zero(t, liveRules(s))

	b.run(chromedp.Navigate(b.base + agentPath("books")))
	b.click(`input[value="only-money-and-deletes"]`)
	b.click(`.mode button`)
	visible(`input[value="only-money-and-deletes"][checked]`)
	require.Equal(t, policy.ModeMoney, modeOf(s, "books"))
	b.click(`.part .act summary`)
	visible(".part .act .deny")
	b.click(`.part .act .deny`)
	visible(".pill-paused")
}
