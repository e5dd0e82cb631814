package gateway_test

import (
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/approvals"
)

// One browser serves all of them, each in a context of its own.
func TestPage_InABrowser(t *testing.T) {
	t.Parallel()
	on := newBrowser(t)
	for name, test := range map[string]func(*testing.T, *browser){
		"allow by mouse":                allowByMouse,
		"allow by keyboard":             allowByKeyboard,
		"deny with a note":              denyWithNote,
		"without scripts":               withoutScripts,
		"elsewhere, by stream":          elsewhereByStream,
		"elsewhere, by poll":            elsewhereByPoll,
		"double click":                  doubleClick,
		"while it is under way":         whileUnderWay,
		"answer lost after recording":   answerLost,
		"a proxy's own error page":      foreignErrorPage,
		"answer lost before recording":  pressLost,
		"expired while open":            expiredWhileOpen,
		"base path and an asset's name": basePathAndAssetName,
		"inbox keeps its place":         inboxKeepsPlace,
		"sign-in by a link":             signInByLink,
		"reader's own time":             readersTime,
		"tick before a partial allow":   tickBeforeAllow,
		"an older answer comes late":    olderAnswer,
		"session ends while open":       sessionEnds,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, on)
		})
	}
}

const focusOnResult = `document.activeElement === document.getElementById("result")`

// Conformance 129, 131, 138.
func allowByMouse(t *testing.T, on *browser) {
	s := newSite(t, siteOptions{})
	a := s.ask()
	b := s.admin.tab(on)
	b.open(pathOf(&a))
	b.click(`button[value="allow-once"]`)
	b.untilState("decided-here")
	require.Contains(t, b.text(), "Allowed once by you")
	b.until(focusOnResult)
	require.Equal(t, core.StatusAllowed, s.read(a.ID).Status)
	require.Equal(t, 0, eval[int](b, `document.querySelectorAll("#decide").length`))
}

func allowByKeyboard(t *testing.T, on *browser) {
	s := newSite(t, siteOptions{})
	a := s.ask()
	b := s.admin.tab(on)
	b.open(pathOf(&a))
	var seen []string
	for range 15 {
		b.key(kb.Tab)
		if on := eval[string](b, `document.activeElement.value || document.activeElement.tagName`); on != "allow-once" {
			seen = append(seen, on)
			continue
		}
		break
	}
	require.Contains(t, seen, "deny", "deny comes first: %v", seen)
	require.Equal(t, core.StatusPending, s.read(a.ID).Status)
	b.key(kb.Enter)
	b.untilState("decided-here")
	b.until(focusOnResult)
	require.Equal(t, core.StatusAllowed, s.read(a.ID).Status)
}

// Typing decides nothing, with whatever keys (R85); the note goes with Deny (R84).
func denyWithNote(t *testing.T, on *browser) {
	s := newSite(t, siteOptions{})
	a := s.ask()
	b := s.admin.tab(on)
	b.open(pathOf(&a))
	b.click(`details.note summary`)
	require.False(t, eval[bool](b, `document.querySelector("button.allow").checkVisibility()`), "beside a note there is only Deny")
	b.write("#note", "use staging")
	b.key(kb.Enter)
	for _, mod := range []chromedp.Modifier{kb.ModifierCtrl, kb.ModifierMeta, kb.ModifierShift, kb.ModifierAlt} {
		b.key(kb.Enter, mod)
	}
	b.write("#note", "then ask again y a")
	require.Equal(t, core.StatusPending, s.read(a.ID).Status)
	require.Equal(t, "pending", eval[string](b, `document.querySelector("[data-state]").dataset.state`))
	b.click(`button[value="deny"]`)
	b.untilState("decided-here")
	got := s.read(a.ID)
	require.Equal(t, core.StatusDenied, got.Status)
	require.Contains(t, got.Note, "use staging")
	require.Contains(t, b.text(), "then ask again")
}

func withoutScripts(t *testing.T, on *browser) {
	s := newSite(t, siteOptions{})
	a, long := s.ask(), s.ask(longPlugin(20<<10))
	b := s.admin.tab(on)
	call(b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	b.run(chromedp.Navigate(b.base + pathOf(&a)))
	b.click(`button[value="allow-once"]`)
	b.run(chromedp.WaitVisible(chromedp.CSS("#result")))
	require.Equal(t, core.StatusAllowed, s.read(a.ID).Status)

	b.run(chromedp.Navigate(b.base + pathOf(&long)))
	b.click(`.action a`)
	b.run(chromedp.WaitReady(chromedp.CSS(`button[value="allow-once"]`)))
	b.click(`details.note summary`)
	b.write("#note", "not yet")
	b.click(`button[value="deny"]`)
	b.run(chromedp.WaitVisible(chromedp.CSS("#result")))
	require.Equal(t, "not yet", s.read(long.ID).Note)
}

// R214: the page of whoever lost the race says so by itself.
func elsewhereByStream(t *testing.T, on *browser) {
	s := newSite(t, siteOptions{})
	proxy := newLossyProxy(t, s)
	a := s.ask()
	b := s.admin.tab(on, proxy)
	b.open(pathOf(&a))
	b.click(`details.note summary`)
	b.write("#note", "typing")
	require.Eventually(t, func() bool { return proxy.streams.Load() > 0 }, 20*time.Second, 20*time.Millisecond)
	bea := s.person("Bea", core.RoleAdmin)
	bea.post(pathOf(&a), bea.get(pathOf(&a)).form(core.DecisionDeny))
	b.untilState("resolved-elsewhere")
	require.Contains(t, b.text(), "Resolved elsewhere: denied by Bea on the page")
	b.until(focusOnResult)
}

func elsewhereByPoll(t *testing.T, on *browser) {
	s := newSite(t, siteOptions{})
	proxy := newLossyProxy(t, s)
	proxy.noEvents.Store(true)
	a := s.ask()
	b := s.admin.tab(on, proxy)
	b.open(pathOf(&a))
	eval[chromedp.Void](b, `document.querySelector("details.note").open = true; document.getElementById("note").value = "typed"`)
	b.until(`performance.getEntriesByType("resource").filter((e) => e.initiatorType === "fetch").length >= 2`)
	require.Equal(t, "typed", eval[string](b, `document.getElementById("note").value`), "a poll without news disturbs nobody")
	bea := s.person("Bea", core.RoleAdmin)
	bea.post(pathOf(&a), bea.get(pathOf(&a)).form(core.DecisionAllowOnce))
	b.untilState("resolved-elsewhere")
	require.Contains(t, b.text(), "Resolved elsewhere: allowed once by Bea")
}

// Conformance 99.
func doubleClick(t *testing.T, on *browser) {
	s := newSite(t, siteOptions{})
	proxy := newLossyProxy(t, s)
	a := s.ask()
	b := s.admin.tab(on, proxy)
	b.open(pathOf(&a))
	b.run(chromedp.DoubleClick(chromedp.CSS(`button[value="allow-once"]`)))
	b.untilState("decided-here")
	require.Equal(t, int64(1), proxy.posts.Load())
	require.Equal(t, core.StatusAllowed, s.read(a.ID).Status)
}

// Conformance 130: the pressed button says so, and nothing else can be pressed; an
// older reading that arrives meanwhile changes nothing (134).
func whileUnderWay(t *testing.T, on *browser) {
	s := newSite(t, siteOptions{})
	proxy := newLossyProxy(t, s)
	proxy.holdPosts()
	a := s.ask()
	b := s.admin.tab(on, proxy)
	b.open(pathOf(&a))
	b.click(`button[value="allow-once"]`)
	b.until(`document.querySelector("button.allow").textContent === "Allowing…"`)
	require.True(t, eval[bool](b, `[...document.querySelectorAll("#decide button")].every((b) => b.disabled)`))
	require.Equal(t, "Deny", eval[string](b, `document.querySelector("button.deny").textContent`))
	eval[chromedp.Void](b, `document.dispatchEvent(new Event("visibilitychange"))`)
	require.Equal(t, "Allowing…", eval[string](b, `document.querySelector("button.allow").textContent`))
	require.Equal(t, core.StatusPending, s.read(a.ID).Status)
	proxy.letPosts()
	b.untilState("decided-here")
}

// The answer is lost after the record has it: the controls stay off, and the page
// then shows what the record says (R186, R215).
func answerLost(t *testing.T, on *browser) {
	s := newSite(t, siteOptions{})
	proxy := newLossyProxy(t, s)
	a := s.ask()
	b := s.admin.tab(on, proxy)
	b.open(pathOf(&a))
	proxy.cutAfter.Store(true)
	proxy.down.Store(true)
	b.click(`button[value="allow-once"]`)
	b.until(`!document.getElementById("trouble").hidden`)
	require.Contains(t, b.text(), "It is not known whether your answer was recorded")
	require.True(t, eval[bool](b, `[...document.querySelectorAll("#decide button")].every((b) => b.disabled)`))
	require.NotContains(t, b.text(), "Allowed once by you")
	proxy.down.Store(false)
	b.untilState("decided-here")
	b.until(`document.getElementById("trouble").hidden`)
	require.Contains(t, b.text(), "Allowed once by you")
}

func foreignErrorPage(t *testing.T, on *browser) {
	s := newSite(t, siteOptions{})
	proxy := newLossyProxy(t, s)
	a := s.ask()
	b := s.admin.tab(on, proxy)
	b.open(pathOf(&a))
	proxy.ugly.Store(true)
	b.click(`button[value="deny"]`)
	b.untilState("decided-here")
	require.NotContains(t, b.text(), "504")
	require.Equal(t, core.StatusDenied, s.read(a.ID).Status)
}

// The press is lost before the record: frozen until the record was read, and then
// it can be pressed again.
func pressLost(t *testing.T, on *browser) {
	s := newSite(t, siteOptions{})
	proxy := newLossyProxy(t, s)
	a := s.ask()
	b := s.admin.tab(on, proxy)
	b.open(pathOf(&a))
	proxy.cutBefore.Store(true)
	proxy.down.Store(true)
	b.click(`button[value="allow-once"]`)
	b.until(`!document.getElementById("retry").checkVisibility() ? false : document.querySelector("button.allow").disabled`)
	before := proxy.posts.Load()
	eval[chromedp.Void](b, `document.getElementById("decide").requestSubmit()`)
	require.Equal(t, before, proxy.posts.Load(), "nothing leaves a frozen page")
	proxy.down.Store(false)
	proxy.cutBefore.Store(false)
	b.click("#retry")
	b.until(`document.querySelector("button.allow")?.disabled === false`)
	require.Contains(t, b.text(), "The record shows no answer yet")
	require.Equal(t, core.StatusPending, s.read(a.ID).Status)
	b.click(`button[value="allow-once"]`)
	b.untilState("decided-here")
	require.Equal(t, core.StatusAllowed, s.read(a.ID).Status)
	require.True(t, eval[bool](b, `document.getElementById("trouble").hidden`))
}

func expiredWhileOpen(t *testing.T, on *browser) {
	s := newSite(t, siteOptions{realTime: true})
	wait := core.Millis(2500)
	a := s.ask(func(q *approvals.Ask) { q.ExpiresIn = &wait })
	b := s.admin.tab(on)
	b.open(pathOf(&a))
	b.untilState("expired")
	require.Contains(t, b.text(), "nobody answered in time")
	require.Equal(t, 0, eval[int](b, `document.querySelectorAll("#decide").length`))
}

func basePathAndAssetName(t *testing.T, on *browser) {
	s := newSite(t, siteOptions{base: "/team/gate"})
	proxy := newLossyProxy(t, s)
	a := s.ask(func(q *approvals.Ask) { q.GivenID = "build/x.js" })
	b := s.admin.tab(on, proxy)
	b.open("/")
	b.click(".list a")
	b.untilState("pending")
	require.True(t, strings.HasSuffix(eval[string](b, `location.pathname`), "/team/gate/approve/agents:build%2Fx.js"))
	require.Eventually(t, func() bool { return proxy.streams.Load() > 0 }, 20*time.Second, 20*time.Millisecond)
	b.click(`button[value="allow-once"]`)
	b.untilState("decided-here")
	require.Equal(t, core.StatusAllowed, s.read(a.ID).Status)
	b.run(chromedp.Reload())
	b.untilState("decided-here")
}

// News in the list moves neither the reader's focus nor their place.
func inboxKeepsPlace(t *testing.T, on *browser) {
	s := newSite(t, siteOptions{})
	for range 40 {
		s.ask()
	}
	b := s.admin.tab(on)
	b.run(chromedp.EmulateViewport(390, 844))
	b.open("/")
	href := eval[string](b, `(() => { const a = document.querySelectorAll(".list a")[30]; a.focus(); window.scrollTo(0, 1500); window.kept = a; return a.getAttribute("href"); })()`)
	top := eval[float64](b, `document.activeElement.getBoundingClientRect().top`)
	b.until(`performance.getEntriesByType("resource").filter((e) => e.initiatorType === "fetch").length >= 1`)
	require.True(t, eval[bool](b, `document.activeElement === window.kept && window.scrollY > 1000`), "no news: the very same list")

	gone := s.read(strings.TrimPrefix(href, "/approve/"))
	later := s.ask(func(q *approvals.Ask) { q.Title = "The newest question" })
	b.until(`document.body.innerText.includes("The newest question")`)
	require.Equal(t, href, eval[string](b, `document.activeElement.getAttribute("href")`))
	require.InDelta(t, top, eval[float64](b, `document.activeElement.getBoundingClientRect().top`), 2)
	require.NotEqual(t, gone.ID, later.ID)
}

// The code never reaches a server before a person presses; it leaves the address at
// once (K36).
func signInByLink(t *testing.T, on *browser) {
	s := newSite(t, siteOptions{})
	bea := s.person("Bea", core.RoleAdmin)
	b := s.admin.tab(on)
	b.open("/signin?next=%2F#code=" + s.pair(bea.id))
	b.until(`document.body.innerText.includes("Sign in as Bea?")`)
	require.Contains(t, b.text(), "You are signed in here as Ann")
	require.Empty(t, eval[string](b, `location.hash`))
	b.click(`button.allow`)
	b.untilState("inbox")
	require.Contains(t, b.text(), "Bea")

	fresh := newSite(t, siteOptions{nobody: true})
	first := newTab(t, on, fresh.url)
	first.open("/signin#code=" + fresh.first)
	require.Equal(t, fresh.first, eval[string](first, `document.getElementById("code").value`))
	require.Empty(t, eval[string](first, `location.hash`))
	first.write("#name", "Zoë")
	first.click(`button.allow`)
	first.untilState("inbox")
	require.Contains(t, first.text(), "Zoë")
	require.Empty(t, eval[string](first, `document.cookie`), "no script reads the session")
}

// Conformance 137.
func readersTime(t *testing.T, on *browser) {
	s := newSite(t, siteOptions{})
	a := s.ask()
	b := s.admin.tab(on)
	call(b, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: "Asia/Kathmandu"})
	call(b, emulation.SetLocaleOverride, emulation.SetLocaleOverrideParams{Locale: "de-DE"})
	b.open(pathOf(&a))
	require.Contains(t, b.text(), "30.11.2026, 17:45", "asked at 12:00 UTC")
	require.Equal(t, "12:00 UTC", eval[string](b, `[...document.querySelectorAll("time")].pop().title`))
	b.until(`document.querySelector(".left").textContent.includes("30 min left") || document.querySelector(".left").textContent.includes("29 min left")`)
}

// K29: without the tick the browser itself holds an allow back; Enter on the tick
// decides nothing; Deny needs none.
func tickBeforeAllow(t *testing.T, on *browser) {
	s := newSite(t, siteOptions{})
	proxy := newLossyProxy(t, s)
	a := s.ask(longPlugin(100 << 10))
	b := s.admin.tab(on, proxy)
	b.open(pathOf(&a))
	b.click(`.action a`)
	b.until(`document.querySelector("button.allow") !== null`)
	b.click(`button[value="allow-once"]`)
	b.run(chromedp.Focus(chromedp.CSS(`.tick input`)))
	b.key(kb.Enter)
	require.Zero(t, proxy.posts.Load())
	require.Equal(t, core.StatusPending, s.read(a.ID).Status)
	b.click(`.tick input`)
	b.key(kb.Enter)
	require.Zero(t, proxy.posts.Load())
	b.click(`button[value="allow-once"]`)
	b.untilState("decided-here")
	require.True(t, s.read(a.ID).PartialView)
}

// An open page whose session ends says so by itself, and shows nothing any more.
func sessionEnds(t *testing.T, on *browser) {
	s := newSite(t, siteOptions{})
	proxy := newLossyProxy(t, s)
	proxy.noEvents.Store(true)
	bea := s.person("Bea", core.RoleAdmin)
	a := s.ask()
	b := bea.tab(on, proxy)
	b.open(pathOf(&a))
	disabled := true
	_, err := s.people.ChangePerson(t.Context(), core.Caller{Operator: true}, core.ChangePrincipal{ID: bea.id, Disabled: &disabled})
	require.NoError(t, err)
	b.untilState("sign-in")
	require.NotContains(t, b.text(), "Deploy")
	require.Contains(t, eval[string](b, `document.querySelector("a.allow").getAttribute("href")`), "/signin?next=")
}

// Conformance 134: what was read before never replaces what was read after it.
func olderAnswer(t *testing.T, on *browser) {
	s := newSite(t, siteOptions{})
	proxy := newLossyProxy(t, s)
	proxy.noEvents.Store(true)
	a := s.ask()
	b := s.admin.tab(on, proxy)
	release := proxy.delayRead()
	b.open(pathOf(&a))
	require.Eventually(t, func() bool { return proxy.delayed.Load() == 1 }, 20*time.Second, 20*time.Millisecond, "a poll read the pending card")
	bea := s.person("Bea", core.RoleAdmin)
	bea.post(pathOf(&a), bea.get(pathOf(&a)).form(core.DecisionDeny))
	b.untilState("resolved-elsewhere")
	release()
	require.Eventually(t, func() bool { return proxy.delayed.Load() == 0 }, 20*time.Second, 20*time.Millisecond)
	b.until(`performance.getEntriesByType("resource").filter((e) => e.initiatorType === "fetch" && e.responseEnd > 0).length >= 2`)
	require.Equal(t, "resolved-elsewhere", eval[string](b, `document.querySelector("[data-state]").dataset.state`))
}
