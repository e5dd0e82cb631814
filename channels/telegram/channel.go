package telegram

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-telegram/bot"

	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/core"
)

// Codec makes the payloads of buttons; callbacks.Codec is one.
type Codec interface {
	// Encode makes the payload of an action for one bot, at most 64 bytes, and
	// names the key that signed it.
	Encode(account core.AccountRef, a core.Action) (payload, keyID string, err error)
}

// DefaultAPI is where the platform serves bots.
const DefaultAPI = "https://api.telegram.org"

// Config of one bot.
type Config struct {
	Token   string // "<bot id>:<secret>", as BotFather gives it.
	APIBase string // "" takes DefaultAPI; a local Bot API server has its own.
	Webhook Webhook
	// Transport carries all calls; nil takes a clone of net/http's default.
	Transport http.RoundTripper
	Logger    *slog.Logger // nil discards.
	// PollTimeout is how long one poll waits at the platform, at most 50 s; 0 takes 30 s.
	PollTimeout time.Duration
	// Turn is taken to poll: two processes that poll one bot take each other's calls
	// over. Webhooks need none; nil is for a process without others.
	Turn channels.Turn
	// Pause waits before a call is repeated; nil waits for real. Tests make it short.
	Pause func(ctx context.Context, d time.Duration) error
}

// Webhook makes the platform push updates instead of being polled.
type Webhook struct {
	URL         string // Public HTTPS address under which Channel.Webhook is served; "" polls.
	Secret      string // 1-256 characters of A-Z a-z 0-9 _ -; the platform repeats it in every call.
	Connections int    // Parallel calls, 1-100; 0 takes the platform's 40.
}

// Channel is one bot. It implements channels.Channel, channels.Detailer and
// channels.Checker, and is safe for concurrent use.
type Channel struct {
	cfg    Config
	ref    core.AccountRef
	botID  int64
	codec  Codec
	client *client
	bot    *bot.Bot
	log    *slog.Logger

	name    atomic.Pointer[string] // Username, once the platform told it.
	running atomic.Bool
	rivals  atomic.Int64 // Polls in a row that somebody else's took over.
	gate    sync.RWMutex // Held for reading by every webhook call under way.
	session *session     // Set while Run receives by webhook; guarded by gate.
	recheck time.Duration
	grace   time.Duration
}

var (
	_ channels.Channel  = (*Channel)(nil)
	_ channels.Detailer = (*Channel)(nil)
	_ channels.Checker  = (*Channel)(nil)
)

var (
	tokenRule  = regexp.MustCompile(`^[0-9]{1,16}:[A-Za-z0-9_-]{1,128}$`)
	secretRule = regexp.MustCompile(`^[A-Za-z0-9_-]{1,256}$`)
)

// The pace of receiving.
const (
	pollTimeout = 30 * time.Second
	// recheckAfter is how long a poll waits for slow updates before it asks for newer
	// ones behind them. Asking again within half a second is penalised.
	recheckAfter = 700 * time.Millisecond
	// stopGrace is how long updates under way may take to end after a stop.
	stopGrace = 10 * time.Second
	// idleConnections are kept to the one host: about what 30 calls a second need,
	// the platform's limit for a bot.
	idleConnections = 16
)

// New makes a channel; it calls nobody. Errors: a core.FieldError for a token or
// webhook that cannot be right; it never repeats the value.
func New(cfg Config, codec Codec) (*Channel, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	id, err := strconv.ParseInt(strings.SplitN(cfg.Token, ":", 2)[0], 10, 64)
	if err != nil {
		return nil, core.Invalid("token", "must begin with the id of the bot")
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	c := &Channel{
		cfg:     cfg,
		ref:     core.AccountRef{Channel: core.SurfaceTelegram, Account: strconv.FormatInt(id, 10)},
		botID:   id,
		codec:   codec,
		client:  newClient(cfg.Transport, cfg.Token),
		log:     cfg.Logger.With("channel", "telegram", "account", id),
		recheck: recheckAfter,
		grace:   stopGrace,
	}
	c.bot, err = bot.New(cfg.Token,
		bot.WithSkipGetMe(),
		bot.WithServerURL(cfg.APIBase),
		bot.WithHTTPClient(cfg.PollTimeout, c.client),
		// The library's own handler prints; what matters reaches us as return values.
		bot.WithErrorsHandler(func(error) {}),
	)
	if err != nil {
		return nil, core.Invalid("token", "is not accepted")
	}
	return c, nil
}

// check validates the configuration and fills in defaults.
func (cfg *Config) check() error {
	if !tokenRule.MatchString(cfg.Token) {
		return core.Invalid("token", "must be the id of the bot, a colon and a secret")
	}
	if cfg.APIBase == "" {
		cfg.APIBase = DefaultAPI
	}
	cfg.APIBase = strings.TrimRight(cfg.APIBase, "/")
	if cfg.Webhook.URL != "" {
		if !strings.HasPrefix(cfg.Webhook.URL, "https://") {
			return core.Invalid("webhook.url", "must begin with https://")
		}
		if !secretRule.MatchString(cfg.Webhook.Secret) {
			return core.Invalid("webhook.secret", "must be 1-256 characters of A-Z a-z 0-9 _ -")
		}
	}
	if n := cfg.Webhook.Connections; n < 0 || n > 100 {
		return core.Invalid("webhook.connections", "must be between 1 and 100")
	}
	if cfg.PollTimeout == 0 {
		cfg.PollTimeout = pollTimeout
	}
	if cfg.PollTimeout < 0 || cfg.PollTimeout > 50*time.Second {
		return core.Invalid("poll_timeout", "must be at most 50 s")
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

// Ref implements channels.Channel: the account is the bot's user id.
func (c *Channel) Ref() core.AccountRef { return c.ref }

// Check asks the platform who the token belongs to. Errors: *channels.Error.
func (c *Channel) Check(ctx context.Context) error {
	var name string
	var id int64
	_, failed := c.call(ctx, opCheck, func(ctx context.Context) error {
		me, err := c.bot.GetMe(ctx)
		if err == nil {
			name, id = me.Username, me.ID
		}
		return err
	})
	if failed != nil {
		return failed
	}
	if id != c.botID {
		return &channels.Error{Class: core.FailureAuth, Op: opCheck, Whole: true, Detail: "the token belongs to another bot"}
	}
	c.name.Store(&name)
	return nil
}

// Username is the bot's name for links such as https://t.me/<name>, "" until the
// platform told it (Check, or Run).
func (c *Channel) Username() string {
	if name := c.name.Load(); name != nil {
		return *name
	}
	return ""
}

// Close drops idle connections. Calls under way are not disturbed.
func (c *Channel) Close() { c.client.http.CloseIdleConnections() }

// errAlreadyRuns is the second Run of one channel.
var errAlreadyRuns = errors.New("receive: this channel runs already")
