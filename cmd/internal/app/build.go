package app

import (
	"context"
	"crypto/hkdf"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/saysohq/sayso/callbacks"
	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/cmd/internal/doctor"
	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/approvals"
	"github.com/saysohq/sayso/core/events/webhooks"
	"github.com/saysohq/sayso/core/gateway"
	"github.com/saysohq/sayso/core/leases"
	"github.com/saysohq/sayso/core/people"
	"github.com/saysohq/sayso/core/people/keyring"
	"github.com/saysohq/sayso/core/policy"
	"github.com/saysohq/sayso/core/policy/inforce"
	"github.com/saysohq/sayso/core/redact"
	"github.com/saysohq/sayso/core/settings"
	"github.com/saysohq/sayso/deliveries"
	"github.com/saysohq/sayso/presentation"
	"github.com/saysohq/sayso/presentation/web"
)

// parts is the built service, before anything of it runs.
type parts struct {
	store    *storage
	bus      bus
	people   *people.Service
	service  *approvals.Service
	settings *settings.Service
	pipeline *callbacks.Pipeline
	seen     *doctor.Seen
	worker   *deliveries.Worker
	gateway  *gateway.Gateway
	policy   *inforce.Keeper
	judge    approvals.Evaluator // What the service asks.
	// evaluator is the same, for whoever wants to know why.
	evaluator *policy.Evaluator
	channels  []channels.Channel
	jobs      *leases.Runner
	sequence  func(context.Context) error // Numbers events; nil where the store does.
	callback  func(context.Context) error // Calls the callbacks of runtimes; nil where none has any.
	presence  func(context.Context) error // Shows the other replicas that the worker lives.
}

// builder holds what several parts are made of.
type builder struct {
	Options
	store    *storage
	zone     *time.Location
	bus      bus
	pacer    deliveries.Pacer
	redactor *redact.Redactor
	jobs     *leases.Runner // nil where nothing runs.
	held     *heldJobs
}

// newID makes a UUIDv7: ids in the order of time keep the indexes small.
func newID() string { return uuid.Must(uuid.NewV7()).String() }

func build(ctx context.Context, o Options, store *storage) (*parts, error) {
	zone, err := time.LoadLocation(o.Config.Timezone)
	if err != nil {
		return nil, fmt.Errorf("timezone: %w", err)
	}
	b := &builder{
		Options: o, store: store,
		zone: zone, redactor: redact.New(),
	}
	if err := b.connect(ctx); err != nil {
		return nil, err
	}
	if err := b.buildJobs(); err != nil {
		return nil, err
	}
	p := &parts{store: store, bus: b.bus, jobs: b.jobs, people: people.New(people.Deps{
		Principals: store, Identities: store, Sessions: store, Tokens: store, Codes: store, Burner: store,
		Text: b.redactor, Log: o.Logger.With("part", "people"),
	})}
	ring, err := b.ring(ctx)
	if err != nil {
		return nil, err
	}
	metrics := o.Logger.With("part", "metrics")
	for _, g := range []*backlog{newBacklog(store, o.Now, metrics), newCallbackBacklog(store, o.Now, metrics)} {
		if err := b.registry.Register(g); err != nil {
			return nil, fmt.Errorf("register metrics: %w", err)
		}
	}
	if err := b.buildPolicy(ctx, p); err != nil {
		return nil, err
	}
	if err := b.buildService(p); err != nil {
		return nil, err
	}
	b.buildSettings(p)
	b.buildSequencer(p)
	if err := b.buildChannels(ctx, p, ring); err != nil {
		return nil, err
	}
	if p.seen, err = doctor.NewSeen(b.Now, b.registry, p.accounts()...); err != nil {
		return nil, err
	}
	if err := b.buildWorker(p); err != nil {
		return nil, err
	}
	return p, b.buildEdge(ctx, p, ring)
}

func (b *builder) planner() *deliveries.Planner {
	return deliveries.NewPlanner(deliveries.RoutesConfig{
		Accounts: b.Config.Accounts(), Rules: b.Config.Rules(), PublicURL: b.Config.PublicURL,
	}, deliveries.RoutesDeps{
		People: b.store, Sessions: b.store, Codes: b.store, Broken: b.store.ledger, Clock: b.store, NewID: newID,
		Logger: b.Logger.With("part", "routes"),
	})
}

func (b *builder) buildService(p *parts) error {
	hooks, err := b.buildCallbacks(p)
	if err != nil {
		return err
	}
	p.service = approvals.New(approvals.Config{MaxPending: b.Config.Limits.Pending}, approvals.Deps{
		Jobs: b.jobs, Store: b.store, Owners: b.store, People: b.store, Evaluator: p.judge,
		Describer: b.redactor, Planner: b.planner(), Callbacks: hooks, Publisher: b.bus, Hints: b.bus,
		Observer: b.counted.observer, Logger: b.Logger.With("part", "approvals"), NewID: newID,
	})
	return nil
}

// buildCallbacks is what requests may have called, and who calls it where anything may
// be.
func (b *builder) buildCallbacks(p *parts) (*webhooks.Runtimes, error) {
	list, err := b.Config.Webhooks()
	if err != nil {
		return nil, fmt.Errorf("callbacks: %w", err)
	}
	if len(b.Config.Callbacks) > 0 {
		p.callback = webhooks.New(webhooks.Deps{
			Store: b.store, Hints: b.bus, Runtimes: list, Observer: b.counted.observer, Logger: b.Logger.With("part", "callbacks"),
		}).Run
	}
	return list, nil
}

// buildSettings makes what people set for agents. A terminal may loosen what it may allow.
func (b *builder) buildSettings(p *parts) {
	p.settings = settings.New(settings.Deps{
		Agents: b.store, Lives: b.store, Rules: b.store, Declines: b.store, Approvals: b.store, Owners: b.store, Clock: b.store,
		Publisher: b.bus, Text: b.redactor, NewID: newID, Logger: b.Logger.With("part", "settings"),
		TerminalLoosens: b.Config.CLIAllow, DefaultMode: func() policy.Mode { return p.policy.Current().DefaultMode() },
		Switchable: func(runtime, tool string) bool { return p.policy.Current().Switchable(runtime, tool) },
	})
}

func (b *builder) buildWorker(p *parts) error {
	metrics, err := deliveries.NewMetrics(b.registry, core.SurfaceTelegram, core.SurfaceSlack, core.SurfaceDiscord)
	if err != nil {
		return err
	}
	name := newID()
	var alive func() bool
	p.presence, alive = b.presence(name)
	p.worker = deliveries.New(deliveries.Config{
		Name: name, PublicURL: b.Config.PublicURL, Zone: b.zone,
		Sticky: func() time.Duration { return p.policy.Current().StickyWindow() },
	}, deliveries.Deps{
		Listeners: b.store,
		Store:     b.store.ledger, Rows: b.store.ledger, Convergence: b.store.ledger, Records: b.store, People: b.store,
		Router: b.planner(), Broken: b.store.ledger, Cards: b.store.ledger, Jobs: b.jobs, Alive: alive, Clock: b.store,
		Hints: b.bus, Publisher: b.bus, Channels: p.channels, Pacer: b.pacer,
		Metrics: metrics, Logger: b.Logger.With("part", "deliveries"), Now: b.Now,
	})
	return nil
}

// presence is that of the worker among those of other replicas, where there may be any.
func (b *builder) presence(worker string) (run func(context.Context) error, alive func() bool) {
	if !b.store.shared {
		return untilDone, nil
	}
	p := deliveries.NewPresence(worker, deliveries.PresenceDeps{
		Store: b.store.leases, Publisher: b.bus, Logger: b.Logger.With("part", "deliveries"), Now: b.Now,
	})
	return p.Run, p.Alive
}

// buildEdge makes the API, the page and the webhooks on one listener.
func (b *builder) buildEdge(ctx context.Context, p *parts, ring *keyring.Ring) error {
	keys, err := b.keys(ctx, ring, keyring.PurposePage)
	if err != nil {
		return err
	}
	viewKey, err := derive(keys[0].Secret, "views")
	if err != nil {
		return err
	}
	views, err := gateway.NewViews(viewKey)
	if err != nil {
		return err
	}
	p.gateway, err = gateway.New(gateway.Config{
		PublicURL: b.Config.PublicURL, Hosts: b.Config.AllowedHosts,
		RequestsPerSecond: b.Config.Limits.RequestsPerS, Burst: b.Config.Limits.RequestsBurst,
		CLIAllow: b.Config.CLIAllow, OpenMetrics: b.Config.OpenMetrics,
	}, gateway.Deps{
		Approvals: p.service, Ledger: b.store.ledger, People: p.people, Settings: p.settings, Authenticator: p.people, Clock: b.store,
		Views: views, AgentText: presentation.AgentText, RefusalText: presentation.RefusalText, UpdateText: presentation.UpdateText, Ready: b.ready(p),
		ChatLinks: p.chatLinks, Messengers: p.messengers(), Doctor: b.doctor(p), Policy: p.policyDesk(),
		Metrics: promhttp.HandlerFor(b.registry, promhttp.HandlerOpts{}),
		Logger:  b.Logger.With("part", "http"), Now: b.Now,
	})
	if err != nil {
		return err
	}
	return b.mount(ctx, p, keys[0].Secret, views)
}

func (b *builder) mount(ctx context.Context, p *parts, secret []byte, views *gateway.Views) error {
	formKey, err := derive(secret, "forms")
	if err != nil {
		return err
	}
	forms, err := gateway.NewForms(formKey)
	if err != nil {
		return err
	}
	renderer, err := web.New()
	if err != nil {
		return err
	}
	deployment, err := b.store.Deployment(ctx)
	if err != nil {
		return fmt.Errorf("read deployment: %w", err)
	}
	pages, err := gateway.NewPages(gateway.PageConfig{
		Links: p.gateway.Links(), Deployment: deployment.ID, Secure: strings.HasPrefix(b.Config.PublicURL, "https://"), Zone: b.zone,
		LinkHint: linkHint(p.channels),
	}, gateway.PageDeps{
		Approvals: p.service, Authenticator: p.people, SignIns: p.people, NoAdmin: b.store.BootstrapOpen,
		Outcomes: p.service, Agents: p.settings, Pauses: p.settings, Rules: p.settings, Declines: p.settings,
		Sticky: func() time.Duration { return p.policy.Current().StickyWindow() },
		Name:   b.name, Clock: b.store, Views: views, Forms: forms, Renderer: renderer,
		Logger: b.Logger.With("part", "page"), Now: b.Now, Stopping: p.gateway.Stopping(),
	})
	if err != nil {
		return err
	}
	p.gateway.Handle("/", pages.Handler())
	b.mountWebhooks(p)
	return nil
}

// derive makes a key of its own for each use of the page's secret.
func derive(secret []byte, use string) ([]byte, error) {
	key, err := hkdf.Key(sha256.New, secret, nil, "sayso page "+use, sha256.Size)
	if err != nil {
		return nil, fmt.Errorf("derive key: %w", err)
	}
	return key, nil
}

// ready reports what keeps this process from serving: a store that it does not reach,
// and policy files that are not those in force.
func (b *builder) ready(p *parts) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		if _, err := b.store.Now(ctx); err != nil {
			return err
		}
		return p.policy.Ready(ctx)
	}
}

// name is a person's display name for a card; "" where there is none to show.
func (b *builder) name(ctx context.Context, id string) string {
	p, err := b.store.Principal(ctx, id)
	if err != nil {
		b.Logger.LogAttrs(ctx, slog.LevelWarn, "requester's name could not be read", slog.Any("error", err))
		return ""
	}
	return p.Name
}
