//go:build unix

package faults_test

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/cmd/internal/faults"
)

// The figures of the short campaigns, which run with all other tests.
const (
	shortQuestions = 100
	shortKills     = 10
	shortSeed      = 7
)

// Replicas are killed again and again while questions are asked and answered, once with
// messengers that are listened to by whoever holds the lease, and once with messengers
// that push to whichever replica is there; every promise holds. The other faults, and
// larger numbers, are those of `make faults`.
func TestShortCampaign(t *testing.T) {
	t.Parallel()
	sayso := filepath.Join(t.TempDir(), "sayso")
	args := []string{"build", "-o", sayso}
	if raceEnabled {
		args = append(args, "-race")
	}
	out, err := exec.CommandContext(t.Context(), "go", append(args, "github.com/saysohq/sayso/cmd/sayso")...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	for fault, happened := range map[string]string{
		"kill": "replicas killed 10 ", "pushes": "pushes taken by replica b",
	} {
		var told bytes.Buffer
		err = faults.Run(t.Context(), faults.Options{
			Sayso: sayso, Only: fault, Count: shortQuestions, Kills: shortKills, Seed: shortSeed, Hurry: true, Out: &told,
		})
		require.NoError(t, err, "%s", told.String())
		t.Log(told.String())
		require.Contains(t, told.String(), happened)
		require.Contains(t, told.String(), "1 faults in")
	}
}
