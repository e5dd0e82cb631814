package transfer

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func sumOf(t *testing.T, rows ...[]any) sum {
	t.Helper()
	var s sum
	for _, row := range rows {
		require.NoError(t, s.add(row))
	}
	return s
}

func TestSumDoesNotDependOnTheOrder(t *testing.T) {
	t.Parallel()
	a, b, c := []any{"a", int64(1)}, []any{"b", nil}, []any{[]byte("c"), int64(-1)}
	require.Equal(t, sumOf(t, a, b, c), sumOf(t, c, a, b))
	require.Equal(t, int64(3), sumOf(t, a, b, c).rows)
	require.NotEqual(t, sumOf(t, a, b), sumOf(t, a, b, b))
	require.Len(t, (&sum{}).digest(), 64)
}

// Rows that a careless encoding would take for one another.
func TestSumTellsRowsApart(t *testing.T) {
	t.Parallel()
	seen := map[string][]any{}
	for _, row := range [][]any{
		{}, {nil}, {""}, {[]byte{}}, {int64(0)}, {"0"}, {nil, nil}, {"a", "b"}, {"ab", ""}, {"", "ab"}, {"b", "a"},
		{[]byte("ab"), ""}, {"a", nil}, {nil, "a"}, {"ab"}, {"a\x00b"}, {int64(-1)}, {int64(1)}, {"t\x01a"},
	} {
		s := sumOf(t, row)
		require.NotContains(t, seen, s.digest(), "%v and %v", row, seen[s.digest()])
		seen[s.digest()] = row
	}
	var s sum
	require.Error(t, s.add([]any{3.14}), "no table has such a value")
}

func TestParentsComeFirst(t *testing.T) {
	t.Parallel()
	ordered, err := parentsFirst([]table{{name: "c", parents: []string{"b"}}, {name: "b", parents: []string{"a", "b"}}, {name: "a"}})
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b", "c"}, []string{ordered[0].name, ordered[1].name, ordered[2].name})
	_, err = parentsFirst([]table{{name: "a", parents: []string{"b"}}, {name: "b", parents: []string{"a"}}})
	require.Error(t, err)
}
