//go:build unix

package e2e_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// TestFirstDay is the two minutes of the README, with a real browser: sign in with
// the code that `sayso serve` made, link Telegram, answer in one place, and see the
// other place say so. Both directions.
func TestFirstDay(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{})
	b := w.browser()
	first := w.firstLink()
	b.open(first)
	b.shows("h1", "Welcome to sayso")
	address, err := chromedp.Run(b.ctx, chromedp.Location())
	require.NoError(t, err)
	require.NotContains(t, address, "code", "the code leaves the address bar at once")
	b.write("#signin #name", "Alice")
	b.click("#signin button[type=submit]")
	b.shows("main", "Nothing waits for an answer.")
	w.link(aliceChat, "Alice A")

	// Asked; answered in Telegram.
	title := secretWord + " deploys"
	waits := w.cli("ask", title)
	card := w.message(aliceChat, title, "Allow once")
	b.shows("main", title) // The list refreshes itself.
	b.click(".list a")
	b.shows("#decide", "Allow once")
	require.Equal(t, "You allowed this once.", w.press(aliceChat, card, "Allow once"))
	require.Equal(t, "allowed by Alice (telegram)\n", waits.ends(0))
	require.Regexp(t, `^Allowed once by you, \d\d:\d\d UTC`, w.becomes(card, "Allowed").Text)
	b.shows("#result", "Resolved elsewhere: allowed once by you on Telegram, ")

	// Asked again; answered on the page.
	title = secretWord + " pays"
	waits = w.cli("ask", title)
	card = w.message(aliceChat, title, "Allow once")
	b.open(w.url + "/approve/" + w.idOf(title))
	b.click("#decide button[value=allow-once]")
	b.shows("#result", "Allowed once by you, ")
	require.Equal(t, "allowed by Alice (page)\n", waits.ends(0))
	require.Regexp(t, `^Resolved elsewhere: allowed once by you on the page, \d\d:\d\d UTC`, w.becomes(card, "Resolved").Text)

	// And once more; denied with a note.
	title = secretWord + " deletes"
	waits = w.cli("ask", title)
	card = w.message(aliceChat, title, "Deny")
	b.open(w.url + "/approve/" + w.idOf(title))
	b.click("#decide details summary")
	b.write("#note", "keep the "+secretWord)
	b.click("#decide button[value=deny]")
	b.shows("#result", "keep the "+secretWord)
	require.Equal(t, "denied by Alice (page): keep the "+secretWord+"\n", waits.ends(10))
	require.Contains(t, w.becomes(card, "Resolved elsewhere: denied by you").Text, "keep the "+secretWord)

	// The first code is spent: whoever finds it becomes nobody.
	code, err := url.ParseQuery(strings.SplitN(first, "#", 2)[1])
	require.NoError(t, err)
	status, _ := w.reader().post("/signin", url.Values{"code": {code.Get("code")}, "name": {"Mallory"}})
	require.Equal(t, http.StatusForbidden, status)
	require.NotContains(t, w.cli("people").ends(0), "Mallory")
}
