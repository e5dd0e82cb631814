package discord

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"mime"
	"mime/multipart"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/saysohq/sayso/channels/fakes"
)

// Config of a fake.
type Config struct {
	BotID  string // The bot's user id and the application's id; "" takes DefaultBotID.
	Spec   *Spec  // Official specification; nil checks by hand only.
	Listen string // Address to listen on; "" takes a free port of the loopback.
	// Clock dates messages and ages interactions; nil takes one that stands still.
	Clock *fakes.Clock
	// Beat is how often the gateway wants heartbeats; 0 takes the platform's 41 s.
	Beat time.Duration
	// OldEditsIn is the time for which an emptied budget for edits of old messages is
	// refilled; 0 takes a minute. The real one is not published, and has been longer.
	OldEditsIn time.Duration
	// Push carries interactions to the endpoint; nil takes a plain transport.
	Push   http.RoundTripper
	Limits fakes.Limits // What the fake takes in a while; the zero Limits take everything.
}

// DefaultBotID is the id of a fake that was given none.
const DefaultBotID = "900000000000000001"

const apiPath = "/api/v10/"

// Server is the fake. Close it when done.
type Server struct {
	Script     fakes.Script
	Violations fakes.Violations
	Clock      *fakes.Clock

	token   string
	bot     wireUser
	spec    *Spec
	beat    time.Duration
	old     time.Duration // As Config.OldEditsIn.
	http    *http.Server
	base    string
	push    *http.Client
	key     ed25519.PrivateKey
	limiter *fakes.Limiter
	ctx     context.Context // Ends with Close.
	stop    context.CancelFunc
	tasks   sync.WaitGroup
	signal  fakes.Signal

	mu           sync.Mutex
	users        map[string]*person
	channels     map[string]*channel
	messages     []*message
	interactions map[string]*interaction
	sessions     map[string]*gatewaySession
	greetings    []string
	nextID       int
	endpoint     string
	commands     []json.RawMessage
	calls        []Call
	revoked      bool
	mute         bool
	identified   int
	resumed      int
	noEmbeds     bool
	rights       []string // Of the bot in each server; nil for one server with all.
}

// Call is one request that the fake served.
type Call struct {
	Method string
	Path   string // Below the API's base, without a leading slash.
	Body   string
	At     time.Time // When it came, by the process's own clock.
}

// Start begins to serve.
func Start(cfg Config) (*Server, error) {
	if cfg.BotID == "" {
		cfg.BotID = DefaultBotID
	}
	if cfg.Listen == "" {
		cfg.Listen = "127.0.0.1:0"
	}
	if cfg.Clock == nil {
		cfg.Clock = fakes.NewClock()
	}
	if cfg.Beat == 0 {
		cfg.Beat = 41250 * time.Millisecond
	}
	if cfg.OldEditsIn == 0 {
		cfg.OldEditsIn = oldWindow
	}
	seed := sha256.Sum256([]byte("the application's key of the fake"))
	ctx, stop := context.WithCancel(context.Background())
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", cfg.Listen)
	if err != nil {
		stop()
		return nil, fmt.Errorf("listen: %w", err)
	}
	s := &Server{
		Clock: cfg.Clock, spec: cfg.Spec, beat: cfg.Beat, old: cfg.OldEditsIn, base: "http://" + l.Addr().String(),
		token: base64.RawURLEncoding.EncodeToString([]byte(cfg.BotID)) + ".GfakeX.secret-part-of-the-fake-bots-token",
		bot:   wireUser{ID: cfg.BotID, Username: "sayso", Bot: true},
		push:  &http.Client{Transport: cfg.Push}, key: ed25519.NewKeyFromSeed(seed[:]),
		limiter: fakes.NewLimiter(cfg.Limits), ctx: ctx, stop: stop, nextID: 700_000_000_000,
		users: map[string]*person{}, channels: map[string]*channel{}, interactions: map[string]*interaction{},
		sessions: map[string]*gatewaySession{},
	}
	if cfg.Push == nil {
		s.push.Transport = &http.Transport{}
	}
	s.http = &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second, BaseContext: func(net.Listener) context.Context { return ctx }}
	s.tasks.Go(func() { _ = s.http.Serve(l) }) // Ends with Close.
	return s, nil
}

// URL is the base of the API, as the real one's https://discord.com/api/v10.
func (s *Server) URL() string { return s.base + strings.TrimRight(apiPath, "/") }

// Token is the bot's token.
func (s *Server) Token() string { return s.token }

// PublicKey is the application's key in hex.
func (s *Server) PublicKey() string {
	public, _ := s.key.Public().(ed25519.PublicKey)
	return hex.EncodeToString(public)
}

// Close stops serving and waits for everything that the fake started.
func (s *Server) Close() {
	s.stop()
	s.closeAll(1001)
	_ = s.http.Close()
	s.tasks.Wait()
	s.push.CloseIdleConnections()
}

// Revoke makes the token useless.
func (s *Server) Revoke() {
	s.mu.Lock()
	s.revoked = true
	s.mu.Unlock()
	s.closeAll(4004)
}

// HideEmbeds takes the right to embed links away: embeds vanish without a word.
func (s *Server) HideEmbeds() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.noEmbeds = true
}

// Calls lists the requests with the method whose path begins so, oldest first.
func (s *Server) Calls(method, path string) []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []Call
	for _, c := range s.calls {
		if c.Method == method && strings.HasPrefix(c.Path, path) {
			found = append(found, c)
		}
	}
	return found
}

// Commands lists the commands that were registered.
func (s *Server) Commands() []json.RawMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.commands
}

// request is one call.
type request struct {
	method string
	path   []string // Segments below the API's base.
	body   []byte   // JSON; of a multipart body its payload_json.
	file   []byte   // nil for none.
	name   string
}

// route is one entry of the API.
type route struct {
	op   fakes.Op
	spec string
	auth bool
	call func(*Server, *request) (any, *apiError) // Runs under the lock.
}

func (q *request) route() (route, bool) {
	is := func(method string, pattern ...string) bool {
		if q.method != method || len(pattern) != len(q.path) {
			return false
		}
		for i, p := range pattern {
			if p != "*" && p != q.path[i] {
				return false
			}
		}
		return true
	}
	switch {
	case is("GET", "gateway"):
		return route{fakes.OpReceive, "", true, (*Server).getGateway}, true
	case is("GET", "applications", "@me"):
		return route{fakes.OpCheck, "", true, (*Server).getApplication}, true
	case is("GET", "applications", "*", "commands"):
		return route{fakes.OpCheck, "", true, (*Server).listCommands}, true
	case is("GET", "users", "@me", "guilds"):
		return route{fakes.OpCheck, "", true, (*Server).listGuilds}, true
	case is("POST", "applications", "*", "commands"):
		return route{fakes.OpCheck, specCommand, true, (*Server).register}, true
	case is("POST", "users", "@me", "channels"):
		return route{fakes.OpOpen, specOpen, true, (*Server).openDirect}, true
	case is("POST", "channels", "*", "messages") && q.file != nil:
		return route{fakes.OpFile, specSend, true, (*Server).createMessage}, true
	case is("POST", "channels", "*", "messages"):
		return route{fakes.OpSend, specSend, true, (*Server).createMessage}, true
	case is("PATCH", "channels", "*", "messages", "*"):
		return route{fakes.OpEdit, specEdit, true, (*Server).editMessage}, true
	case is("PATCH", "channels", "*"):
		return route{fakes.OpEdit, specThread, true, (*Server).editThread}, true
	case is("POST", "interactions", "*", "*", "callback"):
		return route{fakes.OpAnswer, specRespond, false, (*Server).respond}, true
	case is("POST", "webhooks", "*", "*"):
		return route{fakes.OpAnswer, specFollow, false, (*Server).followUp}, true
	case is("PATCH", "webhooks", "*", "*", "messages", "@original"):
		return route{fakes.OpAnswer, specOriginal, false, (*Server).editOriginal}, true
	}
	return route{}, false
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == gatewayPath {
		s.serveGateway(w, r)
		return
	}
	q, err := parse(r)
	if err != nil {
		s.Violations.Add("%s %s: %v", r.Method, r.URL.Path, err)
		s.reply(w, nil, invalidForm("body", "NOT_JSON"))
		return
	}
	m, known := q.route()
	if !known || !strings.HasPrefix(r.URL.Path, apiPath) {
		s.Violations.Add("%s %s: no such call", r.Method, strings.Join(q.path, "/"))
		s.reply(w, nil, refused(404, 0, "404: Not Found"))
		return
	}
	if m.auth && s.refuses(r.Header.Get("Authorization")) {
		s.reply(w, nil, refused(401, 0, "401: Unauthorized"))
		return
	}
	defer s.signal.Notify()
	s.record(q)
	if wrong := s.spec.check(m.spec, q.body); wrong != "" {
		s.Violations.Add("%s %s: specification: %s", q.method, strings.Join(q.path, "/"), wrong)
		s.reply(w, nil, invalidForm("specification", "REFUSED"))
		return
	}
	fault := s.Script.Take(m.op, s.addressOf(q))
	if s.limited(w, m.op, q, fault) || fault != nil && s.misbehave(w, r, fault) {
		return
	}
	s.mu.Lock()
	result, refusal := m.call(s, q)
	s.mu.Unlock()
	if fault != nil && fault.Kind == fakes.FaultResetAfter {
		reset(w)
		return
	}
	s.reply(w, result, refusal)
}

// maxBody bounds a request, in bytes.
const maxBody = 25 << 20

func parse(r *http.Request) (*request, error) {
	q := &request{method: r.Method, path: strings.Split(strings.TrimPrefix(r.URL.Path, apiPath), "/")}
	kind, params, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	body := io.LimitReader(r.Body, maxBody)
	if kind != "multipart/form-data" {
		raw, err := io.ReadAll(body)
		q.body = raw
		if err == nil && len(raw) > 0 && (kind != "application/json" || !json.Valid(raw)) {
			err = fmt.Errorf("read body: no JSON")
		}
		return q, err
	}
	form, err := multipart.NewReader(body, params["boundary"]).ReadForm(maxBody)
	if err != nil {
		return q, fmt.Errorf("read form: %w", err)
	}
	q.body = []byte(strings.Join(form.Value["payload_json"], ""))
	for _, f := range form.File["files[0]"] {
		opened, err := f.Open()
		if err != nil {
			return q, fmt.Errorf("read file: %w", err)
		}
		if q.file, err = io.ReadAll(opened); err != nil {
			return q, fmt.Errorf("read file: %w", err)
		}
		q.name = f.Filename
	}
	return q, nil
}

func (s *Server) refuses(authorization string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.revoked || authorization != "Bot "+s.token
}

func (s *Server) record(q *request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, Call{Method: q.method, Path: strings.Join(q.path, "/"), Body: string(q.body), At: time.Now()})
}

// addressOf is the chat that a call is about, as the channel under test spells it.
func (s *Server) addressOf(q *request) string {
	if len(q.path) < 2 || q.path[0] != "channels" {
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.channels[q.path[1]]; c != nil {
		return c.address()
	}
	return q.path[1]
}

// misbehave plays a fault. It returns true when that was the answer.
func (s *Server) misbehave(w http.ResponseWriter, r *http.Request, f *fakes.Fault) bool {
	switch f.Kind {
	case fakes.FaultRateLimit:
		if f.Delay == 0 { // The network before the platform: no JSON, no delay.
			w.WriteHeader(http.StatusTooManyRequests)
			_, _ = io.WriteString(w, "error code: 1015")
			return true
		}
		s.reply(w, nil, tooMany(0, f.Delay, false))
	case fakes.FaultServerError:
		s.reply(w, nil, refused(500, 0, "500: Internal Server Error"))
	case fakes.FaultUndecodable:
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(http.StatusBadGateway)
		_, _ = io.WriteString(w, "<html><body><h1>502 Bad Gateway</h1></body></html>")
	case fakes.FaultHollow:
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte("{}"))
	case fakes.FaultReject:
		s.reply(w, nil, refused(400, 200000, "Message was blocked by automatic moderation"))
	case fakes.FaultResetBefore:
		reset(w)
	case fakes.FaultHold:
		return !f.Hold(r.Context())
	case fakes.FaultResetAfter:
		return false
	}
	return true
}

func tooMany(code int, delay time.Duration, global bool) *apiError {
	e := refused(429, code, "You are being rate limited.")
	e.extra = map[string]any{"retry_after": delay.Seconds(), "global": global}
	return e
}

func (s *Server) reply(w http.ResponseWriter, result any, refusal *apiError) {
	h := w.Header()
	h.Set("X-RateLimit-Limit", "5")
	h.Set("X-RateLimit-Remaining", "0") // Whoever sleeps on headers alone is seen to.
	h.Set("X-RateLimit-Reset-After", "2.5")
	h.Set("X-RateLimit-Bucket", "fake")
	if refusal == nil && result == nil {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	status := http.StatusOK
	if refusal != nil {
		status = refusal.status
		body := map[string]any{"message": refusal.text, "code": refusal.code}
		if refusal.fields != nil {
			body["errors"] = refusal.fields
		}
		maps.Copy(body, refusal.extra)
		if at, ok := refusal.extra["retry_after"]; ok {
			h.Set("Retry-After", fmt.Sprint(at))
		}
		result = body
	}
	h.Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(result) // The caller may have left.
}

// reset breaks the connection so that the caller sees no orderly end.
func reset(w http.ResponseWriter) {
	h, ok := w.(http.Hijacker)
	if !ok {
		return
	}
	conn, _, err := h.Hijack()
	if err != nil {
		return
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

func (s *Server) getApplication(*request) (any, *apiError) {
	app := map[string]any{"id": s.bot.ID, "name": "sayso", "verify_key": s.PublicKey(), "bot": s.bot}
	if s.endpoint != "" {
		app["interactions_endpoint_url"] = s.endpoint
	}
	return app, nil
}

func (s *Server) register(q *request) (any, *apiError) {
	if q.path[1] != s.bot.ID {
		return nil, refused(403, 20012, "You are not authorized to perform this action on this application")
	}
	s.commands = append(s.commands, q.body)
	return map[string]any{"id": s.newID()}, nil
}

func (s *Server) newID() string {
	s.nextID++
	return strconv.Itoa(s.nextID)
}
