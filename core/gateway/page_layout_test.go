package gateway_test

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/approvals"
	"github.com/saysohq/sayso/core/policy"
)

// Every state of the page, on a phone and on a desk, in light and in dark: nothing
// overflows, all text has contrast, and what can be pressed is large enough for a
// thumb. With SAYSO_SCREENSHOTS set, each is saved there to be looked at.
func TestPage_Layout(t *testing.T) {
	t.Parallel()
	layOut(t, scenes)
}

// scene sets a state of the page up and shows it.
type scene struct {
	name string
	show func(*gallery)
}

func layOut(t *testing.T, scenes []scene) {
	t.Helper()
	on := newBrowser(t)
	for _, screen := range []struct {
		name          string
		width, height int64
	}{{"390", 390, 844}, {"1280", 1280, 800}} {
		for _, scheme := range []string{"light", "dark"} {
			t.Run(screen.name+" "+scheme, func(t *testing.T) {
				t.Parallel()
				g := newGallery(t, on)
				call(g.tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
					Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
				})
				g.tab.run(chromedp.EmulateViewport(screen.width, screen.height))
				for _, scene := range scenes {
					scene.show(g)
					g.inspect(scene.name)
					g.save(fmt.Sprintf("%s-%s-%s", scene.name, screen.name, scheme))
				}
			})
		}
	}
}

// gallery is a site with a browser, where scenes are set.
type gallery struct {
	*site
	tab   *tab
	proxy *lossyProxy
	bea   *visitor
}

func newGallery(t *testing.T, on *browser) *gallery {
	t.Helper()
	s := newSite(t, siteOptions{})
	g := &gallery{site: s, proxy: newLossyProxy(t, s)}
	g.bea = s.person("Beatrice Example-Longname", core.RoleAdmin)
	g.tab = s.admin.tab(on, g.proxy)
	return g
}

// inspect checks what a machine can tell of a layout.
func (g *gallery) inspect(scene string) {
	g.t.Helper()
	b := g.tab
	require.LessOrEqual(g.t, eval[int](b, `document.documentElement.scrollWidth - innerWidth`), 0, "%s overflows", scene)
	require.True(g.t, eval[bool](b, `new Set([...document.body.children].filter((e) => e.checkVisibility())
		.map((e) => Math.round(e.getBoundingClientRect().left))).size === 1`), "%s is out of line", scene)
	small := eval[[]string](b, `[...document.querySelectorAll("button, .button, summary, .list > li > a, .lists a, .choice, textarea, select")]
		.filter((e) => e.checkVisibility()).filter((e) => e.getBoundingClientRect().height < 44).map((e) => e.outerHTML)`)
	require.Empty(g.t, small, "%s has controls too small for a thumb", scene)
	require.Empty(g.t, eval[[]string](b, contrastFaults), "%s is hard to read", scene)
}

// contrastFaults lists texts whose contrast is below 4.5 to 1 (WCAG 2, AA).
const contrastFaults = `(() => {
	const rgb = (c) => c.match(/[\d.]+/g).map(Number);
	const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
		.map((v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
		.reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
	const behind = (e) => {
		for (; e; e = e.parentElement) {
			const c = rgb(getComputedStyle(e).backgroundColor);
			if (c.length === 3 || c[3] === 1) return c;
		}
		return [255, 255, 255];
	};
	return [...document.querySelectorAll("body *")].filter((e) => e.checkVisibility() && !e.disabled &&
		[...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim())).filter((e) => {
		const a = light(rgb(getComputedStyle(e).color)), b = light(behind(e));
		return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05) < 4.5;
	}).map((e) => e.tagName + " " + e.className + ": " + e.textContent.slice(0, 40));
})()`

// save writes a picture of the first screen and, where there is more, one of the
// whole page.
func (g *gallery) save(name string) {
	g.t.Helper()
	folder := os.Getenv("SAYSO_SCREENSHOTS")
	if folder == "" {
		return
	}
	shoot := func(suffix string) {
		png, err := chromedp.Run(g.tab.ctx, chromedp.CaptureScreenshot())
		require.NoError(g.t, err)
		require.NoError(g.t, os.WriteFile(filepath.Join(folder, name+suffix+".png"), png, 0o600))
	}
	shoot("")
	size := eval[[]int64](g.tab, `[innerWidth, innerHeight, document.documentElement.scrollHeight]`)
	if size[2] > size[1] && size[2] < 3000 {
		g.tab.run(chromedp.EmulateViewport(size[0], size[2]))
		shoot("-full")
		g.tab.run(chromedp.EmulateViewport(size[0], size[1]))
	}
}

// show asks, and opens the question's page.
func (g *gallery) show(query string, change ...func(*approvals.Ask)) core.Approval {
	g.t.Helper()
	a := g.ask(change...)
	g.tab.open(pathOf(&a) + query)
	return a
}

func money(v *policy.Verdict) { v.Class = core.ClassMoney }

func always(v *policy.Verdict) {
	v.Class = core.ClassWrite
	v.AlwaysOffer = &core.AlwaysOffer{Label: "messages to team@example.com", Scope: "recipient", Value: "team@example.com", Tool: "mail"}
}

func manyFacts(q *approvals.Ask) {
	q.Title = "Rotate the signing keys of the payment gateway in all regions at once"
	q.Risk = "high: signatures made with the old keys stop verifying"
	q.Agent = "infrastructure-maintenance-agent-with-a-long-name"
	q.Operation.Arguments = []byte(`{"argv":["/opt/tools/keyctl","rotate","--all","--region","eu-central-1,us-east-1,ap-southeast-2","--token","ghp_16C7e42F292c6912E7710c838347Ae178B4a","--reason","` +
		strings.Repeat("scheduled ", 12) + `"],"folder":"/srv/deployments/payments/production/current/very/deep/folder/structure","executable":"/opt/tools/keyctl"}`)
}

func rightToLeft(q *approvals.Ask) {
	q.Kind, q.Title, q.Agent = core.KindPlugin, "أرسل الفاتورة إلى العميل قبل نهاية اليوم", "מזכירה"
	q.Operation = approvals.AskOperation{
		ID: "op-3", Tool: "mail", Name: "send", Summary: "إرسال رسالة واحدة",
		Arguments: []byte(`{"to":"client@example.com","subject":"الفاتورة رقم 42","body":"مرحبا، تجدون الفاتورة مرفقة. 12,500.00 EUR"}`),
	}
}

func mail(q *approvals.Ask) {
	q.Kind, q.Title, q.Agent = core.KindPlugin, "Send the invoice to Bob", "books"
	q.Operation = approvals.AskOperation{
		ID: "op-4", Tool: "mail", Name: "send", Summary: "Sends one message with an attachment.",
		Arguments: []byte(`{"to":"team@example.com","subject":"Invoice 42","body":"Hello Bob,\nplease find the invoice attached.\n\nBest,\nAnn","attachments":["invoice-42.pdf"]}`),
	}
}

func unbroken(q *approvals.Ask) {
	q.Title = strings.Repeat("Supercalifragilistic", 4)
	q.Operation.Arguments = []byte(`{"argv":["curl","https://example.com/` + strings.Repeat("abcdef0123456789", 30) + `"]}`)
}

var scenes = []scene{
	{"inbox-empty", func(g *gallery) { g.tab.open("/") }},
	{"pending-command", func(g *gallery) { g.show("") }},
	{"pending-tool-always", func(g *gallery) {
		g.judged(always)
		g.show("", mail)
		g.judged(nil)
	}},
	{"pending-money-note", func(g *gallery) {
		g.judged(money)
		g.show("", func(q *approvals.Ask) { q.Title = "Delete 1,204 customer records" })
		g.judged(nil)
		g.tab.click("details.note summary")
		g.tab.write("#note", "Export them first, then ask again.")
	}},
	{"pending-facts", func(g *gallery) { g.show("", manyFacts) }},
	{"pending-unbroken", func(g *gallery) { g.show("", unbroken) }},
	{"pending-rtl", func(g *gallery) { g.show("", rightToLeft) }},
	{"pending-cut", func(g *gallery) { g.show("", longPlugin(20<<10)) }},
	{"pending-64k-top", func(g *gallery) { g.show("?view=all", longPlugin(100<<10)) }},
	{"pending-64k-end", func(g *gallery) {
		g.show("?view=all", longPlugin(100<<10))
		eval[chromedp.Void](g.tab, `window.scrollTo(0, document.documentElement.scrollHeight)`)
	}},
	{"under-way", func(g *gallery) {
		g.proxy.holdPosts()
		g.show("")
		g.tab.click(`button.allow`)
		g.tab.until(`document.querySelector("button.allow").textContent === "Allowing…"`)
	}},
	{"allowed", func(g *gallery) {
		g.proxy.letPosts()
		g.show("")
		g.tab.click(`button.allow`)
		g.tab.untilState("decided-here")
	}},
	{"denied-with-note", func(g *gallery) {
		g.show("")
		g.tab.click("details.note summary")
		g.tab.write("#note", "Not on a Friday.\nAsk me again on Monday, with the test report.")
		g.tab.click(`button.deny`)
		g.tab.untilState("decided-here")
	}},
	{"elsewhere", func(g *gallery) {
		a := g.show("", mail)
		g.bea.post(pathOf(&a), g.bea.get(pathOf(&a)).form(core.DecisionAllowOnce))
		g.tab.untilState("resolved-elsewhere")
	}},
	{"cancelled", func(g *gallery) {
		a := g.show("")
		_, err := g.service.Cancel(g.t.Context(), g.agent, core.Lookup{ID: a.ID})
		require.NoError(g.t, err)
		g.tab.untilState("cancelled")
	}},
	{"closed", func(g *gallery) {
		a := g.show("")
		form := g.bea.get(pathOf(&a)).form(core.DecisionAllowOnce)
		form.Set("hash", "sha256:"+strings.Repeat("0", 64))
		g.bea.post(pathOf(&a), form)
		g.tab.untilState("closed")
	}},
	{"lost", func(g *gallery) {
		g.show("", mail)
		g.proxy.cutBefore.Store(true)
		g.proxy.down.Store(true)
		g.tab.click(`button.allow`)
		g.tab.until(`!document.getElementById("trouble").hidden`)
	}},
	{"back", func(g *gallery) {
		g.proxy.cutBefore.Store(false)
		g.proxy.down.Store(false)
		g.tab.until(`document.body.innerText.includes("shows no answer yet")`)
	}},
	{"not-recorded", func(g *gallery) {
		g.faults.set(func(f *pageFaults) {
			f.resolve = func(context.Context, approvals.Resolve) (approvals.Resolved, error) {
				return approvals.Resolved{}, core.ErrUnavailable
			}
		})
		g.show("")
		g.tab.click(`button.allow`)
		g.tab.until(`document.getElementById("notice") !== null`)
		g.faults.set(func(f *pageFaults) { f.resolve = nil })
	}},
	{"unavailable", func(g *gallery) {
		g.faults.set(func(f *pageFaults) { f.detail = core.ErrUnavailable })
		g.show("")
	}},
	{"damaged", func(g *gallery) {
		g.faults.set(func(f *pageFaults) { f.detail = core.ErrCorrupt })
		g.show("")
		g.faults.set(func(f *pageFaults) { f.detail = nil })
	}},
	{"not-found", func(g *gallery) { g.tab.open("/approve/nothing") }},
	{"expired", func(g *gallery) {
		wait := core.Millis(1000)
		a := g.ask(manyFacts, func(q *approvals.Ask) { q.ExpiresIn = &wait })
		g.advance(2 * time.Second)
		g.tab.open(pathOf(&a))
	}},
	{"inbox-full", func(g *gallery) {
		g.ask(rightToLeft)
		g.ask(unbroken)
		g.judged(money)
		g.ask(func(q *approvals.Ask) { q.Title = "Delete 1,204 customer records" })
		g.judged(nil)
		g.tab.open("/")
	}},
	{"pairing", func(g *gallery) {
		g.tab.open("/signin#code=" + g.pair(g.bea.id))
		g.tab.until(`document.body.innerText.includes("That session will end")`)
	}},
	{"signin-fault", func(g *gallery) {
		g.tab.open("/signin")
		g.tab.write("#code", "K7QM2-XPD4V")
		g.tab.click("button.allow")
		g.tab.until(`document.body.innerText.includes("not valid any more")`)
	}},
	{"session-ended", func(g *gallery) {
		a := g.show("")
		disabled := true
		_, err := g.people.ChangePerson(g.t.Context(), core.Caller{Operator: true}, core.ChangePrincipal{ID: g.personID("Ann"), Disabled: &disabled})
		require.NoError(g.t, err)
		_, err = g.service.Cancel(g.t.Context(), g.agent, core.Lookup{ID: a.ID})
		require.NoError(g.t, err)
		g.tab.untilState("sign-in")
	}},
	{"first-signin", func(g *gallery) {
		fresh := newSite(g.t, siteOptions{nobody: true})
		_, path, _ := strings.Cut(fresh.url, "//")
		g.tab.run(chromedp.Navigate((&url.URL{Scheme: "http", Host: path, Path: "/signin"}).String()), chromedp.WaitReady(chromedp.CSS("#name")))
	}},
}
