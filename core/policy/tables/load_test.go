package tables_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core/policy/tables"
)

func TestStarterCompiles(t *testing.T) {
	t.Parallel()
	p, err := tables.Load(tables.Files{})
	require.NoError(t, err)
	require.NotNil(t, p)
}
