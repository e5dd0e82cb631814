package storetest

import (
	"context"
	"fmt"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
)

func leaseSpecs() []spec {
	return []spec{
		{"one holder at a time", leaseOneHolder},
		{"a lease that ran out goes to the next with a higher fence", leaseNext},
		{"a lost lease is left alone by its release", leaseLostRelease},
		{"a job lease survives a reopen as long as its holder may", leaseJobReopen},
		{"fences rise with every change of hands", leaseFences},
		{"a holder that was late is a new holder", leaseLate},
		{"of 20 contenders one holds it", leaseContenders},
		{"a lease needs a name, a holder and a length", leaseInvalid},
	}
}

func leaseOneHolder(k *kit) {
	first, err := k.Leases.Acquire(k.ctx, "polling", "a", core.DeliveryLease)
	require.NoError(k.t, err)
	require.Equal(k.t, "a", first.Holder)
	require.Equal(k.t, k.now()+lease, first.Until)
	_, err = k.Leases.Acquire(k.ctx, "polling", "b", core.DeliveryLease)
	require.ErrorIs(k.t, err, core.ErrLeaseLost)
	_, err = k.Leases.Acquire(k.ctx, "sweeping", "b", core.DeliveryLease)
	require.NoError(k.t, err, "another job")
	k.advance(30_000)
	renewed, err := k.Leases.Acquire(k.ctx, "polling", "a", core.DeliveryLease)
	require.NoError(k.t, err)
	require.Equal(k.t, k.now()+lease, renewed.Until)
	require.Equal(k.t, first.Fence, renewed.Fence, "a renewal is the same term")
	require.NoError(k.t, k.Leases.Release(k.ctx, renewed))
	next, err := k.Leases.Acquire(k.ctx, "polling", "b", core.DeliveryLease)
	require.NoError(k.t, err)
	require.Greater(k.t, next.Fence, renewed.Fence)
}

func leaseNext(k *kit) {
	first, err := k.Leases.Acquire(k.ctx, "polling", "a", core.DeliveryLease)
	require.NoError(k.t, err)
	k.advanceTo(first.Until - 1)
	_, err = k.Leases.Acquire(k.ctx, "polling", "b", core.DeliveryLease)
	require.ErrorIs(k.t, err, core.ErrLeaseLost)
	k.advanceTo(first.Until)
	second, err := k.Leases.Acquire(k.ctx, "polling", "b", core.DeliveryLease)
	require.NoError(k.t, err)
	require.Greater(k.t, second.Fence, first.Fence)
	_, err = k.Leases.Acquire(k.ctx, "polling", "a", core.DeliveryLease)
	require.ErrorIs(k.t, err, core.ErrLeaseLost)
}

func leaseLostRelease(k *kit) {
	first, err := k.Leases.Acquire(k.ctx, "polling", "a", core.DeliveryLease)
	require.NoError(k.t, err)
	k.advanceTo(first.Until)
	_, err = k.Leases.Acquire(k.ctx, "polling", "b", core.DeliveryLease)
	require.NoError(k.t, err)
	require.NoError(k.t, k.Leases.Release(k.ctx, first))
	_, err = k.Leases.Acquire(k.ctx, "polling", "c", core.DeliveryLease)
	require.ErrorIs(k.t, err, core.ErrLeaseLost, "b still holds it")
	require.NoError(k.t, k.Leases.Release(k.ctx, core.Lease{Name: "unknown", Holder: "a", Fence: 1}))
}

func leaseJobReopen(k *kit) {
	first, err := k.Leases.Acquire(k.ctx, "polling", "a", core.DeliveryLease)
	require.NoError(k.t, err)
	k.reopen()
	second, err := k.Leases.Acquire(k.ctx, "polling", "b", core.DeliveryLease)
	if k.Exclusive { // Nobody else can be alive.
		require.NoError(k.t, err)
		require.Greater(k.t, second.Fence, first.Fence)
		return
	}
	require.ErrorIs(k.t, err, core.ErrLeaseLost)
	again, err := k.Leases.Acquire(k.ctx, "polling", "a", core.DeliveryLease)
	require.NoError(k.t, err)
	require.Equal(k.t, first.Fence, again.Fence)
}

func leaseFences(k *kit) {
	last := int64(0)
	for i, holder := range []string{"a", "b", "a", "c", "a", "a"} {
		l, err := k.Leases.Acquire(k.ctx, "polling", holder, core.DeliveryLease)
		require.NoError(k.t, err)
		require.Greater(k.t, l.Fence, last)
		last = l.Fence
		if i%2 == 0 {
			require.NoError(k.t, k.Leases.Release(k.ctx, l))
		} else {
			k.advanceTo(l.Until)
		}
	}
}

func leaseLate(k *kit) {
	first, err := k.Leases.Acquire(k.ctx, "polling", "a", core.DeliveryLease)
	require.NoError(k.t, err)
	k.advanceTo(first.Until)
	again, err := k.Leases.Acquire(k.ctx, "polling", "a", core.DeliveryLease)
	require.NoError(k.t, err)
	require.Greater(k.t, again.Fence, first.Fence, "somebody may have had it meanwhile")
	require.NoError(k.t, k.Leases.Release(k.ctx, first))
	_, err = k.Leases.Acquire(k.ctx, "polling", "b", core.DeliveryLease)
	require.ErrorIs(k.t, err, core.ErrLeaseLost, "the earlier term is over; its release gives nothing up")
}

// leaseContenders: over rounds of a free lease, one that ran out and one that was
// given up, exactly one of those who ask at once gets it, with a fence of its own.
func leaseContenders(k *kit) {
	const contenders = 20
	last := int64(0)
	for round := range 6 {
		got, errs := make([]core.Lease, contenders), make([]error, contenders)
		together(contenders, func(i int) {
			got[i], errs[i] = k.Leases.Acquire(context.Background(), "polling", fmt.Sprintf("%d-%d", round, i), core.DeliveryLease)
		})
		var winner *core.Lease
		for i := range contenders {
			if errs[i] != nil {
				require.ErrorIs(k.t, errs[i], core.ErrLeaseLost)
				continue
			}
			require.Nil(k.t, winner, "two hold it")
			winner = &got[i]
		}
		require.NotNil(k.t, winner, "nobody holds it")
		require.Greater(k.t, winner.Fence, last)
		last = winner.Fence
		if round%2 == 0 {
			k.advanceTo(winner.Until)
		} else {
			require.NoError(k.t, k.Leases.Release(k.ctx, *winner))
		}
	}
}

func leaseInvalid(k *kit) {
	for _, l := range []struct {
		name, holder string
		length       time.Duration
	}{{"", "a", time.Second}, {"polling", "", time.Second}, {"polling", "a", 0}, {"polling", "a", -time.Second}} {
		_, err := k.Leases.Acquire(k.ctx, l.name, l.holder, l.length)
		require.ErrorIs(k.t, err, core.ErrInvalid)
	}
}
