package bench

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestQuantilesStayInside(t *testing.T) {
	t.Parallel()
	require.Zero(t, latencies(nil).at(0.99))
	l := sorted([]time.Duration{3, 1}, []time.Duration{2})
	require.Equal(t, latencies{1, 2, 3}, l)
	require.Equal(t, []time.Duration{1, 2, 3, 3}, []time.Duration{l.at(0), l.at(0.5), l.at(0.99), l.at(1)})
}

// The ratio is of pairs: a disk that slows both sides down changes nothing, and a
// raw side that varied more than twofold allows no verdict.
func TestVerdicts(t *testing.T) {
	t.Parallel()
	steady := &pairs{}
	steady.add(1000, 6000)
	steady.add(700, 4200)
	steady.add(1300, 7800)
	require.Equal(t, ok, steady.verdict(5))
	require.Equal(t, missed, steady.verdict(7))
	require.Contains(t, steady.value(), "6.00x [6.00-6.00], n=3")
	steady.add(400, 2400)
	require.Equal(t, noisy, steady.verdict(5))
	require.Equal(t, noisy, steady.verdict(7))
}

func TestTickIsFlagged(t *testing.T) {
	t.Parallel()
	require.Contains(t, short(4*time.Millisecond), "suspect")
	require.NotContains(t, short(3*time.Millisecond), "suspect")
	require.NotContains(t, short(5*time.Millisecond), "suspect")
}

func TestReportIsATable(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	r := report{}
	r.add("a measure", "1", "<= 2", judge(true))
	r.add("another", "3", "<= 2", judge(false))
	r.print(&out)
	require.Equal(t, "\nmeasure    value  target  verdict\na measure  1      <= 2    ok\nanother    3      <= 2    missed\n", out.String())
}
