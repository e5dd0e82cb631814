//go:build unix

package e2e_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// The README's way: the bot's token in the environment, and no file at all. The
// budgets of the real messenger apply.
func TestTelegramFromTheEnvironment(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{})
	w.stop()
	require.NoError(t, os.WriteFile(w.config, nil, 0o600))
	w.env = append(w.env, "SAYSO_TELEGRAM_TOKEN="+w.fake.Token(), "SAYSO_TELEGRAM_API_URL="+w.fake.URL())
	w.start()
	require.Contains(t, w.service.out.String(), "Connected: telegram")
	w.alice()
	waits := w.cli("ask", secretWord)
	card := w.message(aliceChat, secretWord, "Deny")
	w.press(aliceChat, card, "Deny")
	waits.ends(10)
	w.becomes(card, "Denied by you")
}
