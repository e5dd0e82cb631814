package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
	Token    string // "<bot id>:<secret>"; "" takes DefaultToken.
	Username string // Without the @; "" takes "sayso_bot".
	Specs    string // Folder of official specifications; "" checks by hand only.
	Listen   string // Address to listen on; "" takes a free port of the loopback.
	// Clock dates messages and ages queries; nil takes one that stands still.
	Clock *fakes.Clock
	// Webhook carries updates to the registered URL; nil takes a plain transport.
	Webhook http.RoundTripper
	Limits  fakes.Limits // What the fake takes in a while; the zero Limits take everything.
}

// DefaultToken is the token of a fake that was given none.
const DefaultToken = "7000000001:AAF-fake-token-of-the-telegram-fake"

// Server is the fake. Close it when done.
type Server struct {
	Script     fakes.Script
	Violations fakes.Violations
	Clock      *fakes.Clock

	token   string
	bot     wireUser
	spec    *spec
	http    *http.Server
	base    string
	webhook http.RoundTripper
	limiter *fakes.Limiter
	ctx     context.Context // Ends with Close.
	stop    context.CancelFunc
	tasks   sync.WaitGroup
	signal  fakes.Signal

	mu       sync.Mutex
	chats    map[int64]*chat
	users    map[int64]wireUser
	messages []*message
	nextID   int
	queue    updates
	hook     hook
	queries  map[string]*query
	calls    []Call
	revoked  bool
}

// Call is one request that the fake served.
type Call struct {
	Method string
	Params map[string]string
	At     time.Time // When it came, by the process's own clock.
}

// Start begins to serve.
func Start(cfg Config) (*Server, error) {
	if cfg.Token == "" {
		cfg.Token = DefaultToken
	}
	if cfg.Username == "" {
		cfg.Username = "sayso_bot"
	}
	if cfg.Listen == "" {
		cfg.Listen = "127.0.0.1:0"
	}
	if cfg.Clock == nil {
		cfg.Clock = fakes.NewClock()
	}
	digits, _, _ := strings.Cut(cfg.Token, ":")
	id, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return nil, errors.New("the token does not begin with the id of the bot")
	}
	spec, err := loadSpec(cfg.Specs)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", cfg.Listen)
	if err != nil {
		stop()
		return nil, fmt.Errorf("listen: %w", err)
	}
	s := &Server{
		Clock: cfg.Clock, token: cfg.Token, spec: spec, base: "http://" + l.Addr().String(), webhook: cfg.Webhook, limiter: fakes.NewLimiter(cfg.Limits),
		bot: wireUser{ID: id, IsBot: true, FirstName: "sayso", Username: cfg.Username},
		ctx: ctx, stop: stop,
		chats: map[int64]*chat{}, users: map[int64]wireUser{}, queries: map[string]*query{}, nextID: 100,
	}
	s.queue.next = 500_000
	s.http = &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second, BaseContext: func(net.Listener) context.Context { return ctx }}
	s.tasks.Go(func() { _ = s.http.Serve(l) }) // Ends with Close.
	return s, nil
}

// URL is the base of the API, as the real one's https://api.telegram.org.
func (s *Server) URL() string { return s.base }

// Token is the bot's token.
func (s *Server) Token() string { return s.token }

// BotID is the bot's user id.
func (s *Server) BotID() int64 { return s.bot.ID }

// Close stops serving and waits for everything that the fake started.
func (s *Server) Close() {
	s.stop()
	_ = s.http.Close()
	s.tasks.Wait()
}

// Revoke makes the token useless, as BotFather's /revoke does.
func (s *Server) Revoke() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.revoked = true
	s.queue.generation++
	s.signal.Notify()
}

// Calls lists the requests of a method, oldest first.
func (s *Server) Calls(method string) []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []Call
	for _, c := range s.calls {
		if c.Method == method {
			found = append(found, c)
		}
	}
	return found
}

// AwaitCalls waits until a method was called at least n times.
func (s *Server) AwaitCalls(ctx context.Context, method string, n int) ([]Call, error) {
	return fakes.Await(ctx, &s.signal, func() ([]Call, bool) {
		calls := s.Calls(method)
		return calls, len(calls) >= n
	})
}

// method is one entry of the API.
type method struct {
	op   fakes.Op
	call func(*Server, *request) (any, *apiError) // Runs under the lock.
}

func methods() map[string]method {
	return map[string]method{
		"getMe":                  {fakes.OpCheck, (*Server).getMe},
		"sendMessage":            {fakes.OpSend, (*Server).sendMessage},
		"sendDocument":           {fakes.OpFile, (*Server).sendDocument},
		"editMessageText":        {fakes.OpEdit, (*Server).editMessageText},
		"editMessageReplyMarkup": {fakes.OpEdit, (*Server).editMessageReplyMarkup},
		"deleteMessage":          {fakes.OpDelete, (*Server).deleteMessage},
		"answerCallbackQuery":    {fakes.OpAnswer, (*Server).answerCallbackQuery},
		"setWebhook":             {fakes.OpReceive, (*Server).setWebhook},
		"deleteWebhook":          {fakes.OpReceive, (*Server).deleteWebhook},
		"getWebhookInfo":         {fakes.OpCheck, (*Server).getWebhookInfo},
		"getUpdates":             {fakes.OpReceive, nil}, // Waits; see poll.
	}
}

// ServeHTTP implements http.Handler: /bot<token>/<method>.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	token, name, ok := strings.Cut(strings.TrimPrefix(r.URL.Path, "/bot"), "/")
	m, known := methods()[name]
	if !ok || !strings.HasPrefix(r.URL.Path, "/bot") || !strings.Contains(token, ":") || !known {
		s.reply(w, nil, &apiError{code: 404, description: "Not Found"})
		return
	}
	if s.refuses(token) {
		s.reply(w, nil, &apiError{code: 401, description: "Unauthorized"})
		return
	}
	q, err := parse(r, name)
	if err != nil {
		s.Violations.Add("%s: %v", name, err)
		s.reply(w, nil, badRequest("can't parse the request"))
		return
	}
	defer s.signal.Notify()
	s.record(q)
	if wrong := s.spec.check(q); len(wrong) > 0 {
		for _, rule := range wrong {
			s.Violations.Add("%s: specification: %s", name, rule)
		}
		s.reply(w, nil, badRequest("specification: "+wrong[0]))
		return
	}
	fault := s.fault(m.op, q)
	if s.limited(w, m.op, q, fault) {
		return
	}
	if fault != nil && s.misbehave(w, r, fault) {
		return
	}
	result, refusal := s.call(r.Context(), m, q)
	if fault != nil && fault.Kind == fakes.FaultResetAfter {
		reset(w)
		return
	}
	s.reply(w, result, refusal)
}

func (s *Server) call(ctx context.Context, m method, q *request) (any, *apiError) {
	if m.call == nil {
		return s.getUpdates(ctx, q)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return m.call(s, q)
}

func (s *Server) refuses(token string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.revoked || token != s.token
}

func (s *Server) record(q *request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, Call{Method: q.method, Params: q.values, At: time.Now()})
	s.signal.Notify()
}

// fault takes a scripted fault for the thread, or for the whole chat.
func (s *Server) fault(op fakes.Op, q *request) *fakes.Fault {
	chat, thread := q.values["chat_id"], q.values["message_thread_id"]
	if thread != "" {
		if f := s.Script.Take(op, chat+"/"+thread); f != nil {
			return f
		}
	}
	return s.Script.Take(op, chat)
}

// misbehave plays a fault. It returns true when that was the answer.
func (s *Server) misbehave(w http.ResponseWriter, r *http.Request, f *fakes.Fault) bool {
	switch f.Kind {
	case fakes.FaultRateLimit:
		s.reply(w, nil, tooMany(f.Delay))
	case fakes.FaultServerError:
		s.reply(w, nil, &apiError{code: 500, description: "Internal Server Error: restart"})
	case fakes.FaultUndecodable:
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(http.StatusBadGateway)
		_, _ = w.Write([]byte("<html><body><h1>502 Bad Gateway</h1></body></html>"))
	case fakes.FaultHollow:
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte("{}"))
	case fakes.FaultReject:
		s.reply(w, nil, badRequest("MESSAGE_CONTENT_REFUSED"))
	case fakes.FaultResetBefore:
		reset(w)
	case fakes.FaultHold:
		return !f.Hold(r.Context())
	case fakes.FaultResetAfter:
		return false
	}
	return true
}

func (s *Server) reply(w http.ResponseWriter, result any, refusal *apiError) {
	e := envelope{OK: true, Result: result}
	status := http.StatusOK
	if refusal != nil {
		status = refusal.code
		e = envelope{ErrorCode: refusal.code, Description: refusal.description, Parameters: refusal.parameters}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(e) // The caller may have left.
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

func (s *Server) getMe(*request) (any, *apiError) { return s.bot, nil }

func formatID(id int64) string { return strconv.FormatInt(id, 10) }
