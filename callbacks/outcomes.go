package callbacks

import (
	"context"
	"errors"
	"fmt"

	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/presentation"
)

// What can be done below a card that tells an outcome. None of it decides anything, and
// who may do it is the service's to say; a card that was drawn before it was done keeps
// its buttons until the ledger has drawn it anew, and they tell who was first.

// dismissOutcome takes the press on Dismiss.
func (t *turn) dismissOutcome(ctx context.Context, d Decoded) channels.Answer {
	if t.deps.Outcomes == nil {
		return refusal(presentation.AnswerNotOffered)
	}
	a, err := surely(ctx, t, func(ctx context.Context) (core.Approval, error) {
		return t.deps.Outcomes.Dismiss(ctx, t.caller(), core.Lookup{Ref: d.Ref})
	})
	switch {
	case errors.Is(err, core.ErrConflict):
		return refusal(presentation.AnswerNoMore)
	case err != nil:
		return t.failed(ctx, err)
	}
	return said(presentation.AnswerDismissedOutcome(a, t.place(ctx)))
}

// askAgain asks whether to ask for a new request: what may have happened could happen
// twice (R86). The question stands beside the card and is put to whoever pressed.
func (t *turn) askAgain(ctx context.Context, d Decoded, row *core.Delivery) channels.Answer {
	a, err := t.deps.Reader.Get(ctx, t.caller(), core.Lookup{Ref: d.Ref})
	switch {
	case err != nil:
		return t.failed(ctx, fmt.Errorf("read approval: %w", err))
	case !core.MayDecide(&t.person, &a, []string{t.person.ID}): // Get proved who owns the agent.
		return refusal(presentation.AnswerMayNotDecide)
	case a.Aftermath != nil && a.Aftermath.AskedAgain != nil:
		return said(presentation.AnswerAskedAgain(a, t.place(ctx)))
	case t.deps.Outcomes == nil, !a.AskableAgain():
		return refusal(presentation.AnswerNoMore)
	}
	prompt := t.newPrompt(core.PromptAgain)
	prompt.ApprovalID, prompt.DeliveryID = a.ID, row.ID
	if prompt, err = t.deps.Prompts.OpenPrompt(ctx, prompt, core.PromptLife); err != nil {
		return t.failed(ctx, fmt.Errorf("open prompt: %w", err))
	}
	return channels.Answer{
		Text: presentation.PromptAgain(a),
		Actions: []core.Action{
			{Type: core.ActionCallback, Label: presentation.LabelYesAskAgain, Value: core.CallbackConfirm, PromptRef: prompt.Ref},
			{Type: core.ActionCallback, Label: presentation.LabelDismiss, Value: core.CallbackDismiss, PromptRef: prompt.Ref},
		},
	}
}

// confirmAgain takes the yes. The prompt stays open until its time is over, so that a yes
// which the platform delivers again is told the same.
func (t *turn) confirmAgain(ctx context.Context, prompt *core.Prompt) channels.Answer {
	if refused, ok := t.identify(ctx); !ok {
		return refused
	}
	if t.deps.Outcomes == nil {
		return settled(refusal(presentation.AnswerNoMore))
	}
	a, err := surely(ctx, t, func(ctx context.Context) (core.Approval, error) {
		return t.deps.Outcomes.AskAgain(ctx, t.caller(), core.Lookup{ID: prompt.ApprovalID})
	})
	switch {
	case errors.Is(err, core.ErrNotOffered):
		return settled(refusal(presentation.AnswerNobodyHears))
	case errors.Is(err, core.ErrConflict):
		return settled(refusal(presentation.AnswerNoMore))
	case err != nil:
		return t.failed(ctx, err)
	}
	return settled(said(presentation.AnswerAskedAgain(a, t.place(ctx))))
}

// reopen takes the press on Re-open (K34).
func (t *turn) reopen(ctx context.Context, d Decoded) channels.Answer {
	if t.deps.Settings == nil {
		return refusal(presentation.AnswerNotOffered)
	}
	a, err := t.deps.Reader.Get(ctx, t.caller(), core.Lookup{Ref: d.Ref})
	if err != nil {
		return t.failed(ctx, fmt.Errorf("read approval: %w", err))
	}
	done, err := surely(ctx, t, func(ctx context.Context) (core.Reopened, error) {
		return t.deps.Settings.Reopen(ctx, t.caller(), a.ID)
	})
	switch {
	case errors.Is(err, core.ErrConflict):
		return refusal(presentation.AnswerNoMore)
	case err != nil:
		return t.failed(ctx, err)
	}
	return said(presentation.AnswerReopened(done, t.place(ctx)))
}

// surely makes a change that may be repeated without harm, and repeats it on time of its
// own where its outcome is unknown: nobody is told that nothing was recorded and then
// surprised.
func surely[T any](ctx context.Context, t *turn, change func(context.Context) (T, error)) (T, error) {
	t.deciding = true
	done, err := change(ctx)
	if !uncertain(err) {
		return done, err
	}
	t.log(ctx, "the outcome of a change is unknown, making it again", err)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleWithin)
	defer cancel()
	if done, err = change(ctx); uncertain(err) {
		err = fmt.Errorf("%w: made twice: %w", core.ErrOutcomeUnknown, err)
	}
	return done, err
}
