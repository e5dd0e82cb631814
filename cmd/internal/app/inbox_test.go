package app_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	fake "github.com/saysohq/sayso/channels/fakes/telegram"
	"github.com/saysohq/sayso/cmd/internal/config"
)

// An empty inbox says how questions also come to a chat, where there is a chat to
// come to.
func TestEmptyInboxTellsOfChats(t *testing.T) {
	t.Parallel()
	with := start(t, folder(t))
	without := start(t, folder(t), func(c *config.Config, _ *fake.Server) { c.Telegram = nil })
	for _, r := range []*running{with, without} {
		r.signIn(t, "Ann")
	}
	inbox := call{method: http.MethodGet, path: "/"}
	require.Contains(t, with.do(t, inbox).body, "sayso link")
	require.NotContains(t, without.do(t, inbox).body, "sayso link")
}
