package bench

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/saysohq/sayso/cmd/internal/app"
	"github.com/saysohq/sayso/cmd/internal/config"
	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/deliveries"
)

// serveHere runs the service in this process, with budgets that nobody can configure.
func serveHere(ctx context.Context, dir string, cfg *config.Config, budgets map[core.Surface]deliveries.Budget) (*server, error) {
	cfg.Data, cfg.Listen = dir, "127.0.0.1:0"
	cfg.Limits = config.Limits{Pending: 1_000_000, RequestsPerS: 1_000_000, RequestsBurst: 1_000_000}
	ready := make(chan app.Ready, 1)
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	s := &server{pid: os.Getpid(), stop: stop, done: make(chan error, 1)}
	go func() {
		s.done <- app.Run(running, app.Options{
			Config: *cfg, Logger: slog.New(slog.NewJSONHandler(nowhere{}, nil)), Now: time.Now, Budgets: budgets,
			OnReady: func(r app.Ready) { ready <- r },
		})
	}()
	select {
	case r := <-ready:
		s.addr = strings.TrimPrefix(r.URL, "http://")
		return s, nil
	case err := <-s.done:
		stop()
		return nil, fmt.Errorf("run service: %w", err)
	case <-ctx.Done():
		return nil, errors.Join(ctx.Err(), s.close())
	}
}
