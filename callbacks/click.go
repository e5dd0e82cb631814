package callbacks

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/approvals"
	"github.com/saysohq/sayso/presentation"
)

// click handles a pressed button. Nothing here judges staleness or authority over
// the record: the service does, from the record (R157).
func (t *turn) click(ctx context.Context, c channels.Click) channels.Answer {
	d, err := t.deps.Codec.Decode(t.account, c.Payload)
	switch {
	case errors.Is(err, ErrNotOurs):
		return refusal(presentation.AnswerNotOurs)
	case err != nil:
		return refusal(presentation.AnswerForeign)
	case d.Kind == KindPrompt:
		return t.clickPrompt(ctx, d)
	}
	if refused, ok := t.identify(ctx); !ok {
		return refused
	}
	card, refused, ok := t.cardOf(ctx, c, d)
	if !ok {
		return refused
	}
	switch d.Verb {
	case VerbAllowOnce, VerbAllowAlways, VerbDeny:
		return t.press(ctx, c, d, card)
	case VerbNote:
		return t.askNote(ctx, d, &card.row)
	case VerbShowAll:
		return t.showAll(ctx, d, card)
	case VerbSeen:
		return t.dismissOutcome(ctx, d)
	case VerbAskAgain:
		return t.askAgain(ctx, d, &card.row)
	case VerbReopen:
		return t.reopen(ctx, d)
	case VerbConfirm, VerbDismiss: // Of the kind prompt, handled above.
	}
	return refusal(presentation.AnswerForeign)
}

// press lets the service decide what a button says. An adoption that meets the
// receipt of its message, which came meanwhile, is a click on a known card.
func (t *turn) press(ctx context.Context, c channels.Click, d Decoded, k card) channels.Answer {
	r := approvals.Resolve{
		Caller: t.caller(), Lookup: core.Lookup{Ref: d.Ref}, Kind: d.Kind, Decision: d.Verb.Decision(),
		DeliveryID: k.row.ID, Shown: shownBy(&k.row), Adopt: k.adopt,
	}
	if c.TakesCard && t.deps.Finals != nil {
		r.AnswerDelay = core.AnswerDelay
	}
	res, err := t.decided(ctx, r)
	if k.adopt != nil && errors.Is(err, core.ErrConflict) {
		row, lookErr := t.deps.Ledger.DeliveryAt(ctx, t.account, c.Message)
		if lookErr == nil && core.ResolutionRef(d.Kind, row.ApprovalID) == d.Ref {
			k.row, r.DeliveryID, r.Shown, r.Adopt = row, row.ID, shownBy(&row), nil
			res, err = t.decided(ctx, r)
		}
	}
	if err != nil {
		return t.failed(ctx, err)
	}
	answer := t.resolved(ctx, res)
	if r.AnswerDelay > 0 && res.Applied {
		t.showFinal(ctx, &answer, k.row, res.Approval)
	}
	return answer
}

// showFinal puts the final card into the answer to the click that decided. Somebody
// whose answer was turned into another is told so in words, and the card is the
// ledger's at once. So is a card that cannot be laid out here. After a look-up it is
// not certain which of a person's clicks decided, and the answer to another one may be
// on its way: the row is left to its delay.
func (t *turn) showFinal(ctx context.Context, answer *channels.Answer, row core.Delivery, a core.Approval) {
	if t.settled {
		return
	}
	row.ID = a.DeliveryID // Of an adopted message, the store has found it.
	var err error
	if !answer.Alert {
		var card presentation.Card
		if card, err = t.deps.Finals.FinalCard(ctx, a, row); err == nil {
			answer.Terminal = &channels.TerminalCard{Card: card, DeliveryID: row.ID, CardRevision: a.CardRevision}
			return
		}
		t.log(ctx, "a final card could not be laid out for an answer", err)
	}
	if err = t.Shown(ctx, row.ID, 0); err != nil {
		t.log(ctx, "a card waits in vain for its answer", err)
	}
}

// card is the delivery that a click belongs to.
type card struct {
	row   core.Delivery
	adopt *core.Adopt // The message is not the row's yet; the decision ties it.
}

// cardOf finds the delivery of the clicked message. A payload that stands on
// another approval's card is refused: our buttons prove what they are about, not
// where they were pressed.
func (t *turn) cardOf(ctx context.Context, c channels.Click, d Decoded) (card, channels.Answer, bool) {
	if c.Message == "" {
		return card{}, refusal(presentation.AnswerOpenOriginal), false
	}
	row, err := t.deps.Ledger.DeliveryAt(ctx, t.account, c.Message)
	if errors.Is(err, core.ErrNotFound) {
		found, refused, ok := t.adoptable(ctx, c, d)
		if ok {
			return found, refused, true
		}
		// People press faster than receipts come: by now it may have.
		if row, err = t.deps.Ledger.DeliveryAt(ctx, t.account, c.Message); errors.Is(err, core.ErrNotFound) {
			return card{}, refused, false
		}
	}
	switch {
	case err != nil:
		return card{}, t.failed(ctx, fmt.Errorf("find delivery: %w", err)), false
	case core.ResolutionRef(d.Kind, row.ApprovalID) != d.Ref:
		return card{}, refusal(presentation.AnswerOpenOriginal), false
	}
	return card{row: row}, channels.Answer{}, true
}

// adoptable applies the adoption rule to a click on a message that no row knows:
// a send of ours whose receipt was lost. The platform's own copy must say that this
// very bot sent the message and that it carries this very payload; the approval
// must have a send to this address without a receipt; and the store checks it all
// again inside the decision.
func (t *turn) adoptable(ctx context.Context, c channels.Click, d Decoded) (card, channels.Answer, bool) {
	refused := refusal(presentation.AnswerOpenOriginal)
	if !c.Copy.SentByUs || !slices.Contains(c.Copy.Payloads, c.Payload) || c.Chat == "" {
		return card{}, refused, false
	}
	a, err := t.deps.Reader.Get(ctx, t.caller(), core.Lookup{Ref: d.Ref})
	if err != nil {
		return card{}, t.failed(ctx, fmt.Errorf("read approval: %w", err)), false
	}
	rows, err := t.deps.Ledger.DeliveriesOf(ctx, a.ID)
	if err != nil {
		return card{}, t.failed(ctx, fmt.Errorf("list deliveries: %w", err)), false
	}
	i := slices.IndexFunc(rows, t.inThisChat)
	if i < 0 {
		return card{}, refused, false
	}
	adopt := core.Adopt{Channel: t.account.Channel, Account: t.account.Account, Address: c.Chat, Locator: c.Message}
	may, err := t.deps.Ledger.Adoptable(ctx, a.ID, adopt)
	switch {
	case err != nil:
		return card{}, t.failed(ctx, fmt.Errorf("ask for adoption: %w", err)), false
	case !may:
		return card{}, refused, false
	}
	return card{row: rows[i], adopt: &adopt}, channels.Answer{}, true
}

// inThisChat reports whether a row is this bot's card in this chat; an approval has
// at most one.
func (t *turn) inThisChat(d core.Delivery) bool {
	return d.Channel == t.account.Channel && d.Account == t.account.Account && d.Address == t.chat &&
		d.Outcome != core.OutcomeDuplicate && d.Outcome != core.OutcomeSkipped && d.Outcome != core.OutcomeMoved
}

// shownBy is what a card showed, as the ledger wrote it down before the call that
// showed it. A row without offered decisions offered none; nil would mean all.
func shownBy(row *core.Delivery) approvals.Shown {
	return approvals.Shown{
		Complete:   row.ShownComplete,
		ActionHash: row.ShownHash,
		Offered:    append([]core.Decision{}, row.Offered...),
	}
}

// open reads an approval that the person may decide and that still waits; the
// second result is the answer to give otherwise.
func (t *turn) open(ctx context.Context, l core.Lookup) (core.Approval, channels.Answer, bool) {
	a, err := t.deps.Reader.Get(ctx, t.caller(), l)
	switch {
	case err != nil:
		return a, t.failed(ctx, fmt.Errorf("read approval: %w", err)), false
	// Get proved the part of the rule that needs the agent's owners.
	case !core.MayDecide(&t.person, &a, []string{t.person.ID}):
		return a, refusal(presentation.AnswerMayNotDecide), false
	case a.Status.Terminal():
		return a, refusal(presentation.AnswerState(a, t.place(ctx))), false
	}
	return a, channels.Answer{}, true
}

// showAll asks the ledger to bring the whole detail to the card's chat; only
// somebody who may decide may have it brought there.
func (t *turn) showAll(ctx context.Context, d Decoded, c card) channels.Answer {
	if c.adopt != nil { // Without a receipt the ledger cannot reply to the message.
		return refusal(presentation.AnswerOpenOriginal)
	}
	if _, refused, ok := t.open(ctx, core.Lookup{Ref: d.Ref}); !ok {
		return refused
	}
	hint, err := t.deps.Ledger.RequestView(ctx, c.row.ID)
	switch {
	case errors.Is(err, core.ErrConflict), errors.Is(err, core.ErrNotFound):
		return refusal(presentation.AnswerShownAlready)
	case err != nil:
		return t.failed(ctx, fmt.Errorf("request view: %w", err))
	}
	t.deps.Publisher.Publish(ctx, hint)
	return said(presentation.AnswerShowAll)
}
