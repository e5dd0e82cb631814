package app

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
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
	readCode(t)
	before := residentCode(t)
	require.NoError(t, forgetStart())
	require.Less(t, residentCode(t), before/2)
}

// mappings calls fn for each line of the file about this process, with whether the line
// is of a mapping of the program's code, and where that is.
func mappings(t *testing.T, file string, fn func(line string, code bool, first, last uintptr)) {
	t.Helper()
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	program, err := os.Readlink("/proc/self/exe")
	require.NoError(t, err)
	var code bool
	var first, last uintptr
	for line := range strings.Lines(string(content)) {
		line = strings.TrimSpace(line)
		if mapping, _, _ := strings.Cut(line, " "); strings.Contains(mapping, "-") { // Its first line.
			first, last, code = codeOf(line, program)
		}
		fn(line, code, first, last)
	}
}

// readCode brings all of the code into memory.
func readCode(t *testing.T) {
	t.Helper()
	into := make([]byte, 1<<20)
	mappings(t, "/proc/self/maps", func(_ string, code bool, first, last uintptr) {
		for at := first; code && at < last; at += uintptr(len(into)) {
			n := min(int(last-at), len(into))
			local := []unix.Iovec{{Base: &into[0]}}
			local[0].SetLen(n)
			read, err := unix.ProcessVMReadv(os.Getpid(), local, []unix.RemoteIovec{{Base: at, Len: n}}, 0)
			require.NoError(t, err)
			require.Equal(t, n, read)
		}
	})
}

// residentCode is how much of the program's code is in memory, in KiB.
func residentCode(t *testing.T) (kib int) {
	t.Helper()
	mappings(t, "/proc/self/smaps", func(line string, code bool, _, _ uintptr) {
		if size, found := strings.CutPrefix(line, "Rss:"); found && code {
			n, err := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(size, "kB")))
			require.NoError(t, err)
			kib += n
		}
	})
	return kib
}
