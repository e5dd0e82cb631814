package gateway

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/saysohq/sayso/core"
)

// readyTimeout bounds a readiness probe, which must answer before its prober gives up.
const readyTimeout = 2 * time.Second

// registerHealth mounts the probes, which say one word each and need no bearer, and
// what operators read.
func (g *Gateway) registerHealth() {
	g.mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { writeWord(w, "alive") })
	g.mux.HandleFunc("GET /readyz", g.readyz)
	g.mux.HandleFunc("GET /openapi.yaml", g.serveSpec)
	if g.deps.Metrics != nil {
		g.mux.HandleFunc("GET /metrics", g.serveMetrics)
	}
}

// serveMetrics answers admins, machines with the admin scope, and this machine's
// operator: the address of the page is public, and how much is asked is not.
func (g *Gateway) serveMetrics(w http.ResponseWriter, r *http.Request) {
	if !g.cfg.OpenMetrics {
		if p := g.identify(r); p != nil {
			g.write(w, r, p)
			return
		}
		c := callOf(r.Context()).caller
		machine := c.Token != nil && slices.Contains(c.Token.Scopes, core.ScopeAdmin)
		if !machine && !c.Admin() && !c.Operator {
			g.write(w, r, newProblem(core.CodeOf(core.ErrForbidden)))
			return
		}
	}
	g.deps.Metrics.ServeHTTP(w, r)
}

// readyz says whether to send requests here: not while stopping, and not while
// something that the service needs is missing.
func (g *Gateway) readyz(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), readyTimeout)
	defer cancel()
	err := g.stop.err()
	if err == nil {
		err = g.deps.Ready(ctx)
	}
	if err != nil {
		g.deps.Logger.LogAttrs(ctx, slog.LevelWarn, "not ready", slog.Any("error", err))
		g.write(w, r, newProblem(core.CodeOf(core.ErrUnavailable)))
		return
	}
	writeWord(w, "ready")
}

func writeWord(w http.ResponseWriter, word string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte(word + "\n"))
}
