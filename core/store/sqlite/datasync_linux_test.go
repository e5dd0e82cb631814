package sqlite

import (
	"testing"

	"github.com/stretchr/testify/require"
	driver "modernc.org/sqlite"
)

func TestCommitsSyncDataOnly(t *testing.T) {
	t.Parallel()
	openStore(t, testConfig(t, newTestClock()))
	require.True(t, driver.FdatasyncEnabled())
}
