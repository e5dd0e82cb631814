package slack

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/saysohq/sayso/channels/fakes"
)

// The app and workspace of every fake.
const (
	Team     = "T0FAKE001"
	App      = "A0FAKE001"
	BotUser  = "U0BOT0001"
	BotID    = "B0BOT0001"
	BotToken = "xoxb-1000000001-1000000002-fakeSecretOfTheBot"
	AppToken = "xapp-1-A0FAKE001-1000000003-fakeSecretOfTheApp"
	Secret   = "fakeSigningSecret0123456789abcdef"
)

// Config of a fake.
type Config struct {
	Specs  *Specs // The official specifications; nil checks by hand only.
	Listen string // Address to listen on; "" takes a free port of the loopback.
	// Clock dates messages and ages triggers; nil takes one that stands still.
	Clock *fakes.Clock
	// Push carries payloads to the URL of PushTo; nil takes a plain transport.
	Push   http.RoundTripper
	Limits fakes.Limits // What the fake takes in a while; the zero Limits take everything.
}

// Server is the fake. Close it when done.
type Server struct {
	Script     fakes.Script
	Violations fakes.Violations
	Clock      *fakes.Clock

	specs   *Specs
	http    *http.Server
	base    string
	client  *http.Client
	limiter *fakes.Limiter
	ctx     context.Context // Ends with Close.
	stop    context.CancelFunc
	tasks   sync.WaitGroup
	signal  fakes.Signal

	mu            sync.Mutex
	conversations map[string]*conversation
	users         map[string]*User
	messages      []*message
	triggers      map[string]*trigger
	responses     map[string]*responseURL
	interactions  map[string]*interaction
	views         map[string]*view
	sockets       sockets
	push          string // URL of the app; "" uses Socket Mode.
	calls         []Call
	next          int
	revoked       bool
	scopes        *string // nil for all that the manifest asks for.
}

// Call is one request that the fake served.
type Call struct {
	Method string
	Args   map[string]string
	At     time.Time // When it came, by the process's own clock.
}

// Start begins to serve.
func Start(cfg Config) (*Server, error) {
	if cfg.Listen == "" {
		cfg.Listen = "127.0.0.1:0"
	}
	if cfg.Clock == nil {
		cfg.Clock = fakes.NewClock()
	}
	if cfg.Push == nil {
		cfg.Push = &http.Transport{DisableKeepAlives: true}
	}
	ctx, stop := context.WithCancel(context.Background())
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", cfg.Listen)
	if err != nil {
		stop()
		return nil, fmt.Errorf("listen: %w", err)
	}
	s := &Server{
		Clock: cfg.Clock, specs: cfg.Specs, base: "http://" + l.Addr().String(), client: &http.Client{Transport: cfg.Push},
		limiter: fakes.NewLimiter(cfg.Limits), ctx: ctx, stop: stop,
		conversations: map[string]*conversation{}, users: map[string]*User{}, triggers: map[string]*trigger{},
		responses: map[string]*responseURL{}, interactions: map[string]*interaction{}, views: map[string]*view{},
	}
	s.sockets.tickets = map[string]bool{}
	s.sockets.open = map[string]*envelope{}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/{method}", s.serveAPI)
	mux.HandleFunc("GET /link", s.serveSocket)
	mux.HandleFunc("POST /actions/{id}", s.serveResponse)
	s.http = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, BaseContext: func(net.Listener) context.Context { return ctx }}
	s.tasks.Go(func() { _ = s.http.Serve(l) }) // Ends with Close.
	return s, nil
}

// URL is the base of the API, as the real one's https://slack.com/api/.
func (s *Server) URL() string { return s.base + "/api/" }

// Host is the part of URL that every secret address begins with.
func (s *Server) Host() string { return s.base }

// PushTo makes the fake push signed payloads to a URL instead of using Socket Mode;
// "" goes back.
func (s *Server) PushTo(url string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.push = url
}

// Close stops serving and waits for everything that the fake started.
func (s *Server) Close() {
	s.stop()
	s.mu.Lock()
	conns := slices.Clone(s.sockets.list)
	s.mu.Unlock()
	for _, c := range conns {
		_ = c.ws.Close()
	}
	_ = s.http.Close()
	s.tasks.Wait()
	s.client.CloseIdleConnections()
}

// Revoke makes the tokens useless and cuts the connections, as uninstalling does.
func (s *Server) Revoke() {
	s.mu.Lock()
	s.revoked = true
	conns := s.sockets.ready()
	s.mu.Unlock()
	for _, c := range conns {
		s.disconnect(c, "link_disabled")
		_ = c.ws.Close()
	}
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

// id makes an identifier that was not used before. It runs under the lock.
func (s *Server) id(prefix string) string {
	s.next++
	return fmt.Sprintf("%s%07d", prefix, s.next)
}

// ts dates a message. It runs under the lock.
func (s *Server) ts() string {
	s.next++
	return fmt.Sprintf("%d.%06d", s.Clock.Now().Unix(), s.next)
}
