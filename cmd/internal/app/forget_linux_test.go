package app

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCodeIsFoundInTheMapOfAProcess(t *testing.T) {
	t.Parallel()
	const program = "/opt/my apps/sayso"
	first, last, ok := codeOf("00400000-017f0000 r-xp 00000000 fe:00 123 /opt/my apps/sayso", program)
	require.True(t, ok)
	require.Equal(t, uintptr(0x400000), first)
	require.Equal(t, uintptr(0x17f0000), last)
	for _, line := range []string{
		"",
		"00400000-017f0000 rw-p 00000000 fe:00 123 /opt/my apps/sayso",
		"00400000-017f0000 r--p 00000000 fe:00 123 /opt/my apps/sayso",
		"00400000-017f0000 r-xp 00000000 fe:00 123 /opt/other",
		"00400000-017f0000 r-xp 00000000 fe:00 123 /opt/my apps/sayso (deleted)",
		"017f0000-00400000 r-xp 00000000 fe:00 123 /opt/my apps/sayso",
		"7ffe-zzzz r-xp 00000000 fe:00 123 /opt/my apps/sayso",
		"7ffd1000-7ffd2000 r-xp 00000000 00:00 0 [vdso]",
	} {
		_, _, ok := codeOf(line, program)
		require.False(t, ok, line)
	}
}

// Not parallel: other tests would bring the code back.
func TestTheCodeOfTheStartIsForgotten(t *testing.T) { //nolint:paralleltest // See above.
	before := residentCode(t)
	require.NoError(t, forgetStart())
	require.Less(t, residentCode(t), before/2)
}

// residentCode is how much of the program's code is in memory, in KiB.
func residentCode(t *testing.T) (kib int) {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/smaps")
	require.NoError(t, err)
	program, err := os.Readlink("/proc/self/exe")
	require.NoError(t, err)
	ours := false
	for line := range strings.Lines(string(maps)) {
		line = strings.TrimSpace(line)
		if mapping, _, _ := strings.Cut(line, " "); strings.Contains(mapping, "-") {
			_, _, ours = codeOf(line, program)
		}
		if size, found := strings.CutPrefix(line, "Rss:"); found && ours {
			n, err := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(size, "kB")))
			require.NoError(t, err)
			kib += n
		}
	}
	require.Positive(t, kib)
	return kib
}
