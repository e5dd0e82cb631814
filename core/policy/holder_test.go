package policy_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core/policy"
)

// A bad set of tables is refused, and the one in force stays; what asks with none at
// all is everything.
func TestHolderKeepsTheOldPolicy(t *testing.T) {
	t.Parallel()
	var h policy.Holder
	require.Nil(t, h.Current())
	require.Equal(t, policy.Status{}, h.Status())
	require.Equal(t, policy.Ask, policy.Evaluate(h.Current(), call("Read", `{}`), inputs()).Answer)

	broken := errors.New("no such file")
	_, err := h.Reload(func() (*policy.Policy, error) { return nil, broken })
	require.ErrorIs(t, err, broken)
	require.Nil(t, h.Current())
	require.ErrorIs(t, h.Status().Err, broken)

	first := compiled(t, policy.Table{})
	changed, err := h.Reload(func() (*policy.Policy, error) { return first, nil })
	require.NoError(t, err)
	require.True(t, changed)
	require.Equal(t, policy.Status{Digest: first.Digest(), Version: 1}, h.Status())

	_, err = h.Reload(func() (*policy.Policy, error) { return nil, broken })
	require.ErrorIs(t, err, broken)
	require.Same(t, first, h.Current())
	require.Equal(t, first.Digest(), h.Status().Digest)
	require.ErrorIs(t, h.Status().Err, broken)
	_, err = h.Reload(func() (*policy.Policy, error) { return nil, nil }) //nolint:nilnil // The build at fault.
	require.Error(t, err)
	require.Same(t, first, h.Current())

	changed, err = h.Reload(func() (*policy.Policy, error) { return compiled(t, policy.Table{}), nil })
	require.NoError(t, err)
	require.False(t, changed, "the same tables")
	require.Equal(t, policy.Status{Digest: first.Digest(), Version: 1}, h.Status())

	second := compiled(t, policy.Table{DefaultMode: policy.ModeMoney})
	changed, err = h.Reload(func() (*policy.Policy, error) { return second, nil })
	require.NoError(t, err)
	require.True(t, changed)
	require.Equal(t, policy.Status{Digest: second.Digest(), Version: 2}, h.Status())
}

// Readers take a whole policy whatever is being loaded.
func TestHolderIsSafe(t *testing.T) {
	t.Parallel()
	var h policy.Holder
	policies := []*policy.Policy{bare(t, policy.Table{}), bare(t, policy.Table{DefaultMode: policy.ModeMoney})}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 200 {
				_, _ = h.Reload(func() (*policy.Policy, error) { return policies[i%2], nil })
				require.Contains(t, []string{policies[0].Digest(), policies[1].Digest()}, h.Status().Digest)
				require.NotNil(t, h.Current())
			}
		})
	}
	wg.Wait()
	require.Positive(t, h.Status().Version)
}
