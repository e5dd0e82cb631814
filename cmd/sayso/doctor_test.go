package main

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/api"
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
