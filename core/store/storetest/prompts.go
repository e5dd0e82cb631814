package storetest

import (
	"fmt"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
)

func promptSpecs() []spec {
	return []spec{
		{"a prompt is found by ref and by its message", promptFound},
		{"a prompt is answered once", promptOnce},
		{"now equal to the end of a prompt is too late", promptExpires},
		{"a prompt belongs to one place", promptPlace},
		{"a prompt has one of the purposes", promptPurposes},
	}
}

func leaseSpecs() []spec {
	return []spec{
		{"one holder at a time", leaseOneHolder},
		{"a lease that ran out goes to the next with a higher fence", leaseNext},
		{"a lost lease is left alone by its release", leaseLostRelease},
		{"a job lease survives a reopen as long as its holder may", leaseJobReopen},
	}
}

func (k *kit) prompt() core.Prompt {
	k.t.Helper()
	id := fmt.Sprintf("prompt-%d", k.number())
	p, err := k.OpenPrompt(k.ctx, core.Prompt{
		Ref: core.ResolutionRef("prompt", id), ID: id, Purpose: core.PromptNote,
		Channel: core.SurfaceTelegram, Account: account, Chat: "chat-1", Realm: "telegram", ExternalID: "42",
		Label: "@bob", ApprovalID: "approval", DeliveryID: "delivery", CodeHash: "", PrincipalID: "",
	}, core.PromptLife)
	require.NoError(k.t, err)
	require.Equal(k.t, k.now()+core.PromptLife, p.ExpiresAt)
	require.Zero(k.t, p.DoneAt)
	return p
}

func promptFound(k *kit) {
	p := k.prompt()
	got, err := k.PromptByRef(k.ctx, p.Ref)
	require.NoError(k.t, err)
	require.Equal(k.t, p, got)
	require.NoError(k.t, k.PlacePrompt(k.ctx, p.ID, "message-1"))
	p.Message = "message-1"
	k.reopen()
	got, err = k.PromptAt(k.ctx, bot(account), "message-1")
	require.NoError(k.t, err)
	require.Equal(k.t, p, got)
	_, err = k.PromptByRef(k.ctx, core.ResolutionRef("prompt", "nothing"))
	require.ErrorIs(k.t, err, core.ErrNotFound)
	require.ErrorIs(k.t, k.PlacePrompt(k.ctx, "nothing", "message-2"), core.ErrNotFound)
	require.ErrorIs(k.t, k.FinishPrompt(k.ctx, "nothing"), core.ErrNotFound)
}

// promptPurposes: every purpose is kept as it is, and nothing else is stored.
func promptPurposes(k *kit) {
	for _, purpose := range []core.PromptPurpose{core.PromptNote, core.PromptLink, core.PromptTest, "other"} {
		id := "prompt-for-" + string(purpose)
		_, err := k.OpenPrompt(k.ctx, core.Prompt{
			Ref: core.ResolutionRef("prompt", id), ID: id, Purpose: purpose,
			Channel: core.SurfaceTelegram, Account: account, Chat: "chat-1", Realm: "telegram", ExternalID: "42",
		}, core.PromptLife)
		if !purpose.Valid() {
			require.Error(k.t, err)
			continue
		}
		require.NoError(k.t, err)
		got, err := k.PromptByRef(k.ctx, core.ResolutionRef("prompt", id))
		require.NoError(k.t, err)
		require.Equal(k.t, purpose, got.Purpose)
	}
}

func promptOnce(k *kit) {
	p := k.prompt()
	require.NoError(k.t, k.PlacePrompt(k.ctx, p.ID, "message-1"))
	require.NoError(k.t, k.FinishPrompt(k.ctx, p.ID))
	require.ErrorIs(k.t, k.FinishPrompt(k.ctx, p.ID), core.ErrNotFound)
	_, err := k.PromptByRef(k.ctx, p.Ref)
	require.ErrorIs(k.t, err, core.ErrNotFound)
	_, err = k.PromptAt(k.ctx, bot(account), "message-1")
	require.ErrorIs(k.t, err, core.ErrNotFound)
}

func promptExpires(k *kit) {
	p := k.prompt()
	require.NoError(k.t, k.PlacePrompt(k.ctx, p.ID, "message-1"))
	k.advanceTo(p.ExpiresAt - 1)
	_, err := k.PromptByRef(k.ctx, p.Ref)
	require.NoError(k.t, err)
	k.advanceTo(p.ExpiresAt)
	_, err = k.PromptByRef(k.ctx, p.Ref)
	require.ErrorIs(k.t, err, core.ErrNotFound)
	_, err = k.PromptAt(k.ctx, bot(account), "message-1")
	require.ErrorIs(k.t, err, core.ErrNotFound)
	require.ErrorIs(k.t, k.FinishPrompt(k.ctx, p.ID), core.ErrNotFound)
}

func promptPlace(k *kit) {
	p, unsent := k.prompt(), k.prompt()
	require.NoError(k.t, k.PlacePrompt(k.ctx, p.ID, "message-1"))
	for _, ref := range []core.AccountRef{bot(otherAccount), {Channel: core.SurfaceSlack, Account: account}} {
		_, err := k.PromptAt(k.ctx, ref, "message-1")
		require.ErrorIs(k.t, err, core.ErrNotFound)
	}
	_, err := k.PromptAt(k.ctx, bot(account), "")
	require.ErrorIs(k.t, err, core.ErrNotFound, "an unsent prompt stands nowhere")
	_, err = k.PromptByRef(k.ctx, unsent.Ref)
	require.NoError(k.t, err)
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
