package gateway_test

import (
	"flag"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write openapi.yaml again")

// The committed description is the API; run with -update after a change.
func TestSpecIsCurrent(t *testing.T) {
	t.Parallel()
	got, err := newEdge(t).gateway.Spec()
	require.NoError(t, err)
	if *update {
		require.NoError(t, os.WriteFile("openapi.yaml", got, 0o600))
		return
	}
	want, err := os.ReadFile("openapi.yaml")
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(string(want), string(got)), "run go test ./core/gateway -run TestSpecIsCurrent -update")
}

func TestSpecIsServed(t *testing.T) {
	t.Parallel()
	w := newEdge(t).do(t, "", http.MethodGet, "/openapi.yaml", "")
	require.Equal(t, http.StatusOK, w.Code)
	require.Equal(t, "application/yaml", w.Header().Get("Content-Type"))
	require.True(t, strings.HasPrefix(w.Body.String(), "components:") || strings.Contains(w.Body.String(), "openapi: 3.1"))
}

// Formats of strings would make the framework repeat values in its rules; every
// error is a problem; nothing carries $schema.
func TestSpecHasNoTraps(t *testing.T) {
	t.Parallel()
	spec, err := newEdge(t).gateway.Spec()
	require.NoError(t, err)
	for _, trap := range []string{"$schema", "ErrorModel", "ErrorDetail", "format: uri", "format: email", "format: date", "contentEncoding"} {
		require.Zero(t, strings.Count(string(spec), trap), trap) // Not Contains: it would print the spec.
	}
	require.NotZero(t, strings.Count(string(spec), "application/problem+json"))
}
