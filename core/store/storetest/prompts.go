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
