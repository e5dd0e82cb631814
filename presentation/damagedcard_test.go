package presentation_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/presentation"
)

// The card of a damaged answer offers nothing, whether it is shown whole or not, and
// fits where any settled card does.
func TestDamagedCard(t *testing.T) {
	t.Parallel()
	c := presentation.DamagedCard("id", core.KindExec, 3)
	require.NotNil(t, c.Outcome)
	require.False(t, c.Outcome.Allowed)
	for _, whole := range []bool{true, false} {
		actions, _ := c.Controls(whole)
		require.Empty(t, actions)
	}
	require.Equal(t, int64(3), c.Revision)
	require.Contains(t, c.Outcome.Text, "nobody can say")
	require.Less(t, len(c.Title)+len(c.Outcome.Text), 200)
}
