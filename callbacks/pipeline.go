package callbacks

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/approvals"
	"github.com/saysohq/sayso/core/settings"
	"github.com/saysohq/sayso/presentation"
)

// Resolver records a person's answer; the approval service is one.
type Resolver interface {
	Resolve(ctx context.Context, r approvals.Resolve) (approvals.Resolved, error)
}

// Reader reads what a caller may see; the approval service is one.
type Reader interface {
	// Get reads one approval. Errors: core.ErrNotFound for unknown and
	// unauthorised alike.
	Get(ctx context.Context, c core.Caller, l core.Lookup) (core.Approval, error)
	// List pages through what the caller may see, newest first.
	List(ctx context.Context, c core.Caller, q core.ListQuery) (core.ListPage, error)
}

// Ledger is the part of core.Ledger that clicks need.
type Ledger interface {
	DeliveryAt(ctx context.Context, ref core.AccountRef, locator string) (core.Delivery, error)
	DeliveriesOf(ctx context.Context, approvalID string) ([]core.Delivery, error)
	Adoptable(ctx context.Context, approvalID string, a core.Adopt) (bool, error)
	RequestView(ctx context.Context, deliveryID string) (core.Hint, error)
}

// People finds the person behind a platform's user id.
type People interface {
	// PrincipalByIdentity reads the person. Errors: core.ErrNotFound.
	PrincipalByIdentity(ctx context.Context, realm, externalID string) (core.Principal, error)
}

// Finals makes final cards for answers that edit the clicked message themselves.
type Finals interface {
	// FinalCard is the final card of a record as the ledger would show it in the
	// message of a delivery.
	FinalCard(ctx context.Context, a core.Approval, d core.Delivery) (presentation.Card, error)
	core.AnsweredCards
}

// Outcomes is what people do about outcomes; the approval service is one. A repeated act
// changes nothing and comes back with whoever was first.
type Outcomes interface {
	// Dismiss records that a person has seen what may have happened. Errors:
	// core.ErrNotFound, core.ErrForbidden, core.ErrConflict (nothing is to be dismissed).
	Dismiss(ctx context.Context, c core.Caller, l core.Lookup) (core.Approval, error)
	// AskAgain asks the runtime for a new request. Errors: as above, and
	// core.ErrNotOffered where no runtime listens.
	AskAgain(ctx context.Context, c core.Caller, l core.Lookup) (core.Approval, error)
}

// Settings is what people set for agents; settings.Service is one. Every method answers
// core.ErrNotFound for what is not the caller's, too.
type Settings interface {
	// Agents lists the agents that the caller may see.
	Agents(ctx context.Context, c core.Caller) ([]settings.AgentView, error)
	// Agent reads one.
	Agent(ctx context.Context, c core.Caller, runtime, agent string) (settings.AgentView, error)
	// SetMode changes a mode by compare-and-set. Errors: core.ErrConflict with what it is
	// now, core.ErrForbidden.
	SetMode(ctx context.Context, c core.Caller, in settings.ModeChange) (settings.AgentView, error)
	// Reopen lets a declined action be asked again. Errors: core.ErrForbidden,
	// core.ErrConflict (it is no person's decline).
	Reopen(ctx context.Context, c core.Caller, approvalID string) (core.Reopened, error)
}

// Rules is what agents may do without asking; settings.Service is one. Every method
// answers core.ErrNotFound for what is not the caller's, too.
type Rules interface {
	// Rules lists rules, newest first.
	Rules(ctx context.Context, c core.Caller, q core.RuleQuery) ([]settings.RuleView, error)
	// Rule reads one, removed or not.
	Rule(ctx context.Context, c core.Caller, id string) (settings.RuleView, error)
	// RemoveRule ends a rule for good. Errors: core.ErrForbidden.
	RemoveRule(ctx context.Context, c core.Caller, id string) (settings.RuleView, error)
}

// Linker handles the codes that link chat accounts to people.
type Linker interface {
	// PeekLink reads a code without using it: whose it is, and the hash that
	// RedeemLink takes. Errors: core.ErrCodeInvalid.
	PeekLink(ctx context.Context, code string) (person core.Principal, codeHash string, err error)
	// RedeemLink uses the code and links the identity to the code's person. Errors:
	// core.ErrCodeInvalid, core.ErrIdentityTaken.
	RedeemLink(ctx context.Context, codeHash string, i core.Identity) (core.Principal, error)
	// BurnCode makes a code useless; what is no code changes nothing.
	BurnCode(ctx context.Context, code string) error
}

// Texts makes free text safe; core.Describer is one.
type Texts interface {
	Text(s string, limit int) string
}

// Config holds the pipeline's figures. The zero value of a field takes its default.
type Config struct {
	// Timeout bounds one click or text, from arrival to answer; default 10 s, which
	// a Telegram query survives. What cannot be finished within it is answered as
	// not recorded, or as unclear where a write may still come.
	Timeout time.Duration
	// Zone is the deployment's zone for times in answers; nil means UTC.
	Zone *time.Location
	// PublicURL is the configured public address of the page; "" without one.
	PublicURL string
	// PlainReplies reports whether a plain reply to a card in a direct chat of this
	// bot declines (K19); nil means that it does everywhere.
	PlainReplies func(core.AccountRef) bool
}

// Deps are what the pipeline is made of.
type Deps struct {
	Codec     *Codec
	Resolver  Resolver
	Reader    Reader
	Ledger    Ledger
	Cards     core.Cards
	Finals    Finals   // nil answers every click in words.
	Outcomes  Outcomes // nil where nothing can be done about outcomes.
	Settings  Settings // nil without /mode, and nothing is re-opened.
	Rules     Rules    // nil without /rules.
	People    People
	Prompts   core.Prompts
	Linker    Linker
	Publisher core.Publisher
	Clock     core.Clock
	Texts     Texts
	NewID     func() string // UUIDv7.
	Logger    *slog.Logger
}

// Pipeline is the one way that clicks and typed answers take. It implements
// channels.Inbound, keeps no state and is safe for concurrent use on any number of
// replicas.
type Pipeline struct {
	cfg  Config
	deps Deps
}

var _ channels.Inbound = (*Pipeline)(nil)

// New wires a pipeline; it starts nothing.
func New(cfg Config, deps Deps) *Pipeline {
	if cfg.Timeout == 0 {
		cfg.Timeout = 10 * time.Second
	}
	return &Pipeline{cfg: cfg, deps: deps}
}

// Click handles a pressed button and returns the one answer it gets.
func (p *Pipeline) Click(ctx context.Context, c channels.Click) channels.Answer {
	t := &turn{Pipeline: p, account: c.Account, actor: c.Actor, chat: c.Chat, direct: c.Direct}
	return t.guarded(ctx, "click", func(ctx context.Context) channels.Answer { return t.click(ctx, c) })
}

// Text handles a command, a /start payload or a reply to a message of ours. A zero
// Answer says nothing.
func (p *Pipeline) Text(ctx context.Context, c channels.Text) channels.Answer {
	t := &turn{Pipeline: p, account: c.Account, actor: c.Actor, chat: c.Chat, direct: c.Direct}
	return t.guarded(ctx, "text", func(ctx context.Context) channels.Answer { return t.text(ctx, c) })
}

// Placed records where the prompt of an Answer was posted. Until it has, a reply to
// the prompt finds nothing, decides nothing and is told so. Errors: core.ErrNotFound.
func (p *Pipeline) Placed(ctx context.Context, promptID, locator string) error {
	if err := p.deps.Prompts.PlacePrompt(ctx, promptID, locator); err != nil {
		return fmt.Errorf("place prompt: %w", err)
	}
	return nil
}

// Shown records that the card of an Answer was shown, or with revision 0 that it never
// will be, and wakes the ledger. If it is not called, or fails, the ledger edits the
// message a little later. Errors: core.ErrNotFound.
func (p *Pipeline) Shown(ctx context.Context, deliveryID string, cardRevision int64) error {
	if p.deps.Finals == nil {
		return nil // No answer of ours had a card.
	}
	hint, err := p.deps.Finals.ShownByAnswer(ctx, deliveryID, cardRevision)
	if err != nil {
		return fmt.Errorf("record answer: %w", err)
	}
	p.deps.Publisher.Publish(ctx, hint)
	return nil
}

// turn is one click or text on its way through.
type turn struct {
	*Pipeline
	account core.AccountRef
	actor   channels.Actor
	chat    string
	direct  bool

	person   core.Principal
	deciding bool // A write may have begun: from here on "not recorded" must be proven.
	settled  bool // The outcome of a write was unknown and had to be looked up.
}

// guarded runs a handler for at most the configured time and answers even where it
// panics. The caller's cancellation is not passed on: whoever pressed a button is
// told what became of it even while the process stops, which waits no longer than
// the timeout.
func (t *turn) guarded(ctx context.Context, what string, handle func(context.Context) channels.Answer) (answer channels.Answer) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), t.cfg.Timeout)
	defer cancel()
	defer func() {
		if fault := recover(); fault != nil {
			// Only its type: the value may hold what a person wrote.
			t.deps.Logger.ErrorContext(ctx, "panic in the inbound pipeline",
				"what", what, "channel", t.account.Channel, "fault", fmt.Sprintf("%T", fault))
			answer = refusal(presentation.AnswerNotRecorded)
			if t.deciding {
				answer = refusal(presentation.AnswerUnclear)
			}
		}
	}()
	return handle(ctx)
}

// caller is the person as the service authenticates them.
func (t *turn) caller() core.Caller {
	return core.Caller{Person: &t.person, Surface: t.account.Channel}
}

// identify finds the person behind the actor. The second result is the answer to
// give where there is none, or none of a kind that may decide.
func (t *turn) identify(ctx context.Context) (refused channels.Answer, ok bool) {
	if t.actor.Refused != "" {
		return refusal(presentation.AnswerRefused(t.deps.Texts.Text(t.actor.Refused, maxShown))), false
	}
	person, err := t.deps.People.PrincipalByIdentity(ctx, t.actor.Realm, t.actor.ID)
	if err != nil {
		return t.failed(ctx, fmt.Errorf("find person: %w", err)), false
	}
	if person.ID == "" || person.Disabled {
		return t.notYours(), false
	}
	t.person = person
	return channels.Answer{}, true
}

// maxShown bounds, in code points, what a platform says about an account before it
// is shown back.
const maxShown = 64

// place is where answers are read: privately, by the person who is answered.
func (t *turn) place(ctx context.Context) presentation.Place {
	place := presentation.Place{Zone: t.cfg.Zone, PublicURL: t.cfg.PublicURL, Person: t.person.ID}
	if now, err := t.deps.Clock.Now(ctx); err == nil {
		place.Now = now // Only decides whether a time carries its date.
	}
	return place
}

func said(text string) channels.Answer    { return channels.Answer{Text: text} }
func refusal(text string) channels.Answer { return channels.Answer{Text: text, Alert: true} }

func (t *turn) notYours() channels.Answer {
	return refusal(presentation.AnswerNotYours(t.actor.Realm, t.deps.Texts.Text(t.actor.ID, maxShown)))
}
