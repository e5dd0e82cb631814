package approvals

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
)

// looks is a store that is only looked at.
type looks struct {
	Store
	now   map[string]int64
	asked []int // How many at a time.
	fail  int   // So many looks fail first.
}

func (l *looks) Revisions(_ context.Context, ids []string) (map[string]int64, error) {
	l.asked = append(l.asked, len(ids))
	if l.fail > 0 {
		l.fail--
		return nil, core.ErrUnavailable
	}
	return l.now, nil
}

func looking(store *looks) *Service {
	return New(Config{}, Deps{Store: store, Logger: slog.New(slog.DiscardHandler)})
}

// rests registers somebody who waits and has seen a revision.
func (s *Service) rests(id string, seen int64) *waiter {
	one := &waiter{wake: make(chan struct{}, 1)}
	one.seen.Store(seen)
	s.waiters.register(id, one)
	return one
}

// Of those who wait only they read again who have something to read.
func TestALookAtEverythingWakesWhomItConcerns(t *testing.T) {
	t.Parallel()
	store := &looks{now: map[string]int64{"as seen": 4, "changed": 5, "two": 2}}
	s := looking(store)
	still := s.rests("as seen", 4)
	concerned := []*waiter{s.rests("changed", 4), s.rests("gone", 4), s.rests("reads just now", 0), s.rests("two", 1)}
	other := s.rests("two", 2)
	require.NoError(t, s.lookAtAll(t.Context()))
	require.Empty(t, still.wake)
	require.Empty(t, other.wake, "who waits for the same and has seen it")
	for i, one := range concerned {
		require.Len(t, one.wake, 1, i)
	}
	require.Equal(t, []int{4}, store.asked, "one look, without whoever reads for themselves")
}

// However many wait, a look at everything is few questions.
func TestALookAtEverythingIsFewQuestions(t *testing.T) {
	t.Parallel()
	store := &looks{now: map[string]int64{}}
	s := looking(store)
	for i := range 2*core.MaxRevisions + 500 {
		id := fmt.Sprint(i)
		store.now[id] = 1
		s.rests(id, 1)
	}
	require.NoError(t, s.lookAtAll(t.Context()))
	require.Equal(t, []int{core.MaxRevisions, core.MaxRevisions, 500}, store.asked)
	for i := range s.waiters.shards {
		for _, one := range s.waiters.shards[i].byID {
			require.Empty(t, one.wake)
		}
	}
}

// A look that fails is made again by itself: the hint does not come again. Hints that
// come meanwhile ask for one more.
func TestALookThatFailsIsMadeAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &looks{now: map[string]int64{"id": 2}, fail: 2}
		s := looking(store)
		one := s.rests("id", 1)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			s.catchUp(ctx)
		}()
		began := time.Now()
		s.hear(core.Hint{})
		synctest.Wait()
		s.hear(core.Hint{})
		s.hear(core.Hint{})
		<-one.wake
		require.Equal(t, 2*catchUpPause, time.Since(began))
		synctest.Wait()
		require.Equal(t, []int{1, 1, 1, 1}, store.asked)
		cancel()
		<-ended
	})
}
