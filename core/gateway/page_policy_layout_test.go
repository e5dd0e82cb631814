package gateway_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/approvals"
	"github.com/saysohq/sayso/core/policy"
	"github.com/saysohq/sayso/core/settings"
)

// The states that came with classes, modes and rules, as TestPage_Layout looks at the
// others.
func TestPage_PolicyLayout(t *testing.T) {
	t.Parallel()
	layOut(t, policyScenes)
}

var policyScenes = []scene{
	{"agents-empty", func(g *gallery) { g.tab.open("/agents") }},
	{"rules-empty", func(g *gallery) { g.tab.open("/rules") }},
	{"unattended-empty", func(g *gallery) { g.tab.open("/unattended") }},
	{"pending-trail", func(g *gallery) {
		g.judged(judgedSend)
		g.show("")
		g.judged(nil)
		g.tab.click(".trail summary")
	}},
	{"pending-money-footer", func(g *gallery) {
		g.judged(money)
		g.show("", func(q *approvals.Ask) { q.Title = "Delete 1,204 customer records" })
		g.judged(nil)
	}},
	{"allowed-always", func(g *gallery) {
		g.judged(always)
		g.show("", mail)
		g.judged(nil)
		g.tab.click(`button.always`)
		g.tab.untilState("decided-here")
		g.tab.click(`.aside summary`)
	}},
	{"allowed-always-taken-back", func(g *gallery) {
		g.tab.click(`.aside details button`)
		g.tab.until(`document.body.innerText.includes("does not hold any more")`)
	}},
	{"denied-reopen", func(g *gallery) {
		g.show("")
		g.tab.click(`button.deny`)
		g.tab.untilState("decided-here")
	}},
	{"denied-sticky", func(g *gallery) {
		first := g.tab.path()
		g.judged(func(v *policy.Verdict) {
			judgedSend(v)
			v.Answer, v.StickyOf = policy.Deny, strings.TrimPrefix(first, "/approve/")
		})
		g.show("")
		g.judged(nil)
	}},
	{"denied-reopened", func(g *gallery) {
		g.tab.click(`.aside button`)
		g.tab.until(`document.body.innerText.includes("Re-opened by")`)
	}},
	{"ran-unasked", func(g *gallery) {
		g.judged(ran("mode.before-anything-outside.v1"))
		a := g.ask(mail)
		g.judged(nil)
		g.claimed(a)
		g.tab.open(pathOf(&a))
	}},
	{"ran-under-rule", func(g *gallery) {
		_, rule := g.allowAlways(g.bea)
		g.judged(ran(rule.PolicyID()))
		a := g.ask(mail)
		g.judged(nil)
		g.tab.open(pathOf(&a))
	}},
	{"inbox-doubt", func(g *gallery) {
		g.listens("deployer")
		g.doubtful()
		g.tab.open("/")
	}},
	{"may-have-happened", func(g *gallery) {
		g.tab.click(`.list.done a`)
		g.tab.untilState("decided-here")
		g.tab.click(`.aside summary`)
	}},
	{"asked-again", func(g *gallery) {
		g.tab.click(`.aside details button`)
		g.tab.until(`document.body.innerText.includes("Asked for again by you")`)
	}},
	{"dismissed", func(g *gallery) {
		g.tab.click(`.aside .act button`)
		g.tab.until(`document.body.innerText.includes("Dismissed by you")`)
	}},
	{"agents", func(g *gallery) {
		_, err := g.rules.Pause(g.t.Context(), g.callerOf(g.bea), "agents", "deployer", 0)
		require.NoError(g.t, err)
		g.ask(manyFacts)
		g.ask(rightToLeft)
		g.ask(func(q *approvals.Ask) { q.Agent = "" })
		g.ask(func(q *approvals.Ask) { q.Agent = strings.Repeat("unbroken", 12) })
		g.tab.open("/agents")
	}},
	{"agent", func(g *gallery) {
		_, err := g.rules.SwitchMoney(g.t.Context(), g.callerOf(g.bea), settings.MoneySwitch{
			Runtime: "agents", Agent: "books", Tool: "create_refund", Life: core.Millis(7 * 24 * time.Hour / time.Millisecond), Uses: 5,
		})
		require.NoError(g.t, err)
		g.tab.open(agentPath("books"))
	}},
	{"agent-paused", func(g *gallery) { g.tab.open(agentPath("deployer")) }},
	{"agent-pause-sure", func(g *gallery) {
		g.tab.open(agentPath("books"))
		g.tab.click(`.act summary`)
	}},
	{"agent-conflict", func(g *gallery) {
		_, err := g.rules.SetMode(g.t.Context(), g.callerOf(g.bea), settings.ModeChange{Runtime: "agents", Agent: "books", Mode: core.ModeOnlyMoney})
		require.NoError(g.t, err)
		g.tab.click(`input[value="before-everything"]`)
		g.tab.click(`.mode button`)
		g.tab.until(`document.getElementById("notice") !== null`)
	}},
	{"agent-money-sure", func(g *gallery) {
		g.tab.write("#tool", "wire_transfer")
		g.tab.click(`#money button`)
		g.tab.until(`document.body.innerText.includes("whatever it is told to,")`)
	}},
	{"rules", func(g *gallery) {
		g.tab.open("/rules")
		g.tab.click(".rule summary")
	}},
	{"unattended", func(g *gallery) {
		g.judged(ran("mcp.wiki.exempt"))
		for range 3 {
			g.ask(func(q *approvals.Ask) { q.Kind, q.Title = core.KindPlugin, "Update the page “Release notes”" })
		}
		g.judged(ran("sandbox.workspace.v1"))
		g.ask(unbroken)
		g.ask(rightToLeft)
		g.judged(nil)
		g.advance(11 * time.Minute)
		g.tab.open("/unattended")
	}},
}

func (b *tab) path() string {
	b.t.Helper()
	return eval[string](b, `location.pathname`)
}
