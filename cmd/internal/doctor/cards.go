package doctor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"github.com/saysohq/sayso/callbacks"
	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/api"
	"github.com/saysohq/sayso/presentation"
)

// sendsAtOnce bounds how many test cards are on their way at the same time.
const sendsAtOnce = 4

// link is one person at one account.
type link struct {
	person   core.Principal
	identity core.Identity
}

func (l link) ref() core.AccountRef {
	return core.AccountRef{Channel: l.identity.Channel, Account: l.identity.Account}
}

// card is a test card that was sent.
type card struct {
	ref       string // Of its prompt.
	expiresAt core.Millis
}

// sent is what became of sending a test card.
type sent struct {
	link    link
	finding api.Finding
	card    *card // nil where it was not sent.
}

func (x *examination) add(s sent) {
	if s.card != nil {
		x.cards[len(x.findings)] = *s.card
	}
	x.findings = append(x.findings, s.finding)
}

// links lists the linked accounts of one person, or of everybody who is enabled.
// Errors: core.ErrNotFound for an unknown or disabled person.
func (d *Doctor) links(ctx context.Context, personID string) ([]link, error) {
	people, err := d.deps.People.ListPrincipals(ctx)
	if err != nil {
		return nil, fmt.Errorf("list people: %w", err)
	}
	people = slices.DeleteFunc(people, func(p core.Principal) bool { return p.Disabled || personID != "" && p.ID != personID })
	if len(people) == 0 {
		if personID != "" {
			return nil, fmt.Errorf("find person: %w", core.ErrNotFound)
		}
		return nil, nil
	}
	identities, err := d.deps.People.IdentitiesOf(ctx)
	if err != nil {
		return nil, fmt.Errorf("list identities: %w", err)
	}
	var list []link
	for _, p := range people {
		before := len(list)
		for _, i := range identities {
			if i.PrincipalID == p.ID {
				list = append(list, link{person: p, identity: i})
			}
		}
		if len(list) == before && personID != "" {
			list = append(list, link{person: p})
		}
	}
	return list, nil
}

// sendCards sends a test card to every linked direct chat of the accounts, a few at a
// time.
func (d *Doctor) sendCards(ctx context.Context, links []link) []sent {
	ctx, cancel := context.WithTimeout(ctx, cardsTime)
	defer cancel()
	list := make([]sent, len(links))
	turns := make(chan struct{}, sendsAtOnce)
	var all sync.WaitGroup
	for i, l := range links {
		at := slices.IndexFunc(d.deps.Channels, func(c channels.Channel) bool { return c.Ref() == l.ref() })
		if at < 0 {
			continue
		}
		all.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			list[i] = d.sendCard(ctx, d.deps.Channels[at], l)
		})
	}
	all.Wait()
	return slices.DeleteFunc(list, func(s sent) bool { return s.finding.Check == "" })
}

// about is a finding on a person's direct chat.
func (l link) about(v api.Health, detail, fix string) api.Finding {
	return api.Finding{
		Channel: l.identity.Channel, Account: l.identity.Account, Person: l.person.ID, Name: l.person.Name,
		Check: CheckTestCard, Verdict: v, Detail: detail, Fix: fix,
	}
}

// sendCard opens the prompt first: a click cannot come before there is something for
// it to finish. A prompt whose card is never sent runs out by itself.
func (d *Doctor) sendCard(ctx context.Context, c channels.Channel, l link) sent {
	if l.identity.DirectChat == "" {
		return sent{link: l, finding: l.about(api.HealthUnknown, "linked without a direct chat, so no card can be sent to them",
			l.relink())}
	}
	if ctx.Err() != nil {
		return sent{link: l, finding: l.about(api.HealthUnknown, "time was up before the card could be sent",
			fmt.Sprintf("Try them alone: sayso doctor --person %s.", l.person.ID))}
	}
	p, err := d.openPrompt(ctx, l)
	if err != nil {
		d.deps.Logger.LogAttrs(ctx, slog.LevelError, "test card not prepared", slog.Any("error", err))
		return sent{link: l, finding: l.about(api.HealthUnknown, "the service could not store the test", "Look at the service's log and its disk.")}
	}
	rendered, err := c.Render(presentation.TestCard(p.Ref))
	if err != nil {
		d.deps.Logger.LogAttrs(ctx, slog.LevelError, "test card not rendered", slog.Any("error", err))
		return sent{link: l, finding: l.about(api.HealthFailed, "the card could not be made", "This is a fault of sayso: please report it with the service's log.")}
	}
	locator, err := c.Send(ctx, p.Chat, rendered)
	if err != nil {
		return sent{link: l, finding: l.refused(err)}
	}
	if err := d.deps.Prompts.PlacePrompt(ctx, p.ID, locator); err != nil { // Answered already, or only less well known.
		d.deps.Logger.LogAttrs(ctx, slog.LevelDebug, "test card not placed", slog.Any("error", err))
	}
	return sent{link: l, card: &card{ref: p.Ref, expiresAt: p.ExpiresAt}, finding: l.about(api.HealthWaiting, "a card was sent", "")}
}

func (d *Doctor) openPrompt(ctx context.Context, l link) (core.Prompt, error) {
	id := d.deps.NewID()
	return d.deps.Prompts.OpenPrompt(ctx, core.Prompt{
		ID: id, Ref: core.ResolutionRef(callbacks.KindPrompt, id), Purpose: core.PromptTest,
		Channel: l.identity.Channel, Account: l.identity.Account, Chat: l.identity.DirectChat,
		Realm: l.identity.Realm, ExternalID: l.identity.ExternalID, Label: l.identity.Label, PrincipalID: l.person.ID,
	}, core.PromptLife)
}

// refused words why a card did not get through.
func (l link) refused(err error) api.Finding {
	var e *channels.Error
	if !errors.As(err, &e) {
		return l.about(api.HealthUnknown, "the card could not be sent", "Run sayso doctor again.")
	}
	switch e.Class {
	case core.FailureGone, core.FailureMoved, core.FailureRejected:
		return l.about(api.HealthFailed, "the card was refused: "+e.Detail,
			"They may have blocked the bot, closed their direct messages or left. Ask them to open the bot's chat and allow it; then: "+l.relink())
	case core.FailureAuth:
		return l.about(api.HealthFailed, "the card was refused: "+e.Detail, "Correct the account's token and scopes, as the checks above say.")
	case core.FailureRateLimited:
		return l.about(api.HealthUnknown, "the platform asks for a pause", "Wait a minute and run sayso doctor again.")
	case core.FailureNone, core.FailureTemporary, core.FailureAmbiguous, core.FailureNotEntitled:
	}
	return l.about(api.HealthUnknown, "the platform did not answer: "+e.Detail, "Run sayso doctor again.")
}

func (l link) relink() string { return fmt.Sprintf("Link them anew: sayso link %s.", l.person.ID) }

// settle reports what became of a card: a prompt that is not open any more before its
// time was answered, by whom it was put to.
func (d *Doctor) settle(ctx context.Context, f *api.Finding, c card, now core.Millis) error {
	_, err := d.deps.Prompts.PromptByRef(ctx, c.ref)
	switch {
	case err == nil:
		return nil
	case !errors.Is(err, core.ErrNotFound):
		return fmt.Errorf("find prompt: %w", err)
	case c.expiresAt.Reached(now):
		f.Verdict, f.Detail, f.Fix = api.HealthUnknown, "the card was sent, and has run out", "Run sayso doctor again and press its button."
	default:
		f.Verdict, f.Detail = api.HealthOK, "the card arrived and its click came back"
	}
	return nil
}

// unlinked complains about an account that nobody is linked to: nobody could answer
// there.
func unlinked(ref core.AccountRef, links []link) (api.Finding, bool) {
	if slices.ContainsFunc(links, func(l link) bool { return l.ref() == ref }) {
		return api.Finding{}, false
	}
	return api.Finding{
		Channel: ref.Channel, Account: ref.Account, Check: CheckTestCard, Verdict: api.HealthUnknown,
		Detail: "nobody is linked to this account, so no click can be tried", Fix: "Link yourself: sayso link.",
	}, true
}

// homeless complains about links that lead to no account of this service.
func homeless(links []link, accounts []channels.Channel) []api.Finding {
	var list []api.Finding
	for _, l := range links {
		if slices.ContainsFunc(accounts, func(c channels.Channel) bool { return c.Ref() == l.ref() }) {
			continue
		}
		detail := "linked without a direct chat, so no card can be sent to them"
		if l.identity.Account != "" {
			detail = "linked through a bot that is not configured any more"
		}
		f := l.about(api.HealthUnknown, detail, l.relink())
		f.Channel, f.Account = "", ""
		if l.identity.Realm != "" {
			f.Detail = l.identity.Realm + ": " + f.Detail
		} else {
			f.Detail = "not linked to any chat"
		}
		list = append(list, f)
	}
	return list
}
