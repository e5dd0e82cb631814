package slack

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slack-go/slack"

	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/core"
)

// Codec makes the payloads of buttons; callbacks.Codec is one.
type Codec interface {
	// Encode makes the payload of an action for one bot, at most 64 bytes, and
	// names the key that signed it.
	Encode(account core.AccountRef, a core.Action) (payload, keyID string, err error)
}

// DefaultAPI is where the platform serves apps.
const DefaultAPI = "https://slack.com/api/"

// The connections of Socket Mode. The platform allows 10 for an app. Each process keeps
// two, so that replacing one loses nothing; a fleet keeps four at most, because every
// one of them has a second beside it while it is replaced.
const (
	Connections = 2 // Of a process.
	MaxSlots    = 4 // Of a fleet, each of them one Turn.
)

// Config of one app in one workspace.
type Config struct {
	BotToken string // "xoxb-...", of the workspace.
	// AppToken is "xapp-..." with the scope connections:write; it makes the channel
	// receive by Socket Mode.
	AppToken string
	// SigningSecret makes the channel receive signed pushes instead: serve Webhook.
	// Exactly one of AppToken and SigningSecret is set.
	SigningSecret string
	Team          string // "T...", the workspace; see Identify.
	App           string // "A..."; "" takes the one that AppToken names.
	APIBase       string // "" takes DefaultAPI.
	// Workspaces is shared by the channels of one app in several workspaces; nil for
	// an app in a single one.
	Workspaces *Workspaces
	// Transport carries all HTTP calls; nil takes a clone of net/http's default.
	Transport http.RoundTripper
	Logger    *slog.Logger // nil discards.
	// Now is the wall clock that the age of pushes is read from; needed with
	// SigningSecret.
	Now func() time.Time
	// Turn is taken for each connection: an app has MaxSlots of them in a fleet, and
	// Connections in a process, whatever the number of its workspaces. Pushes need none;
	// nil is for a process without others and an app in one workspace.
	Turn channels.Turn
	// Pause waits before a call is repeated; nil waits for real. Tests make it short.
	Pause func(ctx context.Context, d time.Duration) error
}

// Channel is one app in one workspace. It implements channels.Channel,
// channels.Detailer and channels.Checker, and is safe for concurrent use.
type Channel struct {
	cfg    Config
	ref    core.AccountRef
	codec  Codec
	client *client
	api    *slack.Client
	log    *slog.Logger
	people *people

	self    atomic.Pointer[self] // Who we are, once the platform told it.
	running atomic.Bool
	gate    sync.RWMutex
	session *session // Set while Run receives; guarded by gate.
	grace   time.Duration
	neutral time.Duration
	idle    time.Duration
}

// self is how the platform names the bot in messages.
type self struct {
	user string
	bot  string
}

var (
	_ channels.Channel  = (*Channel)(nil)
	_ channels.Detailer = (*Channel)(nil)
	_ channels.Checker  = (*Channel)(nil)
)

var (
	botTokenRule = regexp.MustCompile(`^(xoxe\.)?xoxb-[A-Za-z0-9-]{1,255}$`)
	appTokenRule = regexp.MustCompile(`^xapp-[0-9]+-(A[A-Z0-9]{1,30})-[A-Za-z0-9-]{1,255}$`)
	teamRule     = regexp.MustCompile(`^T[A-Z0-9]{1,30}$`)
	appRule      = regexp.MustCompile(`^A[A-Z0-9]{1,30}$`)
	secretRule   = regexp.MustCompile(`^[A-Za-z0-9]{16,128}$`)
)

// The times of receiving.
const (
	// neutralAfter is when a payload is acknowledged although its work is not done:
	// the platform waits for 3 s and shows a warning then.
	neutralAfter = 2 * time.Second
	// stopGrace is how long work under way may take to end after a stop.
	stopGrace = 10 * time.Second
	// idleConnections are kept to the one host.
	idleConnections = 16
)

// New makes a channel; it calls nobody. Errors: a core.FieldError for a setting that
// cannot be right; it never repeats the value.
func New(cfg Config, codec Codec) (*Channel, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	if !teamRule.MatchString(cfg.Team) {
		return nil, core.Invalid("team", "must be the id of the workspace, which begins with T")
	}
	if !appRule.MatchString(cfg.App) {
		return nil, core.Invalid("app", "must be the id of the app, which begins with A")
	}
	c := &Channel{
		cfg:     cfg,
		ref:     core.AccountRef{Channel: core.SurfaceSlack, Account: cfg.Team + "." + cfg.App},
		codec:   codec,
		log:     cfg.Logger.With("channel", "slack", "account", cfg.Team+"."+cfg.App),
		grace:   stopGrace,
		neutral: neutralAfter,
		idle:    idleTime,
	}
	c.client, c.api = cfg.connect()
	c.people = newPeople(c)
	return c, nil
}

// check validates the configuration and fills in defaults.
func (cfg *Config) check() error {
	if !botTokenRule.MatchString(cfg.BotToken) {
		return core.Invalid("bot_token", "must be a bot's token, which begins with xoxb-")
	}
	switch {
	case (cfg.AppToken == "") == (cfg.SigningSecret == ""):
		return core.Invalid("app_token", "needs either a token of the app for Socket Mode or a signing secret for pushes")
	case cfg.AppToken != "":
		m := appTokenRule.FindStringSubmatch(cfg.AppToken)
		if m == nil {
			return core.Invalid("app_token", "must be a token of the app, which begins with xapp-")
		}
		if cfg.App == "" {
			cfg.App = m[1]
		}
		if cfg.App != m[1] {
			return core.Invalid("app", "is not the app that the app token belongs to")
		}
	case !secretRule.MatchString(cfg.SigningSecret):
		return core.Invalid("signing_secret", "must be 16-128 letters and digits")
	case cfg.Now == nil:
		return core.Invalid("now", "needs a clock to tell the age of pushes")
	}
	if cfg.APIBase == "" {
		cfg.APIBase = DefaultAPI
	}
	cfg.APIBase = strings.TrimRight(cfg.APIBase, "/") + "/" // The library joins without one.
	if u, err := url.Parse(cfg.APIBase); err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") {
		return core.Invalid("api_base", "must be the address of the API")
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Transport == nil {
		// One channel's connections are its own, so that closing them hits nobody else.
		if t, ok := http.DefaultTransport.(*http.Transport); ok {
			own := t.Clone()
			own.MaxIdleConnsPerHost = idleConnections
			cfg.Transport = own
		}
	}
	if cfg.Pause == nil {
		cfg.Pause = pause
	}
	return nil
}

// connect makes the clients; they call nobody yet.
func (cfg *Config) connect() (*client, *slack.Client) {
	cl := newClient(cfg.Transport)
	// The library's default client has no time limit; ours bounds each call.
	return cl, slack.New(cfg.BotToken, slack.OptionAPIURL(cfg.APIBase),
		slack.OptionHTTPClient(cl), slack.OptionAppLevelToken(cfg.AppToken))
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Ref implements channels.Channel: the account is "<team id>.<app id>".
func (c *Channel) Ref() core.AccountRef { return c.ref }

// Check asks the platform whom the bot token belongs to. Errors: *channels.Error.
func (c *Channel) Check(ctx context.Context) error {
	var got *slack.AuthTestResponse
	_, failed := c.call(ctx, opCheck, func(ctx context.Context) (err error) {
		got, err = c.api.AuthTestContext(ctx)
		return err
	})
	switch {
	case failed != nil:
		return failed
	case got.TeamID != c.cfg.Team:
		return &channels.Error{Class: core.FailureAuth, Op: opCheck, Whole: true, Detail: "the bot token belongs to another workspace"}
	}
	c.self.Store(&self{user: got.UserID, bot: got.BotID})
	return nil
}

// Identity is what Identify finds out.
type Identity struct {
	Team     string // "T...".
	TeamName string
	App      string // "A...".
	Bot      string // The bot's own user id, "U...".
}

// Identify asks the platform once what New must be told: the workspace and the app
// that the tokens belong to. It needs the scope users:read. Errors: a core.FieldError
// for tokens that cannot be right, *channels.Error.
func Identify(ctx context.Context, cfg Config) (Identity, error) {
	if err := cfg.check(); err != nil {
		return Identity{}, err
	}
	c := &Channel{cfg: cfg, log: cfg.Logger}
	c.client, c.api = cfg.connect()
	defer c.Close()
	var id Identity
	_, failed := c.call(ctx, opCheck, func(ctx context.Context) error {
		who, err := c.api.AuthTestContext(ctx)
		if err != nil {
			return err
		}
		id.Team, id.TeamName, id.Bot = who.TeamID, who.Team, who.UserID
		bot, err := c.api.GetBotInfoContext(ctx, slack.GetBotInfoParameters{Bot: who.BotID})
		if err != nil {
			return err
		}
		id.App = bot.AppID
		return nil
	})
	if failed != nil {
		return Identity{}, failed
	}
	return id, nil
}

// Close drops idle connections. Calls under way are not disturbed.
func (c *Channel) Close() { c.client.http.CloseIdleConnections() }

// errAlreadyRuns is the second Run of one channel.
var errAlreadyRuns = errors.New("receive: this channel runs already")
