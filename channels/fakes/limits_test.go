package fakes_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/channels/fakes"
)

// admit sends one request after another at the given moments and returns the waits.
func admit(l *fakes.Limiter, r fakes.Request, at ...time.Duration) []time.Duration {
	var waits []time.Duration
	for _, d := range at {
		r.At = time.Unix(1_000, 0).Add(d)
		wait, _ := l.Admit(r, 0)
		waits = append(waits, wait)
	}
	return waits
}

func TestLimitsOfAChat(t *testing.T) {
	t.Parallel()
	l := fakes.NewLimiter(fakes.Limits{Shared: fakes.Limit{Calls: 2, Per: 10 * time.Second}, Unit: time.Second}.Faster(2))
	got := admit(l, fakes.Request{Chat: "a"}, 0, time.Second, 1500*time.Millisecond, 2*time.Second, 5500*time.Millisecond, 5600*time.Millisecond)
	require.Equal(t, []time.Duration{0, 0, 4 * time.Second, 3500 * time.Millisecond, 0, time.Second}, got)
	require.Equal(t, []time.Duration{0}, admit(l, fakes.Request{Chat: "b"}, time.Second), "another chat")
	require.Equal(t, []time.Duration{0, 0, 0}, admit(l, fakes.Request{Chat: "c", Direct: true}, 0, 0, 0), "no limit for these")
	seen := l.Traffic()
	require.Equal(t, 2, seen.Refused)
	require.Equal(t, 1, seen.Early, "before the 4 s had passed")
	require.Len(t, seen.Requests, 10)
	require.True(t, seen.Requests[2].Refused)
}

func TestLimitOfEditsIsTheAccounts(t *testing.T) {
	t.Parallel()
	l := fakes.NewLimiter(fakes.Limits{Edits: fakes.Limit{Calls: 1, Per: time.Minute}, Shared: fakes.Limit{Calls: 1, Per: time.Minute}})
	require.Equal(t, []time.Duration{0}, admit(l, fakes.Request{Chat: "a", Edit: true}, 0))
	require.Equal(t, []time.Duration{time.Minute}, admit(l, fakes.Request{Chat: "b", Edit: true}, 0))
	require.Equal(t, []time.Duration{0, time.Minute}, admit(l, fakes.Request{Chat: "a"}, 0, 0), "posts are counted apart")
}

func TestLimitOfTheAccount(t *testing.T) {
	t.Parallel()
	for _, whole := range []bool{true, false} {
		l := fakes.NewLimiter(fakes.Limits{Account: fakes.Limit{Calls: 1, Per: time.Second}, Whole: whole})
		require.Equal(t, []time.Duration{0}, admit(l, fakes.Request{Chat: "a"}, 0))
		wait, all := l.Admit(fakes.Request{Chat: "b", At: time.Unix(1_000, 0)}, 0)
		require.Equal(t, time.Second, wait)
		require.Equal(t, whole, all)
		admit(l, fakes.Request{Chat: "c"}, 200*time.Millisecond)
		early := 0
		if whole {
			early = 1
		}
		require.Equal(t, early, l.Traffic().Early, "who was not told that it is the account's cannot know")
	}
}

func TestScriptedRefusalIsWatched(t *testing.T) {
	t.Parallel()
	l := fakes.NewLimiter(fakes.Limits{Shared: fakes.Limit{Calls: 100, Per: time.Second}})
	wait, _ := l.Admit(fakes.Request{Chat: "a", At: time.Unix(1_000, 0)}, 2*time.Second)
	require.Equal(t, 2*time.Second, wait)
	require.Equal(t, []time.Duration{time.Second, 0}, admit(l, fakes.Request{Chat: "a"}, time.Second, 2*time.Second))
	require.Equal(t, 1, l.Traffic().Early)
	require.Equal(t, 0, l.Traffic().Refused)

	wait, _ = l.Admit(fakes.Request{Chat: "b", At: time.Unix(1_000, 0)}, 2*time.Second)
	require.Equal(t, 2*time.Second, wait)
	require.Equal(t, []time.Duration{1950 * time.Millisecond}, admit(l, fakes.Request{Chat: "b"}, 50*time.Millisecond), "refused all the same")
	require.Equal(t, 1, l.Traffic().Early, "it was under way")
}

func TestNoLimitsNoRefusals(t *testing.T) {
	t.Parallel()
	var none *fakes.Limiter
	wait, _ := none.Admit(fakes.Request{Chat: "a"}, 0)
	require.Zero(t, wait)
	l := fakes.NewLimiter(fakes.Limits{})
	require.Equal(t, make([]time.Duration, 50), admit(l, fakes.Request{Chat: "a"}, make([]time.Duration, 50)...))
	require.Empty(t, l.Traffic().Requests)
}
