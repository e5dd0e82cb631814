package app_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/cmd/internal/app"
	"github.com/saysohq/sayso/cmd/internal/config"
)

// A webhook is registered below the public address with its base path, so it must be
// there whether or not the proxy in between takes the base path off.
func TestWebhookUnderABasePath(t *testing.T) {
	t.Parallel()
	bot := platform(t)
	o := options(t.TempDir()+"/data", bot, &journal{})
	o.Config.PublicURL = "https://approve.example/ops"
	o.Config.Telegram[0].WebhookSecret = config.Secret("wrong-is-told-apart-from-missing")
	ready := make(chan app.Ready, 1)
	o.OnReady = func(r app.Ready) { ready <- r }
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- app.Run(ctx, o) }()
	r := <-ready
	id, _, _ := strings.Cut(bot.Token(), ":")
	for _, base := range []string{"", "/ops"} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost,
			strings.TrimSuffix(r.URL, "/ops")+base+"/webhooks/telegram/"+id, strings.NewReader("{}"))
		require.NoError(t, err)
		answer, err := http.DefaultTransport.RoundTrip(request)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, http.StatusUnauthorized, answer.StatusCode, "below %q", base)
	}
	stop()
	require.NoError(t, <-ended)
}
