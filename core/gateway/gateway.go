package gateway

import (
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
)

// Gateway is the API and whatever is mounted beside it. It is safe for concurrent
// use once Handle is not called any more.
type Gateway struct {
	cfg     Config
	deps    Deps
	mux     *http.ServeMux // The API.
	mounts  *http.ServeMux // What was mounted beside it.
	api     huma.API
	links   Links
	hosts   hostList
	limiter *limiter
	cursors *cursors
	stop    *stopping
}

// New wires the gateway; it starts nothing. It fails on a configuration that no
// operator can have meant, and on missing dependencies.
func New(cfg Config, deps Deps) (*Gateway, error) {
	if err := cfg.complete(); err != nil {
		return nil, fmt.Errorf("gateway: %w", err)
	}
	if err := deps.check(); err != nil {
		return nil, fmt.Errorf("gateway: %w", err)
	}
	links, err := NewLinks(cfg.PublicURL)
	if err != nil {
		return nil, fmt.Errorf("gateway: %w", err)
	}
	hosts, err := newHostList(cfg)
	if err != nil {
		return nil, fmt.Errorf("gateway: %w", err)
	}
	g := &Gateway{
		cfg: cfg, deps: deps, mux: http.NewServeMux(), mounts: http.NewServeMux(), links: links, hosts: hosts,
		limiter: newLimiter(cfg.RequestsPerSecond, cfg.Burst), cursors: newCursors(deps.Views), stop: newStopping(),
	}
	g.api = humago.New(g.mux, g.apiConfig())
	g.api.UseMiddleware(g.admit)
	g.registerApprovals()
	g.registerDecisions()
	g.registerGrants()
	g.registerRuns()
	g.registerUpdates()
	g.registerPeople()
	g.registerMachines()
	g.registerSettings()
	g.registerSignIn()
	g.registerDoctor()
	g.registerPolicy()
	g.registerHealth()
	g.finishSpec()
	return g, nil
}

// Links derives the addresses of the page.
func (g *Gateway) Links() Links { return g.links }

// Handle mounts a handler beside the API: the page, a messenger's webhook. It gets
// the request id, the access log, panic recovery, the security headers and the
// host check, but no authentication. Paths of the API (/v1, the probes) never
// reach it, and a base path is not stripped for it. Call it before serving; a pattern that is
// taken panics, as in http.ServeMux.
func (g *Gateway) Handle(pattern string, h http.Handler) { g.mounts.Handle(pattern, h) }

// Handler serves everything to the network.
func (g *Gateway) Handler() http.Handler { return &edge{Gateway: g} }

// AdminHandler serves the same to a socket whose peer was checked: a request
// without a bearer comes from this machine's operator, and any Host will do.
func (g *Gateway) AdminHandler() http.Handler { return &edge{Gateway: g, operator: true} }
