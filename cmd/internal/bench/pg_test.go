package bench

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A colon in a literal is no variable of pgbench's.
func TestScriptLiterals(t *testing.T) {
	t.Parallel()
	for quoted, want := range map[string]string{
		`'plain'`: `'plain'`, `NULL`: `NULL`, `'{"a":1}'`: `E'{"a"\0721}'`, `E'back\\slash:x'`: `E'back\\slash\072x'`,
	} {
		require.Equal(t, want, scriptLiteral(quoted))
	}
}

// What a process of waiting callers is told arrives there; its token is not told.
func TestParkIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	p := Park{Addr: "127.0.0.1:1", Token: "AAAA", First: 7, Count: 3}
	require.NotContains(t, strings.Join(p.Strings(), " "), p.Token)
	got, err := ParkOf(p.Strings(), p.Token)
	require.NoError(t, err)
	require.Equal(t, p, got)
	for _, bad := range [][]string{nil, {"a", "b", "1"}, {"a", "1", "b"}} {
		_, err := ParkOf(bad, "")
		require.Error(t, err)
	}
	require.Error(t, p.Run(context.Background(), strings.NewReader(""), &bytes.Buffer{}), "nobody listens there")
}

// Times of this very process are found, and grow.
func TestProcessorTime(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		require.ErrorIs(t, err, os.ErrNotExist)
		return // Only Linux tells.
	}
	before, err := ticks("self", 14, 15)
	require.NoError(t, err)
	for began := time.Now(); time.Since(began) < 3*tick; {
		continue
	}
	after, err := ticks("self", 14, 15)
	require.NoError(t, err)
	require.GreaterOrEqual(t, after, before)
	_, err = ticks("0", 14)
	require.Error(t, err)
	require.Equal(t, "30 µs (server 20, caller 10)", processor{server: 40 * time.Microsecond, client: 20 * time.Microsecond}.each(2))
}

// The commit is between the two bounds: only where both agree is there a verdict.
func TestVerdictOfWaking(t *testing.T) {
	t.Parallel()
	fast, slow := latencies{time.Millisecond}, latencies{time.Second}
	require.Equal(t, ok, (&woken{sinceRecord: fast, sinceAnswer: fast}).verdict())
	require.Equal(t, missed, (&woken{sinceRecord: slow, sinceAnswer: slow}).verdict())
	require.Contains(t, (&woken{sinceRecord: slow, sinceAnswer: fast}).verdict(), "between")
}
