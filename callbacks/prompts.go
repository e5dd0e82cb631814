package callbacks

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/approvals"
	"github.com/saysohq/sayso/presentation"
)

// newPrompt is a prompt to the actor in this chat, of the kind that any replica can
// match an answer with.
func (t *turn) newPrompt(purpose core.PromptPurpose) core.Prompt {
	id := t.deps.NewID()
	return core.Prompt{
		ID: id, Ref: core.ResolutionRef(KindPrompt, id), Purpose: purpose,
		Channel: t.account.Channel, Account: t.account.Account, Chat: t.chat,
		Realm: t.actor.Realm, ExternalID: t.actor.ID, Label: t.deps.Texts.Text(t.actor.Label, maxShown),
	}
}

// asks reports whether a prompt was put to this actor, by this bot.
func (t *turn) asks(p *core.Prompt) bool {
	return p.Realm == t.actor.Realm && p.ExternalID == t.actor.ID && p.Channel == t.account.Channel && p.Account == t.account.Account
}

// askNote opens the prompt of "deny with a note". It decides nothing, and a dialog
// that fails or is closed leaves the card as it is.
func (t *turn) askNote(ctx context.Context, d Decoded, row *core.Delivery) channels.Answer {
	a, refused, ok := t.open(ctx, core.Lookup{Ref: d.Ref})
	if !ok {
		return refused
	}
	prompt := t.newPrompt(core.PromptNote)
	prompt.ApprovalID, prompt.DeliveryID = a.ID, row.ID
	prompt, err := t.deps.Prompts.OpenPrompt(ctx, prompt, core.PromptLife)
	if err != nil {
		return t.failed(ctx, fmt.Errorf("open prompt: %w", err))
	}
	return channels.Answer{Prompt: &channels.Prompt{
		ID:          prompt.ID,
		Text:        presentation.PromptNote(a),
		Dialog:      presentation.PromptNoteDialog(a),
		Placeholder: presentation.PromptNotePlaceholder,
		Title:       presentation.PromptNoteTitle,
	}}
}

// reply handles a typed reply to a message of ours: the answer to a prompt, or in a
// direct chat a plain reply to a card. Any other free text decides nothing (K19).
func (t *turn) reply(ctx context.Context, c channels.Text) channels.Answer {
	prompt, err := t.deps.Prompts.PromptAt(ctx, t.account, c.ReplyTo)
	switch {
	case err == nil && !t.asks(&prompt):
		return refusal(presentation.AnswerNotYourAsk)
	case err == nil && prompt.Purpose == core.PromptNote:
		return t.note(ctx, c, &prompt)
	case err == nil:
		return channels.Answer{}
	case !errors.Is(err, core.ErrNotFound):
		return t.failed(ctx, fmt.Errorf("find prompt: %w", err))
	}
	row, err := t.deps.Ledger.DeliveryAt(ctx, t.account, c.ReplyTo)
	switch {
	case errors.Is(err, core.ErrNotFound):
		return refusal(presentation.AnswerPromptGone)
	case err != nil:
		return t.failed(ctx, fmt.Errorf("find delivery: %w", err))
	case !t.direct, t.cfg.PlainReplies != nil && !t.cfg.PlainReplies(t.account):
		return channels.Answer{}
	}
	return t.declineByMessage(ctx, c, &row)
}

// filledIn handles a dialog that was sent off. Its id is no authority: who fills it
// in is the one whom it asked, and the right to decide is checked now.
func (t *turn) filledIn(ctx context.Context, c channels.Text) channels.Answer {
	prompt, err := t.deps.Prompts.PromptByRef(ctx, core.ResolutionRef(KindPrompt, c.PromptID))
	switch {
	case errors.Is(err, core.ErrNotFound):
		return refusal(presentation.AnswerPromptGone)
	case err != nil:
		return t.failed(ctx, fmt.Errorf("find prompt: %w", err))
	case !t.asks(&prompt):
		return refusal(presentation.AnswerNotYourAsk)
	case prompt.Purpose != core.PromptNote:
		return refusal(presentation.AnswerPromptGone)
	}
	return t.note(ctx, c, &prompt)
}

// note denies with the answer to a note prompt. The prompt stays open until its
// time is over: the decision key makes a repeated answer find the same decision, so
// a message that the platform delivers again is told the same.
func (t *turn) note(ctx context.Context, c channels.Text, prompt *core.Prompt) channels.Answer {
	if refused, ok := t.identify(ctx); !ok {
		return refused
	}
	text := strings.TrimSpace(c.Text)
	switch {
	case c.Attached:
		return refusal(presentation.AnswerWordsOnly)
	case text == "":
		return refusal(presentation.AnswerEmptyNote)
	}
	a, err := t.deps.Reader.Get(ctx, t.caller(), core.Lookup{ID: prompt.ApprovalID})
	if err != nil {
		return t.failed(ctx, fmt.Errorf("read approval: %w", err))
	}
	return t.decide(ctx, approvals.Resolve{
		Caller: t.caller(), Lookup: core.Lookup{ID: a.ID}, Kind: a.Kind, Decision: core.DecisionDeny,
		Note: text, DecisionKey: "prompt:" + prompt.ID, DeliveryID: prompt.DeliveryID,
	})
}

// declineByMessage denies with a plain reply to a card in a direct chat (K19, R133). It
// is a message instead of an answer where a turn of the agent waits; a draft has no turn
// that it could go on in, so to that it is a note.
func (t *turn) declineByMessage(ctx context.Context, c channels.Text, row *core.Delivery) channels.Answer {
	text := strings.TrimSpace(c.Text)
	if text == "" {
		return channels.Answer{}
	}
	if refused, ok := t.identify(ctx); !ok {
		return refused
	}
	if c.Attached { // Whoever hears of it would never see what came along (R134).
		return refusal(presentation.AnswerWordsOnly)
	}
	a, err := t.deps.Reader.Get(ctx, t.caller(), core.Lookup{ID: row.ApprovalID})
	if err != nil {
		return t.failed(ctx, fmt.Errorf("read approval: %w", err))
	}
	return t.decide(ctx, approvals.Resolve{
		Caller: t.caller(), Lookup: core.Lookup{ID: a.ID}, Kind: a.Kind, Decision: core.DecisionDeny,
		Note: text, ByMessage: a.Continuation.Waits(), DecisionKey: t.messageKey("chat", c), DeliveryID: row.ID,
	})
}

// messageKey makes the decision that a message brings harmless to repeat (R135);
// "chat" stands for a message instead of an answer, "text" for a command.
func (t *turn) messageKey(kind string, c channels.Text) string {
	if c.MessageID == "" {
		return ""
	}
	return kind + ":" + string(t.account.Channel) + ":" + t.account.Account + ":" + c.MessageID
}

// clickPrompt handles the buttons of our own questions. Whether to link an account is
// answered by whoever it was put to, known or not yet; all others by people.
func (t *turn) clickPrompt(ctx context.Context, d Decoded) channels.Answer {
	if t.actor.Refused != "" {
		return refusal(presentation.AnswerRefused(t.deps.Texts.Text(t.actor.Refused, maxShown)))
	}
	prompt, err := t.deps.Prompts.PromptByRef(ctx, d.Ref)
	switch {
	case errors.Is(err, core.ErrNotFound): // The edit that took its buttons away was lost, or it ran out.
		return settled(refusal(presentation.AnswerPromptGone))
	case err != nil:
		return t.failed(ctx, fmt.Errorf("find prompt: %w", err))
	case !t.asks(&prompt) || prompt.Chat != t.chat && prompt.Purpose != core.PromptAgain: // That one may be private.
		return refusal(presentation.AnswerNotYourAsk)
	case prompt.Purpose == core.PromptMenu:
		return t.choose(ctx, d, &prompt)
	case d.Verb == VerbDismiss && prompt.Purpose != core.PromptNote:
		return t.dismiss(ctx, &prompt)
	case prompt.Purpose == core.PromptTest:
		return t.passTest(ctx, &prompt)
	case prompt.Purpose == core.PromptAgain && d.Verb == VerbConfirm:
		return t.confirmAgain(ctx, &prompt)
	case prompt.Purpose != core.PromptLink || d.Verb != VerbConfirm:
		return refusal(presentation.AnswerPromptGone)
	}
	return t.link(ctx, &prompt)
}

// settled makes an answer the last word of the message that was clicked.
func settled(a channels.Answer) channels.Answer {
	a.Settled = a.Text
	return a
}

// dismiss is a no. To a link that was made meanwhile it comes too late, and says so.
func (t *turn) dismiss(ctx context.Context, prompt *core.Prompt) channels.Answer {
	if prompt.Purpose == core.PromptLink {
		linked, err := t.deps.People.PrincipalByIdentity(ctx, prompt.Realm, prompt.ExternalID)
		switch {
		case err == nil && linked.ID == prompt.PrincipalID:
			return settled(said(presentation.AnswerLinked(linked)))
		case err != nil && !errors.Is(err, core.ErrNotFound):
			return t.failed(ctx, fmt.Errorf("find person: %w", err))
		}
	}
	err := t.deps.Prompts.FinishPrompt(ctx, prompt.ID)
	if err != nil && !errors.Is(err, core.ErrNotFound) {
		return t.failed(ctx, fmt.Errorf("finish prompt: %w", err))
	}
	return settled(said(presentation.AnswerDismissed))
}

// passTest takes the click on a test card. It went the whole way that a decision
// goes, up to the person who may decide; that the prompt is finished proves it, on
// any replica.
func (t *turn) passTest(ctx context.Context, prompt *core.Prompt) channels.Answer {
	if refused, ok := t.identify(ctx); !ok {
		return refused
	}
	err := t.deps.Prompts.FinishPrompt(ctx, prompt.ID)
	if err != nil && !errors.Is(err, core.ErrNotFound) { // Not found: pressed twice at once.
		return t.failed(ctx, fmt.Errorf("finish prompt: %w", err))
	}
	return settled(said(presentation.AnswerTestPassed))
}
