package doctor

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/api"
)

// The checks beside those of the channels.
const (
	CheckService   = "service"    // A service runs.
	CheckAccounts  = "accounts"   // Messengers are configured.
	CheckReceiving = "receiving"  // The running service hears from the account.
	CheckLastClick = "last-click" // When it last heard of a click.
	CheckRoute     = "route"      // A chat that refuses for good.
	CheckTestCard  = "test-card"  // A card reached a person, and its click came back.
)

// People lists who there is and where they are linked.
type People interface {
	ListPrincipals(ctx context.Context) ([]core.Principal, error)
	IdentitiesOf(ctx context.Context, principalIDs ...string) ([]core.Identity, error)
}

// Deps are what the doctor is made of; all of it is required but Shared, Turn and Service.
type Deps struct {
	Channels []channels.Channel
	Seen     *Seen
	People   People
	Prompts  core.Prompts
	Routes   core.Routes
	Clock    core.Clock
	NewID    func() string // UUIDv7.
	Logger   *slog.Logger
	// Shared says that another replica may hear from an account in the place of this
	// one. Test cards may be pressed anywhere, what is heard is told for this one alone.
	Shared bool
	// Turn reports whether replicas take turns to hear from an account, and whether it
	// is this one's. Nil: they do not, all of them hear.
	Turn func(ref core.AccountRef) (taken, ours bool)
	// Service examines what is no account; nil where there is nothing more.
	Service func() []api.Finding
}

// Doctor examines the accounts that this process holds. It implements gateway.Doctor
// and is safe for concurrent use.
type Doctor struct {
	deps Deps

	mu   sync.Mutex
	kept []*examination // Oldest first.
}

// keep is how many examinations are remembered.
const keep = 16

// examination is one that can still be asked about.
type examination struct {
	id       string
	findings []api.Finding
	cards    map[int]card // By the index of their finding.
}

// New wires a doctor; it asks nobody anything yet.
func New(deps Deps) *Doctor { return &Doctor{deps: deps} }

// Examine examines every account; see gateway.Doctor.
func (d *Doctor) Examine(ctx context.Context, e api.Examine) (api.Examination, error) {
	var links []link
	if e.Cards || e.Person != "" {
		var err error
		if links, err = d.links(ctx, e.Person); err != nil {
			return api.Examination{}, err
		}
	}
	routes, err := d.deps.Routes.BrokenRoutes(ctx)
	if err != nil {
		return api.Examination{}, fmt.Errorf("list broken routes: %w", err)
	}
	x := &examination{id: d.deps.NewID(), cards: map[int]card{}}
	x.findings = append(x.findings,
		api.Finding{Check: CheckService, Verdict: api.HealthOK, Detail: "it runs"})
	if d.deps.Service != nil {
		x.findings = append(x.findings, d.deps.Service()...)
	}
	x.findings = append(x.findings, Configured(len(d.deps.Channels)))
	found := d.accounts(ctx, e.Fix)
	sent := d.sendCards(ctx, links)
	for _, c := range d.deps.Channels {
		x.findings = append(x.findings, d.heard(c.Ref(), of(found, c.Ref()))...)
		x.findings = append(x.findings, broken(c.Ref(), routes)...)
		for _, s := range sent {
			if s.link.ref() == c.Ref() {
				x.add(s)
			}
		}
		if f, needed := unlinked(c.Ref(), links); needed && e.Cards && e.Person == "" {
			x.findings = append(x.findings, f)
		}
	}
	x.findings = append(x.findings, homeless(links, d.deps.Channels)...)
	d.remember(x)
	d.deps.Logger.LogAttrs(ctx, slog.LevelInfo, "accounts examined",
		slog.Int("findings", len(x.findings)), slog.Int("cards", len(x.cards)), slog.Bool("fix", e.Fix))
	return d.answer(ctx, x)
}

// Examination tells what became of the test cards; see gateway.Doctor.
func (d *Doctor) Examination(ctx context.Context, id string) (api.Examination, error) {
	d.mu.Lock()
	i := slices.IndexFunc(d.kept, func(x *examination) bool { return x.id == id })
	if i < 0 {
		d.mu.Unlock()
		return api.Examination{}, fmt.Errorf("find examination: %w", core.ErrNotFound)
	}
	x := d.kept[i]
	d.mu.Unlock()
	return d.answer(ctx, x)
}

// A platform that does not answer takes the time of its own part, and the report is
// made all the same; together less than an operator's call may take (1 min).
const (
	accountsTime = 25 * time.Second
	cardsTime    = 25 * time.Second
)

func (d *Doctor) accounts(ctx context.Context, fix bool) []api.Finding {
	ctx, cancel := context.WithTimeout(ctx, accountsTime)
	defer cancel()
	return Accounts(ctx, d.deps.Channels, fix)
}

// Configured says how many accounts there are. Without any the page is the only place
// to answer, which is no fault.
func Configured(accounts int) api.Finding {
	f := api.Finding{Check: CheckAccounts, Verdict: api.HealthOK, Detail: fmt.Sprintf("%d configured", accounts)}
	if accounts == 0 {
		f.Detail = "no messenger is configured; people answer on the page"
	}
	return f
}

func (d *Doctor) remember(x *examination) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.kept = append(d.kept, x)
	d.kept = d.kept[max(0, len(d.kept)-keep):]
}

// answer reports an examination as it stands now: what became of its cards is read
// from the store.
func (d *Doctor) answer(ctx context.Context, x *examination) (api.Examination, error) {
	now, err := d.deps.Clock.Now(ctx)
	if err != nil {
		return api.Examination{}, fmt.Errorf("read clock: %w", err)
	}
	findings, cards := d.stateOf(x)
	out := api.Examination{ID: x.id, Findings: findings, ServerTime: now}
	for i, c := range cards {
		if err := d.settle(ctx, &out.Findings[i], c, now); err != nil {
			return api.Examination{}, err
		}
		if out.Findings[i].Verdict == api.HealthWaiting {
			out.Waiting++
			continue
		}
		d.settled(x, i, out.Findings[i])
	}
	d.refresh(out.Findings)
	return out, nil
}

func (d *Doctor) stateOf(x *examination) ([]api.Finding, map[int]card) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(x.findings), maps.Clone(x.cards)
}

// settled keeps what became of a card: once its prompt has run out the store cannot
// tell any more.
func (d *Doctor) settled(x *examination, i int, f api.Finding) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, waits := x.cards[i]; waits {
		x.findings[i] = f
		delete(x.cards, i)
	}
}

// refresh brings what this process hears up to date.
func (d *Doctor) refresh(found []api.Finding) {
	for i := range found {
		f := &found[i]
		h := d.deps.Seen.of(core.AccountRef{Channel: f.Channel, Account: f.Account})
		switch {
		case f.Check == CheckLastClick:
			f.Detail = d.lastClick(h)
		case f.Check == string(channels.CheckInteractivity) && f.Verdict == api.HealthUnknown && !h.click.IsZero():
			f.Verdict, f.Fix = api.HealthOK, ""
			f.Detail = "clicks come back"
		}
	}
}

// heard adds what this process hears from an account to what its platform says of it.
func (d *Doctor) heard(ref core.AccountRef, found []api.Finding) []api.Finding {
	h := d.deps.Seen.of(ref)
	receiving := api.Finding{Channel: ref.Channel, Account: ref.Account, Check: CheckReceiving, Verdict: api.HealthOK}
	if d.deps.Shared {
		receiving.Detail = d.where(ref)
	}
	if h.down != "" {
		receiving.Verdict, receiving.Detail = api.HealthFailed, h.down
		receiving.Fix = "The service tries again by itself. If it stays so, its log says since when (\"messenger stopped receiving\")."
		if h.auth {
			receiving.Fix = "Correct the credentials or the app's settings, as the checks above say, and restart the service."
		}
	}
	return append(found, receiving, api.Finding{
		Channel: ref.Channel, Account: ref.Account, Check: CheckLastClick, Verdict: api.HealthOK, Detail: d.lastClick(h),
	})
}

// where says which of several replicas hears from an account.
func (d *Doctor) where(ref core.AccountRef) string {
	if d.deps.Turn != nil {
		switch taken, ours := d.deps.Turn(ref); {
		case taken && ours:
			return "at this replica"
		case taken:
			return "this replica stands by for another"
		}
	}
	return "here, or at another replica"
}

func (d *Doctor) lastClick(h hearing) string {
	if h.click.IsZero() && d.deps.Shared {
		return "none at this replica since it started, " + stamp(d.deps.Seen.began)
	}
	if h.click.IsZero() {
		return "none since the service started, " + stamp(d.deps.Seen.began)
	}
	return stamp(h.click)
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// broken lists an account's chats that refuse for good. Direct chats are left to the
// test cards.
func broken(ref core.AccountRef, routes []core.BrokenRoute) []api.Finding {
	var list []api.Finding
	for _, r := range routes {
		if r.Ref != ref || r.PersonID != "" {
			continue
		}
		list = append(list, api.Finding{
			Channel: ref.Channel, Account: ref.Account, Check: CheckRoute, Verdict: api.HealthFailed,
			Detail: fmt.Sprintf("the chat %s refuses cards since %s (%s)", r.Destination, stamp(r.BrokenAt.Time()), r.Class),
			Fix:    "Invite the bot to that chat again and let it write there, or take the chat out of the configuration. It is tried again by itself.",
		})
	}
	return list
}

func of(found []api.Finding, ref core.AccountRef) []api.Finding {
	var list []api.Finding
	for _, f := range found {
		if f.Channel == ref.Channel && f.Account == ref.Account {
			list = append(list, f)
		}
	}
	return list
}
