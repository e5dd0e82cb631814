package fakes_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/channels/fakes"
)

func TestScript(t *testing.T) {
	t.Parallel()
	var s fakes.Script
	require.Nil(t, s.Take(fakes.OpSend, "1"))
	twice := s.Add(fakes.Fault{Kind: fakes.FaultRateLimit, Op: fakes.OpSend, Address: "1", Times: 2})
	always := s.Add(fakes.Fault{Kind: fakes.FaultServerError, Times: -1})
	require.Equal(t, always, s.Take(fakes.OpEdit, "1"), "another operation")
	require.Equal(t, always, s.Take(fakes.OpSend, "2"), "another chat")
	require.Equal(t, twice, s.Take(fakes.OpSend, "1"))
	<-twice.Hit()
	require.Equal(t, twice, s.Take(fakes.OpSend, "1"))
	require.Equal(t, always, s.Take(fakes.OpSend, "1"), "used up")
	s.Clear()
	require.Nil(t, s.Take(fakes.OpSend, "1"))
}

func TestHold(t *testing.T) {
	t.Parallel()
	var s fakes.Script
	f := s.Add(fakes.Fault{Kind: fakes.FaultHold})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.False(t, f.Hold(ctx), "the caller left")
	f.Release()
	require.True(t, f.Hold(t.Context()))
}

func TestAwait(t *testing.T) {
	t.Parallel()
	var s fakes.Signal
	n := make(chan int, 1)
	go func() {
		n <- 7
		s.Notify()
	}()
	got, err := fakes.Await(t.Context(), &s, func() (int, bool) { return len(n), len(n) == 1 })
	require.NoError(t, err)
	require.Equal(t, 1, got)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = fakes.Await(ctx, &s, func() (int, bool) { return 0, false })
	require.ErrorIs(t, err, context.Canceled)
}

func TestClock(t *testing.T) {
	t.Parallel()
	c := fakes.NewClock()
	before := c.Now()
	c.Advance(time.Minute)
	require.Equal(t, time.Minute, c.Now().Sub(before))
}
