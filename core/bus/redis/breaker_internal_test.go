package redis

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBreaker(t *testing.T) {
	t.Parallel()
	var b breaker
	require.True(t, b.allow(at(0)))
	require.True(t, b.allow(at(0)), "while all is well everybody asks")
	require.False(t, b.done(at(0), true), "which is no news")
	require.True(t, b.done(at(0), false))
	require.False(t, b.done(at(0.01), false), "told once")
	require.False(t, b.allow(at(0.9)))
	require.True(t, b.allow(at(1.1)), "one asks for all")
	require.False(t, b.allow(at(1.2)))
	require.False(t, b.done(at(1.2), false))
	require.False(t, b.allow(at(2.1)))
	require.True(t, b.allow(at(2.3)))
	require.True(t, b.done(at(2.3), true))
	require.True(t, b.allow(at(2.3)))
}
