package deliveries

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
)

// A repeated send has the nonce of the first, whatever a failed attempt left in the
// row; another message has another.
func TestNonce(t *testing.T) {
	t.Parallel()
	row := core.Delivery{ID: "d1", Step: core.StepCard}
	first := nonce(&row, "5")
	require.LessOrEqual(t, len(first), 25)
	require.Regexp(t, `^[A-Za-z0-9_-]+$`, first)
	again := row
	again.State, again.Attempts, again.Ambiguous, again.Fence = core.DeliverySending, 3, true, 9
	again.Address = "5"
	require.Equal(t, first, nonce(&again, "5"))
	seen := map[string]bool{first: true}
	for _, change := range []func(*core.Delivery){
		func(d *core.Delivery) { d.ID = "d2" },
		func(d *core.Delivery) { d.Generation = 1 },
		func(d *core.Delivery) { d.Step = core.StepFollowup },
		func(d *core.Delivery) { d.Locator = "5:6" },
	} {
		other := row
		change(&other)
		require.False(t, seen[nonce(&other, "5")])
		seen[nonce(&other, "5")] = true
	}
	require.NotEqual(t, first, nonce(&row, "7"), "another chat")
}
