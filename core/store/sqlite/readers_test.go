package sqlite

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
)

// memory opens a database that is nowhere.
func memory() (*handle, error) { return openHandle(":memory:", nil) }

func TestReadersHandBackResultAndPanic(t *testing.T) {
	t.Parallel()
	r := newReaders(1, memory)
	defer r.close()
	failure := errors.New("failed")
	require.ErrorIs(t, r.do(t.Context(), func(*handle) error { return failure }), failure)
	require.PanicsWithValue(t, "broken", func() {
		_ = r.do(t.Context(), func(*handle) error { panic("broken") }) // It never returns.
	})
	require.NoError(t, r.do(t.Context(), func(*handle) error { return nil }), "a panic costs one read, not the goroutine")
}

// A caller may go while it waits for a free reader, and not while one fills in
// what is the caller's.
func TestReadersHonourContextUntilTheyBegin(t *testing.T) {
	t.Parallel()
	r := newReaders(1, memory)
	begun, end, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		ended <- r.do(ctx, func(*handle) error { close(begun); <-end; return nil })
	}()
	<-begun
	cancel()
	require.ErrorIs(t, r.do(ctx, func(*handle) error { return errors.New("it must not run") }), context.Canceled)
	select {
	case err := <-ended:
		require.Fail(t, "the read that had begun was left alone", "%v", err)
	default:
	}
	close(end)
	require.NoError(t, <-ended)
	r.close()
	require.ErrorIs(t, r.do(t.Context(), func(*handle) error { return nil }), core.ErrUnavailable)
}

// A connection that cannot be opened costs the read that wanted it, and no other.
func TestReadersOpenAgain(t *testing.T) {
	t.Parallel()
	fails := true
	r := newReaders(1, func() (*handle, error) {
		if fails {
			return nil, core.ErrUnavailable
		}
		return memory()
	})
	defer r.close()
	read := func(h *handle) error {
		var n int64
		return h.one("SELECT 1", nil, []any{&n})
	}
	require.ErrorIs(t, r.do(t.Context(), read), core.ErrUnavailable)
	fails = false // The reader is at rest: nobody else looks at it.
	require.NoError(t, r.do(t.Context(), read))
}
