package sqlite

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
)

func TestTheDeploymentKeepsItsID(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t, newTestClock())
	var first core.Deployment
	t.Run("first process", func(t *testing.T) {
		d, err := runStore(t, cfg).Deployment(t.Context())
		require.NoError(t, err)
		require.NotEmpty(t, d.ID)
		require.Equal(t, int64(1), d.Incarnation)
		require.False(t, d.Sealed)
		first = d
	})
	again, err := runStore(t, cfg).Deployment(t.Context())
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(first, again))
}

func TestSealedKeysAreNewestFirstAndFirstWins(t *testing.T) {
	t.Parallel()
	s, clock := peopleStore(t)
	add := func(purpose, id, sealed string) {
		require.NoError(t, s.AddSealedKey(t.Context(), core.SealedKey{ID: id, Purpose: purpose, Sealed: []byte(sealed), CreatedAt: 1}))
	}
	add("codec", "B", "one")
	add("codec", "A", "two") // In the same millisecond.
	add("codec", "B", "late")
	add("page", "B", "other purpose")

	now := core.MillisOf(clock.now())
	list, err := s.SealedKeys(t.Context(), "codec")
	require.NoError(t, err)
	require.Empty(t, cmp.Diff([]core.SealedKey{
		{ID: "A", Purpose: "codec", Sealed: []byte("two"), CreatedAt: now + 1}, // Made in the same millisecond, dated after it.
		{ID: "B", Purpose: "codec", Sealed: []byte("one"), CreatedAt: now},
	}, list))
	none, err := s.SealedKeys(t.Context(), "nothing")
	require.NoError(t, err)
	require.Empty(t, none)
}
