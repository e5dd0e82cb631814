package app_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	fake "github.com/saysohq/sayso/channels/fakes/telegram"
	"github.com/saysohq/sayso/cmd/internal/config"
	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/api"
	"github.com/saysohq/sayso/core/bus/redis/redistest"
	"github.com/saysohq/sayso/core/store/postgres"
	"github.com/saysohq/sayso/core/store/postgres/postgrestest"
)

// databases is the PostgreSQL server of the tests, each of which has a database of its
// own on it.
var databases = postgrestest.New(postgrestest.Options{Prepare: postgres.Migrate}) //nolint:gochecknoglobals // TestMain ends it.

// onFleet makes a service one that others may join.
func onFleet(t *testing.T) func(*config.Config, *town) {
	t.Helper()
	key := filepath.Join(t.TempDir(), "secret.key")
	require.NoError(t, os.WriteFile(key, bytes.Repeat([]byte{7}, 32), 0o600))
	dsn, redis := databases.Database(t), redistest.Start(t).URL()
	return func(c *config.Config, _ *town) {
		c.Postgres.DSN, c.Redis.URL, c.SecretKeyFile = config.Secret(dsn), config.Secret(redis), key
	}
}

// join starts another replica of the town's service.
func (w *town) join(t *testing.T) *running {
	t.Helper()
	r := start(t, folder(t), func(c *config.Config, _ *fake.Server) {
		data := c.Data
		*c = w.config
		c.Data = data
	})
	r.bot, r.browser = w.bot, w.browser // The platform, and somebody who is signed in.
	w.replicas = append(w.replicas, r)
	return r
}

// A replica that stops leaves nothing undone: the other one hears all three messengers
// at once, and whatever is pressed there on the cards of the first is an answer.
func TestTheTownIsTakenOver(t *testing.T) {
	t.Parallel()
	w := settle(t, onFleet(t))
	second := w.join(t)
	asked := map[core.Surface]api.Approval{}
	for _, on := range []core.Surface{core.SurfaceTelegram, core.SurfaceSlack, core.SurfaceDiscord} {
		asked[on] = w.asked(t, "Question for "+string(on), places)
	}
	require.NoError(t, w.running.stop())
	w.running, w.replicas = second, []*running{second}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for on, a := range asked {
		cards := w.cards("Question for " + string(on))
		i := slices.IndexFunc(cards, func(c card) bool { return c.on == on && c.owner >= 0 })
		told, err := w.click(ctx, &cards[i], w.people[cards[i].owner], cards[i].payload("Deny"))
		require.NoError(t, err)
		require.True(t, justNow(told), told)
		w.ended(t, a.ID)
		w.converged(t, a.ID)
	}
	w.obeyed(t)
	records, ledger := w.kept(t)
	for on, asked := range asked {
		a, err := records.Approval(t.Context(), core.Lookup{ID: asked.ID})
		require.NoError(t, err)
		require.Equal(t, on, a.Surface)
		rows, err := ledger.DeliveriesOf(t.Context(), a.ID)
		require.NoError(t, err)
		require.Len(t, rows, places)
		w.truthful(t, &a, rows)
	}
}
