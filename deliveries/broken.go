package deliveries

import (
	"context"
	"log/slog"
	"sync"

	"github.com/saysohq/sayso/core"
)

// route is a destination of one account, as the ledger names it.
type route struct {
	ref         core.AccountRef
	destination string
}

// brokenRoutes remembers which routes were reported, so that a chat that closed is
// one line in the log and not one for each card. The truth is in the store: this
// is what this process last saw of it.
type brokenRoutes struct {
	mu     sync.Mutex
	known  map[route]bool
	change int // Counts what this process added.
}

func newBrokenRoutes() *brokenRoutes { return &brokenRoutes{known: make(map[route]bool)} }

// add notes a route that has just broken and reports whether that is news.
func (b *brokenRoutes) add(r route) (news bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	news = !b.known[r]
	b.known[r] = true
	b.change++
	return news
}

// changes is to be read before the store is.
func (b *brokenRoutes) changes() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.change
}

// replace takes over what the store has and returns the routes that work again. A
// reading that something was added beside is too old to tell.
func (b *brokenRoutes) replace(routes []core.BrokenRoute, change int) (mended []route) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if change != b.change {
		return nil
	}
	now := make(map[route]bool, len(routes))
	for i := range routes {
		now[route{routes[i].Ref, routes[i].Destination}] = true
	}
	for r := range b.known {
		if !now[r] {
			mended = append(mended, r)
		}
	}
	b.known = now
	return mended
}

// watchBroken counts the broken routes and reports those that work again.
func (w *Worker) watchBroken(ctx context.Context) {
	change := w.broken.changes()
	routes, err := w.deps.Broken.BrokenRoutes(ctx)
	if err != nil {
		w.storeFailed(ctx, "list broken routes", err)
		return
	}
	counts := make(map[core.Surface]int, len(w.served))
	for ref := range w.served {
		counts[ref.Channel] = 0
	}
	for i := range routes {
		if _, ours := w.served[routes[i].Ref]; ours {
			counts[routes[i].Ref.Channel]++
		}
	}
	for channel, n := range counts {
		w.deps.Metrics.brokenNow(channel, n)
	}
	for _, r := range w.broken.replace(routes, change) {
		w.deps.Logger.InfoContext(ctx, "route is whole again", slog.String("channel", string(r.ref.Channel)),
			slog.String("account", r.ref.Account), slog.String("destination", r.destination))
	}
}

// broke reports a route once, when it breaks: what comes after is in the gauge.
func (t *turn) broke(ctx context.Context, f failure) {
	if t.w.broken.add(route{t.ref, t.d.Destination}) {
		t.log.ErrorContext(ctx, "route broken: it is tried again with growing pauses",
			slog.String("account", t.ref.Account), slog.String("destination", t.d.Destination), slog.String("detail", f.text))
	}
}
