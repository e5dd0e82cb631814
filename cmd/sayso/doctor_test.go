package main

import (
	"context"
	"encoding/json"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/api"
	"github.com/saysohq/sayso/core/client"
)

var update = flag.Bool("update", false, "write the golden files anew")

// What people read: a line for each check, and under each that is not in order what
// to do.
func TestReport(t *testing.T) {
	t.Parallel()
	telegram := func(check string, v api.Health, detail string) api.Finding {
		return api.Finding{Channel: core.SurfaceTelegram, Account: "7000000001", Check: check, Verdict: v, Detail: detail}
	}
	ann, bob, webhook := telegram("test-card", api.HealthOK, "the card arrived and its click came back"),
		telegram("test-card", api.HealthFailed, "the card was sent, and no click came back"),
		telegram("webhook", api.HealthOK, "none, as polling needs it; 0 updates wait")
	ann.Name, bob.Name, webhook.Mended = "Ann", "Bob", true
	bob.Fix = "Let them press its button and run sayso doctor again."
	found := []api.Finding{
		{Check: "service", Verdict: api.HealthOK, Detail: "it runs"},
		telegram("token", api.HealthOK, "the bot is @sayso_bot"), webhook, ann, bob,
		{
			Channel: core.SurfaceDiscord, Account: "900", Check: "permissions", Verdict: api.HealthUnknown,
			Detail: "the platform asks for a pause", Fix: "Wait a minute and run sayso doctor again.",
		},
		{Check: "test-card", Name: "Cem", Verdict: api.HealthUnknown, Detail: "not linked to any chat", Fix: "Link them anew: sayso link cem."},
	}
	var b strings.Builder
	require.NoError(t, writeReport(&b, found))
	golden := filepath.Join("testdata", "doctor.golden")
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(b.String()), 0o600))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), b.String())
	require.False(t, wellAll(found))

	b.Reset()
	require.NoError(t, writeReport(&b, found[:4]))
	require.True(t, strings.HasSuffix(b.String(), "\nAll is well.\n"))
	require.True(t, wellAll(found[:4]))
}

// examined answers an examination with the given states, the last one again and
// again.
func examined(t *testing.T, states ...api.Examination) *client.Client {
	t.Helper()
	calls := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(states[min(calls, len(states)-1)]) // The caller may have left.
		calls++
	}))
	t.Cleanup(s.Close)
	c, err := client.New(client.Config{BaseURL: s.URL})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// The command waits for clicks, tells what it waits for, and stops when all are back.
func TestWaitsForClicks(t *testing.T) {
	t.Parallel()
	card := func(v api.Health, waiting int) api.Examination {
		return api.Examination{ID: "e", Waiting: waiting, Findings: []api.Finding{{Check: "test-card", Name: "Ann", Verdict: v}}}
	}
	waiting, done := card(api.HealthWaiting, 1), card(api.HealthOK, 0)
	var out strings.Builder
	c := &connection{env: environment{stderr: &out}}
	got, err := c.awaitClicks(t.Context(), examined(t, waiting, waiting, done), waiting, &examine{wait: time.Minute, poll: time.Millisecond})
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(done, got))
	require.Contains(t, out.String(), "1 test card(s) sent")

	// Time is up, or somebody interrupts: what did not come back says what to do.
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, x := range []struct {
		ctx  context.Context
		wait time.Duration
	}{{t.Context(), 0}, {t.Context(), 5 * time.Millisecond}, {ended, time.Minute}} {
		got, err = c.awaitClicks(x.ctx, examined(t, waiting), card(api.HealthWaiting, 1), &examine{wait: x.wait, poll: time.Millisecond})
		require.NoError(t, err)
		require.Equal(t, api.HealthFailed, got.Findings[0].Verdict)
		require.Contains(t, got.Findings[0].Fix, "press its button")
	}
}
