package app

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestEachCallsOncePerIntervalUntilTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		calls := 0
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			each(ctx, localRenewal, func() { calls++ })
		}()
		<-time.After(3*localRenewal + time.Hour) // Of the bubble's clock.
		synctest.Wait()
		require.Equal(t, 3, calls)
		stop()
		<-ended
		require.Equal(t, 3, calls)
	})
}
