package callbacks

import (
	"context"
	"errors"
	"fmt"

	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/presentation"
)

// start handles /start: without a code it says hello; with one it asks whether this
// account may decide as the code's person, and nothing is linked before a yes. A
// code in a shared chat was read by others, so it is burned.
func (t *turn) start(ctx context.Context, code string) channels.Answer {
	switch {
	case code == "" && !t.direct:
		return channels.Answer{}
	case code == "":
		return said(presentation.AnswerWelcome)
	case !t.direct:
		if err := t.deps.Linker.BurnCode(ctx, code); err != nil {
			t.log(ctx, "a code seen in a shared chat could not be burned", err)
		}
		return refusal(presentation.AnswerCodeShared)
	case t.actor.Refused != "":
		return refusal(presentation.AnswerRefused(t.deps.Texts.Text(t.actor.Refused, maxShown)))
	}
	person, hash, err := t.deps.Linker.PeekLink(ctx, code)
	switch {
	case errors.Is(err, core.ErrCodeInvalid), errors.Is(err, core.ErrNotFound), errors.Is(err, core.ErrInvalid):
		return refusal(presentation.AnswerCodeInvalid)
	case err != nil:
		return t.failed(ctx, fmt.Errorf("read code: %w", err))
	}
	prompt := t.newPrompt(core.PromptLink)
	prompt.CodeHash, prompt.PrincipalID = hash, person.ID
	prompt, err = t.deps.Prompts.OpenPrompt(ctx, prompt, core.PromptLife)
	if err != nil {
		return t.failed(ctx, fmt.Errorf("open prompt: %w", err))
	}
	return channels.Answer{
		Text: presentation.PromptLink(person.Name, prompt.Realm, prompt.Label, prompt.ExternalID),
		Actions: []core.Action{
			{Type: core.ActionCallback, Label: presentation.LabelConfirm, Value: core.CallbackConfirm, PromptRef: prompt.Ref},
			{Type: core.ActionCallback, Label: presentation.LabelDismiss, Value: core.CallbackDismiss, PromptRef: prompt.Ref},
		},
	}
}

// link makes the confirmed link. The code is used once by the store; the prompt
// stays open until its time is over, so that a yes which the platform delivers
// again finds the link made and is told the same.
func (t *turn) link(ctx context.Context, prompt *core.Prompt) channels.Answer {
	person, err := t.deps.Linker.RedeemLink(ctx, prompt.CodeHash, core.Identity{
		Realm: prompt.Realm, ExternalID: prompt.ExternalID, Label: prompt.Label,
		Channel: t.account.Channel, Account: t.account.Account, DirectChat: prompt.Chat,
	})
	if err == nil {
		return settled(said(presentation.AnswerLinked(person)))
	}
	// Used already, or its answer was lost: the link itself tells.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleWithin)
	defer cancel()
	linked, lookErr := t.deps.People.PrincipalByIdentity(ctx, prompt.Realm, prompt.ExternalID)
	switch {
	case lookErr == nil && linked.ID == prompt.PrincipalID && !errors.Is(err, core.ErrIdentityTaken):
		return settled(said(presentation.AnswerLinked(linked)))
	case errors.Is(err, core.ErrIdentityTaken):
		return refusal(presentation.AnswerIdentity)
	case errors.Is(err, core.ErrCodeInvalid), errors.Is(err, core.ErrInvalid):
		return settled(refusal(presentation.AnswerCodeInvalid))
	case uncertain(err):
		err = fmt.Errorf("%w: %w", core.ErrOutcomeUnknown, err)
	}
	return t.failed(ctx, fmt.Errorf("redeem code: %w", err))
}
