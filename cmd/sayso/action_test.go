package main

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// What is shown and hashed must be what runs: in JSON all bytes that are no text
// become the same character.
func TestCommandsThatNobodyCouldSeeAreRefused(t *testing.T) {
	t.Parallel()
	for name, argv := range map[string][]string{
		"an argument": {"true", "\xff"},
		"half a rune": {"true", "caf\xc3"},
		"the program": {"tru\xfe"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := resolveCommand(argv, t.TempDir())
			require.Error(t, err)
			require.Equal(t, exitUsage, faultCode(err))
		})
	}
	c, err := resolveCommand([]string{"true", "caf\u00e9"}, t.TempDir())
	require.NoError(t, err)
	require.True(t, filepath.IsAbs(c.Executable))
}
