package config_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/cmd/internal/config"
)

func TestPolicyFiles(t *testing.T) {
	t.Parallel()
	cfg, err := config.Load(write(t, "policy: {tables: [a.yaml, b.yaml], organisation: o.yaml}\n"), []string{"HOME=/h"}, nil)
	require.NoError(t, err)
	require.Equal(t, config.Policy{Tables: []string{"a.yaml", "b.yaml"}, Organisation: "o.yaml"}, cfg.Policy)
	cfg, err = config.Load("", []string{"HOME=/h", "SAYSO_POLICY__TABLES=/c.yaml,/d.yaml", "SAYSO_POLICY__ORGANISATION=/o.yaml"}, nil)
	require.NoError(t, err)
	require.Equal(t, config.Policy{Tables: []string{"/c.yaml", "/d.yaml"}, Organisation: "/o.yaml"}, cfg.Policy)

	_, err = config.Load(write(t, "policy: {tables: [a, '', a, o], organisation: o}\n"), []string{"HOME=/h"}, nil)
	require.ErrorContains(t, err, "policy.tables[1]: must be the path of a file")
	require.ErrorContains(t, err, "policy.tables[2]: is listed already")
	require.ErrorContains(t, err, "policy.tables[3]: is listed already")
	_, err = config.Load(write(t, "policy: {table: a}\n"), []string{"HOME=/h"}, nil)
	require.ErrorContains(t, err, "unknown keys")
}
