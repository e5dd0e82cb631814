package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/approvals"
)

// MaxBody is the largest request body in bytes; a larger one is refused with 413
// before it is parsed. It is the bound of an action's arguments (K29).
const MaxBody = 1 << 20

// Reader is the asking and reading side of the approvals service.
type Reader interface {
	Ask(ctx context.Context, c core.Caller, a approvals.Ask) (approvals.Asked, error)
	Get(ctx context.Context, c core.Caller, l core.Lookup) (core.Approval, error)
	Detail(ctx context.Context, c core.Caller, l core.Lookup) (core.Approval, core.Detail, error)
	List(ctx context.Context, c core.Caller, q core.ListQuery) (core.ListPage, error)
}

// Waiter waits for answers.
type Waiter interface {
	// Await returns the record as it is when the time is over. It keeps what it is
	// given until it returns.
	Await(ctx context.Context, c *core.Caller, w *approvals.WaitRequest) (*core.Approval, error)
	// Release ends all waits as if their time were over, now and from now on.
	Release()
}

// Decider ends approvals.
type Decider interface {
	Resolve(ctx context.Context, r approvals.Resolve) (approvals.Resolved, error)
	Cancel(ctx context.Context, c core.Caller, l core.Lookup) (approvals.Resolved, error)
	DenyMalformed(ctx context.Context, c core.Caller, l core.Lookup) (approvals.Resolved, error)
	Reply(ctx context.Context, c core.Caller, r approvals.Reply) (approvals.Replied, error)
}

// Granter is the execution side of allowed approvals.
type Granter interface {
	// Claim returns the current record together with a conflict.
	Claim(ctx context.Context, c core.Caller, cl approvals.Claim) (core.Approval, error)
	// Report returns the current record together with a conflict.
	Report(ctx context.Context, c core.Caller, r approvals.Report) (core.Approval, error)
}

// Aftercare is what people do about outcomes.
type Aftercare interface {
	// Dismiss returns the current record together with a conflict.
	Dismiss(ctx context.Context, c core.Caller, l core.Lookup) (core.Approval, error)
	// AskAgain returns the current record together with a conflict.
	AskAgain(ctx context.Context, c core.Caller, l core.Lookup) (core.Approval, error)
}

// Updater hands out what agents have not heard of yet.
type Updater interface {
	ClaimUpdates(ctx context.Context, c core.Caller, claim approvals.ClaimUpdates) (core.UpdateBatch, error)
	AckUpdates(ctx context.Context, c core.Caller, agent, token string) (int, error)
}

// Runner is the runtime's own bookkeeping.
type Runner interface {
	RegisterInstance(ctx context.Context, c core.Caller, r approvals.Registration) (core.Instance, error)
	AbortRun(ctx context.Context, c core.Caller, run string) (core.Run, error)
	RunStatus(ctx context.Context, c core.Caller, run string) (core.Run, error)
}

// Service is all of the approvals service; core/approvals satisfies it.
type Service interface {
	Reader
	Waiter
	Decider
	Granter
	Runner
	Aftercare
	Updater
}

// Ledger sums up where an approval was shown.
type Ledger interface {
	DeliveriesOf(ctx context.Context, approvalID string) ([]core.Delivery, error)
}

// Authenticator turns a bearer into a caller; core/people satisfies it.
type Authenticator interface {
	// Authenticate returns ErrUnauthenticated for whatever it does not know, and
	// other errors only when it cannot tell.
	Authenticate(ctx context.Context, bearer string) (core.Caller, error)
}

// Config is what an operator sets. The zero value works: no public address, the
// loopback names as hosts, default limits.
type Config struct {
	// PublicURL is the configured address of the page, scheme and host and an
	// optional base path; "" when there is none. Absolute links exist only with it
	// (R178), and its host is allowed.
	PublicURL string
	// Hosts are further names that a Host header may carry, without ports. The
	// loopback names are always among them.
	Hosts []string
	// RequestsPerSecond and Burst limit each runtime; 50 and 100 by default.
	RequestsPerSecond float64
	Burst             int
	// CLIAllow lets sessions of the CLI allow; without it they can only deny, because
	// an agent that runs as the same user could read the session's file.
	CLIAllow bool
	// OpenMetrics serves /metrics without a bearer, for an address that only the
	// operator's own network reaches.
	OpenMetrics bool
	// Timeouts of the server; zero fields take their defaults.
	Timeouts Timeouts
}

// Timeouts bound how long a connection may keep a goroutine.
type Timeouts struct {
	ReadHeader time.Duration // Default 5 s.
	Read       time.Duration // Header and body; default 20 s.
	Write      time.Duration // Answer, not counting the wait of a long poll; default 30 s.
	Idle       time.Duration // Between requests; default 2 min.
	Drain      time.Duration // After the stop, for requests under way; default 10 s.
}

// Deps are the services behind the edge. Metrics, ChatLinks, Doctor and Policy may be nil;
// everything else is required.
type Deps struct {
	Approvals     Service
	Ledger        Ledger
	People        People
	Settings      Settings
	Authenticator Authenticator
	Clock         core.Clock
	Views         *Views
	// AgentText words the answer for the agent; presentation has it.
	AgentText func(core.Approval) string
	// RefusalText words a refused claim for the agent; presentation has it.
	RefusalText func(a core.Approval, refusal error) string
	// UpdateText words an update for the agent, in one line; presentation has it.
	UpdateText func(core.Update) string
	// ChatLinks are the messengers' own links that present a linking code to a bot
	// ("https://t.me/bot?start=..."); nil when no messenger has them.
	ChatLinks func(code string) []string
	// Messengers are those with a bot of this deployment, each once; may be empty.
	Messengers []core.Surface
	// Ready says what keeps this replica from serving; nil when nothing does.
	Ready func(ctx context.Context) error
	// Doctor examines the accounts; nil where there is nothing to examine.
	Doctor Doctor
	// Policy explains calls and tells of the tables in force; nil where there is none.
	Policy Policy
	// Metrics is mounted at /metrics when it is not nil.
	Metrics http.Handler
	Logger  *slog.Logger
	// Now is the process clock, for the deadlines of connections and the rate limit.
	Now func() time.Time
}

func (c *Config) complete() error {
	if c.RequestsPerSecond < 0 || c.Burst < 0 {
		return errors.New("request limits: must not be negative")
	}
	setDefault(&c.RequestsPerSecond, 50)
	setDefault(&c.Burst, 100)
	setDefault(&c.Timeouts.ReadHeader, 5*time.Second)
	setDefault(&c.Timeouts.Read, 20*time.Second)
	setDefault(&c.Timeouts.Write, 30*time.Second)
	setDefault(&c.Timeouts.Idle, 2*time.Minute)
	setDefault(&c.Timeouts.Drain, 10*time.Second)
	return nil
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

func (d *Deps) check() error {
	if d.Approvals == nil || d.Ledger == nil || d.People == nil || d.Settings == nil || d.Authenticator == nil || d.Clock == nil ||
		d.Views == nil || d.AgentText == nil || d.RefusalText == nil || d.UpdateText == nil || d.Ready == nil || d.Logger == nil || d.Now == nil {
		return errors.New("a dependency is missing")
	}
	return nil
}

// Links derives addresses of the page from ids. They are never stored and never
// built from a request (R178).
type Links struct {
	origin string // "https://host[:port]", or "".
	base   string // "" or "/base".
}

// NewLinks reads the configured public address; "" means that there is none.
func NewLinks(publicURL string) (Links, error) {
	if publicURL == "" {
		return Links{}, nil
	}
	u, err := url.Parse(publicURL)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" ||
		u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return Links{}, errors.New("public url: must be http or https with a host and an optional path")
	}
	return Links{origin: u.Scheme + "://" + u.Host, base: strings.TrimSuffix(u.EscapedPath(), "/")}, nil
}

// Base is the path under which everything is served: "" or "/base".
func (l Links) Base() string { return l.base }

// Path is the path of an approval's page. Ids are opaque: what could end the
// segment is escaped.
func (l Links) Path(id string) string { return l.base + "/approve/" + url.PathEscape(id) }

// URL is the absolute address of an approval's page, or "" without a configured
// public address.
func (l Links) URL(id string) string {
	if l.origin == "" {
		return ""
	}
	return l.origin + l.Path(id)
}

// hostList is the allow-list of Host headers: it keeps a page of another site
// from reaching a loopback service through a name that it points here.
type hostList map[string]struct{}

func newHostList(c Config) (hostList, error) {
	hosts := hostList{"localhost": {}, "127.0.0.1": {}, "::1": {}}
	if c.PublicURL != "" {
		u, err := url.Parse(c.PublicURL)
		if err != nil {
			return nil, errors.New("public url: malformed")
		}
		hosts[strings.ToLower(u.Hostname())] = struct{}{}
	}
	for i, h := range c.Hosts {
		h = strings.ToLower(strings.Trim(h, "[]"))
		if _, err := netip.ParseAddr(h); err != nil && (h == "" || strings.ContainsAny(h, ":/@ ")) {
			return nil, fmt.Errorf("hosts[%d]: must be a name or an address without a port", i)
		}
		hosts[h] = struct{}{}
	}
	return hosts, nil
}

func (l hostList) allows(hostport string) bool {
	u := url.URL{Host: hostport}
	_, ok := l[strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")]
	return ok
}
