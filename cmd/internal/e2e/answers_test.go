//go:build unix

package e2e_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/channels/fakes/telegram"
	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/api"
)

// teamChat is a group that is told of everything.
const teamChat = -1001234567890

// TestAnswers tells the ways in which a question can end, on one service.
func TestAnswers(t *testing.T) {
	t.Parallel()
	// The world must outlive its parallel stories, and they may not touch each other.
	t.Run("world", func(t *testing.T) {
		w := newWorld(t, setup{chats: []string{fmt.Sprint(teamChat)}})
		w.fake.AddGroup(teamChat, "team")
		page := w.alice()
		stories := map[string]func(t *testing.T, w *world, page *reader, title string){
			"allowed in Telegram":      allowedInTelegram,
			"allowed on the page":      allowedOnThePage,
			"denied with a note":       deniedWithNote,
			"denied by a plain reply":  deniedByReply,
			"expired":                  expired,
			"taken back by the asker":  takenBack,
			"pressed by two at once":   pressedByTwo,
			"asked twice with one key": askedTwice,
		}
		t.Run("stories", func(t *testing.T) {
			for name, story := range stories {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					mine, r := w.story(t, page)
					story(t, mine, r, secretWord+" "+name)
				})
			}
		})
	})
}

func allowedInTelegram(t *testing.T, w *world, page *reader, title string) {
	waits := w.cli("ask", title)
	card, group := w.message(aliceChat, title, "Allow once"), w.message(teamChat, title, "Allow once")
	require.Contains(t, w.press(aliceChat, card, "Allow once"), "You allowed this once.")
	require.Equal(t, "allowed by Alice (telegram)\n", waits.ends(0))
	require.Empty(t, waits.err.String(), "a pipe gets nothing but the result")
	require.Contains(t, w.becomes(card, title).Text, "Allowed once by you, ")
	require.Regexp(t, `Resolved elsewhere: allowed once by Alice on Telegram, \d\d:\d\d UTC`, w.becomes(group, "Resolved").Text)
	require.Contains(t, page.get("/approve/"+w.idOf(title)), "Resolved elsewhere: allowed once by you on Telegram, ")
	// A button of the card as it was still gets an answer, and changes nothing.
	require.Contains(t, w.pressOld(aliceChat, group, "Deny"), "Already decided: allowed once by you on Telegram")
	require.Equal(t, core.StatusAllowed, w.record(w.idOf(title)).Status)
}

func allowedOnThePage(t *testing.T, w *world, page *reader, title string) {
	waits := w.cli("ask", title, "--json")
	card, group := w.message(aliceChat, title, "Deny"), w.message(teamChat, title, "Deny")
	require.Contains(t, page.decide(w.idOf(title), "allow-once"), "Allowed once by you, ")
	var got api.Answer
	require.NoError(t, json.Unmarshal([]byte(waits.ends(0)), &got), "--json prints the record and nothing else")
	require.Equal(t, api.VerdictAllow, got.Verdict)
	require.Equal(t, core.SurfacePage, got.Approval.Resolver.Surface)
	require.NotEmpty(t, got.AgentText)
	require.Regexp(t, `Resolved elsewhere: allowed once by you on the page, \d\d:\d\d UTC`, w.becomes(card, "Resolved").Text)
	require.Regexp(t, `Resolved elsewhere: allowed once by Alice on the page, \d\d:\d\d UTC`, w.becomes(group, "Resolved").Text)
}

func deniedWithNote(t *testing.T, w *world, _ *reader, title string) {
	waits := w.cli("ask", title)
	card := w.message(aliceChat, title, "Deny with a note")
	_, err := w.fake.Press(telegram.Press{User: aliceChat, Message: card.Locator, Label: "Deny with a note"})
	require.NoError(t, err)
	prompt := w.message(aliceChat, "Your note denies “"+title, "")
	require.True(t, prompt.Asks, "it opens the keyboard")
	require.Equal(t, core.StatusPending, w.record(w.idOf(title)).Status, "a dialog decides nothing")
	_, err = w.fake.Type(telegram.Typed{User: aliceChat, Chat: aliceChat, ReplyTo: prompt.Locator, Text: "use the " + secretWord + " instead"})
	require.NoError(t, err)
	require.Equal(t, "denied by Alice (telegram): use the "+secretWord+" instead\n", waits.ends(10))
	require.Contains(t, w.becomes(card, "Denied by you").Text, "use the "+secretWord+" instead")
	w.message(aliceChat, "You denied this with your note.", "")
}

func deniedByReply(t *testing.T, w *world, _ *reader, title string) {
	waits := w.cli("ask", title)
	card := w.message(aliceChat, title, "Deny")
	w.converges(w.idOf(title)) // Nobody types faster than a receipt comes.
	_, err := w.fake.Type(telegram.Typed{User: aliceChat, Chat: aliceChat, ReplyTo: card.Locator, Text: "not today, " + secretWord})
	require.NoError(t, err)
	require.Contains(t, waits.ends(10), "not today, "+secretWord)
	w.becomes(card, "Declined with a message by you")
}

func expired(t *testing.T, w *world, page *reader, title string) {
	waits := w.cli("ask", title, "--expires", "2s")
	card := w.message(aliceChat, title, "Deny")
	require.Equal(t, "expired: timeout\n", waits.ends(11))
	require.Regexp(t, `Expired at \d\d:\d\d UTC: nobody answered in time`, w.becomes(card, "Expired").Text)
	require.Contains(t, w.pressOld(aliceChat, card, "Allow once"), "Expired at ")
	require.Contains(t, page.get("/approve/"+w.idOf(title)), "Expired at ")
}

func takenBack(t *testing.T, w *world, _ *reader, title string) {
	waits := w.cli("ask", title)
	card := w.message(aliceChat, title, "Deny")
	id := w.idOf(title)
	require.Equal(t, "cancelled: withdrawn\n", w.cli("cancel", id).ends(0))
	require.Equal(t, "cancelled: withdrawn\n", waits.ends(12))
	require.Contains(t, w.becomes(card, "Cancelled").Text, "whoever asked took it back")
	require.Equal(t, "cancelled: withdrawn\n", w.cli("wait", id).ends(12), "the answer is there for who comes late")
}

func pressedByTwo(t *testing.T, w *world, page *reader, title string) {
	waits := w.cli("ask", title)
	card := w.message(aliceChat, title, "Deny")
	id := w.idOf(title)
	form := page.form(id, "allow-once") // Before the press: whoever is late has no form.
	query, err := w.fake.Press(telegram.Press{User: aliceChat, Message: card.Locator, Label: "Deny"})
	require.NoError(t, err)
	page.submit(id, form)
	reply, err := w.fake.AwaitReply(w.ctx, query)
	require.NoError(t, err)
	// Whoever was first, both places and the one who asked are told the same.
	if w.record(id).Status == core.StatusDenied {
		require.Contains(t, reply.Text, "You denied this.")
		waits.ends(10)
		w.becomes(card, "Denied by you")
		return
	}
	require.Contains(t, reply.Text, "Already decided: allowed once by you on the page")
	waits.ends(0)
	w.becomes(card, "Resolved elsewhere: allowed once")
}

func askedTwice(t *testing.T, w *world, _ *reader, title string) {
	first, second := w.cli("ask", title, "--key", "one"), w.cli("ask", title, "--key", "one")
	card := w.message(aliceChat, title, "Deny")
	require.Contains(t, w.press(aliceChat, card, "Deny"), "You denied this.")
	require.Equal(t, first.ends(10), second.ends(10))
	require.Len(t, w.cards(title), 2, "one card a chat, whatever was asked twice")
	other := w.cli("ask", title, "--key", "one", "--tool", "other")
	other.ends(1)
	require.Contains(t, other.err.String(), "this key was used with other content")
}
