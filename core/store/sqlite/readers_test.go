package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReadersHandBackResultAndPanic(t *testing.T) {
	t.Parallel()
	r := newReaders(1)
	defer r.close()
	failure := errors.New("failed")
	require.ErrorIs(t, r.do(t.Context(), func() error { return failure }), failure)
	require.PanicsWithValue(t, "broken", func() {
		_ = r.do(t.Context(), func() error { panic("broken") }) // It never returns.
	})
	require.NoError(t, r.do(t.Context(), func() error { return nil }), "a panic costs one read, not the goroutine")
}

// A caller may go while it waits for a free reader, and not while one fills in
// what is the caller's.
func TestReadersHonourContextUntilTheyBegin(t *testing.T) {
	t.Parallel()
	r := newReaders(1)
	begun, end, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		ended <- r.do(ctx, func() error { close(begun); <-end; return nil })
	}()
	<-begun
	cancel()
	require.ErrorIs(t, r.do(ctx, func() error { return errors.New("it must not run") }), context.Canceled)
	select {
	case err := <-ended:
		require.Fail(t, "the read that had begun was left alone", "%v", err)
	default:
	}
	close(end)
	require.NoError(t, <-ended)
	r.close()
	require.ErrorIs(t, r.do(t.Context(), func() error { return nil }), sql.ErrConnDone)
}
