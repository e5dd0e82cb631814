package callbacks

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/approvals"
	"github.com/saysohq/sayso/presentation"
)

// maxWaiting is how many questions /pending lists: with their heading they stay
// below the 4,000 UTF-16 units of a typed answer.
const maxWaiting = 19

// text handles whatever was typed to the bot.
func (t *turn) text(ctx context.Context, c channels.Text) channels.Answer {
	command, rest, ok := commandOf(c.Text)
	switch {
	case c.PromptID != "": // Even where it begins like a command.
		return t.filledIn(ctx, c)
	case ok:
		return t.command(ctx, c, command, rest)
	case c.ReplyTo != "":
		return t.reply(ctx, c)
	case t.direct:
		return said(presentation.AnswerUsage)
	}
	return channels.Answer{} // Free text in a group is not ours.
}

// commandOf splits "/deny@bot id a note" into "deny" and "id a note". The name of
// the bot is dropped: the channel passes on only what is addressed to this one.
func commandOf(text string) (command, rest string, ok bool) {
	text = strings.TrimSpace(text)
	text, ok = strings.CutPrefix(text, "/")
	if !ok {
		return "", "", false
	}
	command, rest = cutWord(text)
	command, _, _ = strings.Cut(command, "@")
	return strings.ToLower(command), rest, true
}

// cutWord splits off the first word.
func cutWord(s string) (word, rest string) {
	s = strings.TrimSpace(s)
	if i := strings.IndexAny(s, " \t\r\n"); i >= 0 {
		return s[:i], strings.TrimSpace(s[i:])
	}
	return s, ""
}

func (t *turn) command(ctx context.Context, c channels.Text, command, rest string) channels.Answer {
	switch command {
	case "start":
		code, _ := cutWord(rest)
		return t.start(ctx, code)
	case "whoami":
		return t.whoAmI(ctx)
	case "pending":
		return t.waiting(ctx)
	case "mode":
		return t.menuCommand(ctx, t.modes)
	case "rules":
		return t.menuCommand(ctx, t.rules)
	case "approve":
		return t.typedApprove(ctx, c, rest)
	case "deny":
		return t.typedDeny(ctx, c, rest)
	}
	switch {
	case c.ReplyTo != "": // A note may begin with a path.
		return t.reply(ctx, c)
	case t.direct:
		return said(presentation.AnswerUsage)
	}
	return channels.Answer{}
}

// whoAmI names the person, or the id that an admin would add.
func (t *turn) whoAmI(ctx context.Context) channels.Answer {
	if t.actor.Refused != "" {
		return refusal(presentation.AnswerRefused(t.deps.Texts.Text(t.actor.Refused, maxShown)))
	}
	id := t.deps.Texts.Text(t.actor.ID, maxShown)
	person, err := t.deps.People.PrincipalByIdentity(ctx, t.actor.Realm, t.actor.ID)
	switch {
	case errors.Is(err, core.ErrNotFound):
		return said(presentation.AnswerUnknownAccount(t.actor.Realm, id))
	case err != nil:
		return t.failed(ctx, fmt.Errorf("find person: %w", err))
	}
	return said(presentation.AnswerWhoAmI(person, t.actor.Realm, id))
}

// waiting lists what waits for the person. A shared chat would read it too, so it
// works in a direct chat only.
func (t *turn) waiting(ctx context.Context) channels.Answer {
	if !t.direct {
		return refusal(presentation.AnswerDirectOnly)
	}
	if refused, ok := t.identify(ctx); !ok {
		return refused
	}
	page, err := t.deps.Reader.List(ctx, t.caller(), core.ListQuery{Status: core.StatusPending, Limit: maxWaiting})
	switch {
	case err != nil:
		return t.failed(ctx, fmt.Errorf("list approvals: %w", err))
	case len(page.Approvals) == 0:
		return said(presentation.AnswerNoneWaiting)
	}
	lines := []string{presentation.AnswerWaiting(len(page.Approvals), page.More)}
	for _, a := range page.Approvals {
		lines = append(lines, presentation.WaitingLine(a))
	}
	return said(strings.Join(lines, "\n"))
}

// typedDeny handles /deny <id> [note]. Deny needs neither a card nor a fingerprint.
func (t *turn) typedDeny(ctx context.Context, c channels.Text, rest string) channels.Answer {
	id, note := cutWord(rest)
	if id == "" {
		return refusal(presentation.AnswerUsageDeny)
	}
	if refused, ok := t.identify(ctx); !ok {
		return refused
	}
	a, err := t.deps.Reader.Get(ctx, t.caller(), typed(id))
	if err != nil {
		return t.failed(ctx, fmt.Errorf("read approval: %w", err))
	}
	return t.deny(ctx, c, &a, note)
}

func (t *turn) deny(ctx context.Context, c channels.Text, a *core.Approval, note string) channels.Answer {
	return t.decide(ctx, approvals.Resolve{
		Caller: t.caller(), Lookup: core.Lookup{ID: a.ID}, Kind: a.Kind, Decision: core.DecisionDeny,
		Note: note, DecisionKey: t.messageKey("text", c),
	})
}

// typedApprove handles /approve <id> <decision> <fingerprint>. It allows only with
// the fingerprint that the card shows, and only where a complete card of the
// approval is open in this very chat (K39): the text alone proves nothing about
// what the person saw.
func (t *turn) typedApprove(ctx context.Context, c channels.Text, rest string) channels.Answer {
	id, rest := cutWord(rest)
	word, fingerprint := cutWord(rest)
	decision := core.Decision(strings.ToLower(word))
	if id == "" || word != "" && !decision.Valid() {
		return refusal(presentation.AnswerUsageApprove)
	}
	if refused, ok := t.identify(ctx); !ok {
		return refused
	}
	a, err := t.deps.Reader.Get(ctx, t.caller(), typed(id))
	switch {
	case err != nil:
		return t.failed(ctx, fmt.Errorf("read approval: %w", err))
	case decision == core.DecisionDeny:
		return t.deny(ctx, c, &a, "")
	case a.Status.Terminal():
		return t.answered(ctx, a, decision)
	}
	row, err := t.completeCard(ctx, &a, decision)
	switch {
	case errors.Is(err, core.ErrNotFound):
		return t.answerWithCard(ctx, &a, decision)
	case err != nil:
		return t.failed(ctx, err)
	case decision == core.DecisionNone, fingerprint == "":
		return refusal(presentation.AnswerUseCard)
	case !strings.EqualFold(fingerprint, a.Fingerprint):
		return refusal(presentation.AnswerWrongPrint)
	}
	return t.decide(ctx, approvals.Resolve{
		Caller: t.caller(), Lookup: core.Lookup{ID: a.ID}, Kind: a.Kind, Decision: decision,
		DecisionKey: t.messageKey("text", c), DeliveryID: row.ID, Shown: shownBy(&row),
	})
}

// answered tells how a question ended to somebody whose command came after that. The
// same person's same answer is no lost race.
func (t *turn) answered(ctx context.Context, a core.Approval, d core.Decision) channels.Answer {
	return t.resolved(ctx, approvals.Resolved{Approval: a, Idempotent: d != core.DecisionNone && a.Decision == d})
}

// typed reads an id as people type it: a reference has a shape that no id has.
func typed(id string) core.Lookup {
	if core.ValidRef(id) {
		return core.Lookup{Ref: id}
	}
	return core.Lookup{ID: id}
}

// completeCard finds this chat's open card of the approval that shows the whole
// action. Errors: core.ErrNotFound.
func (t *turn) completeCard(ctx context.Context, a *core.Approval, d core.Decision) (core.Delivery, error) {
	rows, err := t.deps.Ledger.DeliveriesOf(ctx, a.ID)
	if err != nil {
		return core.Delivery{}, fmt.Errorf("list deliveries: %w", err)
	}
	for _, row := range rows {
		open := row.State == core.DeliveryOpen && row.Locator != "" && row.ShownComplete && row.ShownHash == a.ActionHash
		if t.inThisChat(row) && open && (d == core.DecisionNone || slices.Contains(row.Offered, d)) {
			return row, nil
		}
	}
	return core.Delivery{}, core.ErrNotFound
}

// answerWithCard answers where this chat has no complete card: a direct chat of
// somebody who may see the question gets one (K39). A shared chat does not: others
// there may not be meant to see it. Where the chat has a card already, that one is
// to be opened.
func (t *turn) answerWithCard(ctx context.Context, a *core.Approval, d core.Decision) channels.Answer {
	if !t.direct {
		return t.pointToPage(a)
	}
	planned, hint, err := t.deps.Cards.PlanCard(ctx, a.ID, core.PlannedDelivery{
		ID: t.deps.NewID(), Channel: t.account.Channel, Account: t.account.Account,
		Destination: "person:" + t.person.ID, PersonID: t.person.ID, Address: t.chat,
	})
	switch {
	case errors.Is(err, core.ErrConflict): // It has its answer by now.
		ended, err := t.deps.Reader.Get(ctx, t.caller(), core.Lookup{ID: a.ID})
		if err != nil {
			return t.failed(ctx, fmt.Errorf("read approval: %w", err))
		}
		return t.answered(ctx, ended, d)
	case err != nil:
		return t.failed(ctx, fmt.Errorf("plan card: %w", err))
	case !planned:
		return t.pointToPage(a)
	}
	t.deps.Publisher.Publish(context.WithoutCancel(ctx), hint)
	return said(presentation.AnswerCardComes)
}

// pointToPage answers where this chat has no card that could be answered.
func (t *turn) pointToPage(a *core.Approval) channels.Answer {
	if link := presentation.ReviewURL(t.cfg.PublicURL, a.ID); link != "" {
		return refusal(presentation.AnswerNoCard + "\n" + link)
	}
	return refusal(presentation.AnswerNoCard)
}
