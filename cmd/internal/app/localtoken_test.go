package app_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	fake "github.com/saysohq/sayso/channels/fakes/telegram"
	"github.com/saysohq/sayso/cmd/internal/config"
	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/api"
)

// The token of a data folder lives as long as the embedded record beside it. A shared
// record outlives its replicas' folders: there it runs out after thirty days.
func TestTheLocalTokenOfAReplicaRunsOut(t *testing.T) {
	t.Parallel()
	alone, shared := start(t, folder(t)), onFleet(t)
	replica := start(t, folder(t), func(c *config.Config, _ *fake.Server) { shared(c, nil) })
	for r, life := range map[*running]time.Duration{alone: 0, replica: 30 * 24 * time.Hour} {
		r.signIn(t, "Ann")
		list := send[api.Tokens](t, r, http.StatusOK, call{method: http.MethodGet, path: "/v1/tokens", bearer: r.bearer(t)}).Tokens
		require.Len(t, list, 1)
		require.Equal(t, "local", list[0].Runtime)
		if life == 0 {
			require.Zero(t, list[0].ExpiresAt)
		} else {
			require.Equal(t, list[0].CreatedAt+core.Millis(life.Milliseconds()), list[0].ExpiresAt)
		}
	}
}
