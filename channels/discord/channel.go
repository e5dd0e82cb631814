package discord

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"

	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/core"
)

// Codec makes the payloads of buttons; callbacks.Codec is one.
type Codec interface {
	// Encode makes the payload of an action for one application, at most 100
	// characters, and names the key that signed it.
	Encode(account core.AccountRef, a core.Action) (payload, keyID string, err error)
}

// DefaultAPI is where the platform serves bots.
const DefaultAPI = "https://discord.com/api/v10"

// Config of one application.
type Config struct {
	Token string // The bot's token, without "Bot ".
	// ApplicationID is the application's id; "" takes it from the token, where it is
	// the same as the bot's user id for all but the oldest applications.
	ApplicationID string
	// PublicKey makes the platform push interactions to Channel.Interactions instead
	// of being connected to: the application's Ed25519 key, 64 hex digits.
	PublicKey string
	APIBase   string // "" takes DefaultAPI.
	// Transport carries all calls; nil takes a clone of net/http's default.
	Transport http.RoundTripper
	Logger    *slog.Logger // nil discards.
	// Turn is taken to connect to the gateway, which tells every connection everything.
	// Pushed interactions need none; nil is for a process without others.
	Turn channels.Turn
	// Pause waits before a call is repeated; nil waits for real. Tests make it short.
	Pause func(ctx context.Context, d time.Duration) error
	// Now is the clock that the age of pushed interactions is read by; nil takes the
	// process's own.
	Now func() time.Time
	// Late is when an interaction that has no answer yet is acknowledged without one;
	// 0 takes 2 s, at most 2.5 s.
	Late time.Duration
}

// Channel is one application. It implements channels.Channel, channels.Detailer and
// channels.Checker, and is safe for concurrent use.
type Channel struct {
	cfg    Config
	ref    core.AccountRef
	appID  string
	botID  atomic.Pointer[string]
	key    ed25519.PublicKey // nil receives by the gateway.
	codec  Codec
	http   *http.Client
	dialer *websocket.Dialer
	log    *slog.Logger
	direct directChats

	running atomic.Bool
	gate    sync.RWMutex // Held for reading while a pushed interaction is taken in.
	session *session     // Set while Run receives; guarded by gate.
	grace   time.Duration
}

var (
	_ channels.Channel  = (*Channel)(nil)
	_ channels.Detailer = (*Channel)(nil)
	_ channels.Checker  = (*Channel)(nil)
)

var tokenRule = regexp.MustCompile(`^[A-Za-z0-9_-]{8,128}\.[A-Za-z0-9_-]{1,128}\.[A-Za-z0-9_-]{1,256}$`)

const (
	// stopGrace is how long interactions under way may take to end after a stop.
	stopGrace = 10 * time.Second
	// lateAfter leaves a second of the platform's 3 s for the way there.
	lateAfter   = 2 * time.Second
	longestLate = 2500 * time.Millisecond
	// idleConnections are kept to the one host: about what 50 calls a second need,
	// the platform's limit for a bot.
	idleConnections = 16
)

// New makes a channel; it calls nobody. Errors: a core.FieldError for a token, id or
// key that cannot be right; it never repeats the value.
func New(cfg Config, codec Codec) (*Channel, error) {
	if !tokenRule.MatchString(cfg.Token) {
		return nil, core.Invalid("token", "must be the bot's token, three parts with dots between them and no prefix")
	}
	botID := userOf(cfg.Token)
	if cfg.ApplicationID == "" {
		cfg.ApplicationID = botID
	}
	if !snowflake(cfg.ApplicationID) {
		return nil, core.Invalid("application_id", "must be the application's id, in digits; this token does not tell it")
	}
	key, err := cfg.publicKey()
	if err != nil {
		return nil, err
	}
	if err := cfg.fill(); err != nil {
		return nil, err
	}
	c := &Channel{
		cfg:    cfg,
		ref:    core.AccountRef{Channel: core.SurfaceDiscord, Account: cfg.ApplicationID},
		appID:  cfg.ApplicationID,
		key:    key,
		codec:  codec,
		http:   newClient(cfg.Transport),
		dialer: newDialer(),
		log:    cfg.Logger.With("channel", "discord", "account", cfg.ApplicationID),
		direct: directChats{ids: map[string]string{}},
		grace:  stopGrace,
	}
	if botID == "" {
		botID = cfg.ApplicationID
	}
	c.botID.Store(&botID)
	return c, nil
}

// userOf reads the bot's user id from its token: the first part is the id in
// base64. It returns "" where that is not so; the platform says it then.
func userOf(token string) string {
	first, _, _ := strings.Cut(token, ".")
	raw, err := base64.RawURLEncoding.DecodeString(first)
	if err != nil || !snowflake(string(raw)) {
		return ""
	}
	return string(raw)
}

func (cfg *Config) publicKey() (ed25519.PublicKey, error) {
	if cfg.PublicKey == "" {
		return nil, nil
	}
	key, err := hex.DecodeString(cfg.PublicKey)
	if err != nil || len(key) != ed25519.PublicKeySize {
		return nil, core.Invalid("public_key", "must be the application's public key, %d hex digits", 2*ed25519.PublicKeySize)
	}
	return key, nil
}

// fill takes defaults where nothing is set.
func (cfg *Config) fill() error {
	if cfg.APIBase == "" {
		cfg.APIBase = DefaultAPI
	}
	cfg.APIBase = strings.TrimRight(cfg.APIBase, "/")
	if cfg.Late == 0 {
		cfg.Late = lateAfter
	}
	if cfg.Late < 0 || cfg.Late > longestLate {
		return core.Invalid("late", "must be at most 2.5 s: the platform wants a response within 3 s")
	}
	if cfg.Transport == nil {
		// One channel's connections are its own, so that closing them hits nobody else.
		if t, ok := http.DefaultTransport.(*http.Transport); ok {
			own := t.Clone()
			own.MaxIdleConnsPerHost = idleConnections
			cfg.Transport = own
		}
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Pause == nil {
		cfg.Pause = pause
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
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

// Ref implements channels.Channel: the account is the application's id.
func (c *Channel) Ref() core.AccountRef { return c.ref }

// application is what the platform says about the bot's own application.
type application struct {
	ID        string `json:"id"`
	VerifyKey string `json:"verify_key"`
	Endpoint  string `json:"interactions_endpoint_url"`
	Bot       struct {
		ID string `json:"id"`
	} `json:"bot"`
}

// Check asks the platform which application the token belongs to. Errors:
// *channels.Error.
func (c *Channel) Check(ctx context.Context) error {
	var app application
	if _, failed := c.call(ctx, opCheck, http.MethodGet, "applications/@me", nil, &app); failed != nil {
		return failed
	}
	if !snowflake(app.ID) {
		return unreadable(opCheck)
	}
	refused := &channels.Error{Class: core.FailureAuth, Op: opCheck, Whole: true}
	switch {
	case app.ID != c.appID:
		refused.Detail = "the token belongs to another application"
		return refused
	case c.key != nil && app.VerifyKey != "" && !strings.EqualFold(app.VerifyKey, c.cfg.PublicKey):
		refused.Detail = "the public key belongs to another application"
		return refused
	}
	if snowflake(app.Bot.ID) {
		c.botID.Store(&app.Bot.ID)
	}
	switch {
	case c.key == nil && app.Endpoint != "":
		c.log.LogAttrs(ctx, slog.LevelWarn, "an interactions endpoint is set at the platform: no click will come over the gateway")
	case c.key != nil && app.Endpoint == "":
		c.log.LogAttrs(ctx, slog.LevelWarn, "no interactions endpoint is set at the platform: no click will come")
	}
	return nil
}

// Close drops idle connections. Calls under way are not disturbed.
func (c *Channel) Close() { c.http.CloseIdleConnections() }

// errAlreadyRuns is the second Run of one channel.
var errAlreadyRuns = errors.New("receive: this channel runs already")
