package postgres

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParametersAreNumbered(t *testing.T) {
	t.Parallel()
	var known texts
	for query, want := range map[string]string{
		"SELECT 1":                             "SELECT 1",
		"a = ? AND b = ?":                      "a = $1 AND b = $2",
		"a = ?2 AND b = ?1 AND c = ?12":        "a = $2 AND b = $1 AND c = $12",
		"VALUES (?, ?, ?) ON CONFLICT (a, b)":  "VALUES ($1, $2, $3) ON CONFLICT (a, b)",
		"CAST(?1 AS bigint) + CAST(?1 AS int)": "CAST($1 AS bigint) + CAST($1 AS int)",
	} {
		require.Equal(t, want, known.of(query))
		require.Equal(t, want, known.of(query), "as it is kept")
	}
}
