//go:build unix

package e2e_test

import (
	"context"
	"os"
	"strings"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// browser is a real one, with a fresh profile, of the size of a phone.
type browser struct {
	w   *world
	ctx context.Context
}

func (w *world) browser() *browser {
	w.t.Helper()
	profile, err := os.MkdirTemp("", "sayso-e2e-profile-")
	require.NoError(w.t, err)
	// It is ended in good order below, so it must not end with the test's context.
	base, cancel := context.WithTimeout(context.WithoutCancel(w.ctx), storyTime)
	allocator, stop := chromedp.NewExecAllocator(base,
		chromedp.ExecPath("/usr/bin/chromium"), chromedp.UserDataDir(profile),
		chromedp.Flag("headless", true), chromedp.Flag("no-sandbox", true), chromedp.Flag("disable-gpu", true),
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-quic", true),
		chromedp.Flag("no-first-run", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true), chromedp.Flag("window-size", "412,915"))
	ctx, closeTab := chromedp.NewContext(allocator)
	w.t.Cleanup(func() {
		closeTab()
		stop() // Waits until the process is gone.
		cancel()
		// Its children may write for a moment longer.
		require.Eventually(w.t, func() bool { return os.RemoveAll(profile) == nil }, 10*time.Second, 50*time.Millisecond)
	})
	return &browser{w: w, ctx: ctx}
}

// do runs steps; one that waits for an element does so until the story is over.
func (b *browser) do(steps ...chromedp.Action[chromedp.Void]) {
	b.w.t.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		require.NoError(b.w.t, err, "the browser shows:\n%s", b.text("body"))
	}
}

func (b *browser) open(address string)         { b.do(chromedp.Navigate(address)) }
func (b *browser) click(selector string)       { b.do(chromedp.Click(chromedp.CSS(selector))) }
func (b *browser) write(selector, text string) { b.do(chromedp.SendKeys(chromedp.CSS(selector), text)) }

// text reads what an element shows; "" where there is none.
func (b *browser) text(selector string) string {
	text, err := chromedp.Run(b.ctx, chromedp.Evaluate[string]("document.querySelector(`"+selector+"`)?.innerText ?? ``"))
	if err != nil { // Between two pages.
		return ""
	}
	return text
}

// shows waits for an element that holds a text.
func (b *browser) shows(selector, text string) {
	b.w.t.Helper()
	require.Eventually(b.w.t, func() bool {
		return strings.Contains(b.text(selector), text)
	}, afterRestart, 50*time.Millisecond, "%s never showed %q", selector, text)
}
