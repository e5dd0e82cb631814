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
		{"a menu keeps what its buttons do", promptChoices},
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
	for _, purpose := range []core.PromptPurpose{core.PromptNote, core.PromptLink, core.PromptTest, core.PromptMenu, core.PromptAgain, "other"} {
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

// promptChoices: what a button does is read back as it was written, whatever an agent
// is called; what no button can do is not stored.
func promptChoices(k *kit) {
	menu := func(choices ...core.Choice) (core.Prompt, error) {
		id := fmt.Sprintf("menu-%d", k.number())
		return k.OpenPrompt(k.ctx, core.Prompt{
			Ref: core.ResolutionRef("prompt", id), ID: id, Purpose: core.PromptMenu, Choices: choices,
			Channel: core.SurfaceTelegram, Account: account, Chat: "chat-1", Realm: "telegram", ExternalID: "42",
		}, core.PromptLife)
	}
	want := []core.Choice{
		{Do: core.ChoiceSetMode, Runtime: "laptop", Agent: "a \"quoted\" </b> 😀 \\u{202E}", Mode: core.ModeOnlyMoney, Revision: 1 << 60},
		{Do: core.ChoiceRemove, RuleID: "rule", Skip: 12},
		{Do: core.ChoiceClose},
	}
	p, err := menu(want...)
	require.NoError(k.t, err)
	k.reopen()
	got, err := k.PromptByRef(k.ctx, p.Ref)
	require.NoError(k.t, err)
	require.Equal(k.t, want, got.Choices)

	_, err = menu(make([]core.Choice, core.MaxChoices+1)...)
	require.ErrorIs(k.t, err, core.ErrInvalid)
	_, err = menu(core.Choice{Do: "anything"})
	require.ErrorIs(k.t, err, core.ErrInvalid)
}
