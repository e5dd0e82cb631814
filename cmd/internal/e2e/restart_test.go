//go:build unix

package e2e_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
)

// Our own restart cancels nothing, and nobody who waits has to do anything about it.
func TestWaitSurvivesRestart(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{})
	page := w.alice()
	title := secretWord + " stop"
	crash := secretWord + " crash"
	waits, other := w.cli("ask", title), w.cli("ask", crash)
	card, second := w.message(aliceChat, title, "Allow once"), w.message(aliceChat, crash, "Deny")
	id := w.idOf(title)
	w.converges(id)

	w.stop()
	// A press while nobody is there is kept by the messenger, and is a click like any other.
	press := make(chan string, 1)
	go func() { press <- w.press(aliceChat, card, "Allow once") }()
	w.start()
	require.Equal(t, "You allowed this once.", <-press)
	require.Equal(t, "allowed by Alice (telegram)\n", waits.ends(0))
	w.becomes(card, "Allowed once by you")

	w.crash()
	w.start()
	page.decide(w.idOf(crash), "deny") // The session survives, too.
	require.Equal(t, "denied by Alice (page)\n", other.ends(10))
	w.becomes(second, "Resolved elsewhere: denied by you on the page")
	require.Len(t, w.cards(secretWord), 2, "no card was sent again")
	require.Equal(t, core.StatusAllowed, w.record(id).Status)
}
