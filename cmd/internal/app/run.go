package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/saysohq/sayso/cmd/internal/config"
	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/gateway"
	"github.com/saysohq/sayso/core/people"
	"github.com/saysohq/sayso/core/people/adminsocket"
	"github.com/saysohq/sayso/deliveries"
)

// Options are what the process gives to the service.
type Options struct {
	Config config.Config
	Logger *slog.Logger
	Now    func() time.Time
	// Migrate brings the schema of a shared database up to date before it is used;
	// that of the embedded one always is.
	Migrate bool
	// Budgets stand in for the platforms' own, for a fake server that counts
	// otherwise; nil takes those, and the configuration may switch them off.
	Budgets map[core.Surface]deliveries.Budget
	// Reload makes the service look at its policy files, at each signal; nil for never.
	Reload <-chan os.Signal
	// OnReady is called once, when the service answers. It must not block.
	OnReady func(Ready)

	counted // Made by Run.
}

// Ready says where the running service is.
type Ready struct {
	URL       string        // Of its own listener, with scheme, port and base path.
	PublicURL string        // As configured; "" without one.
	Data      string        // The data folder.
	First     people.Secret // The first sign-in code; empty once there is an admin, or with FirstElsewhere.
	// FirstElsewhere says that there is no admin yet and another replica has told the
	// first code.
	FirstElsewhere bool
	Accounts       []core.AccountRef // The configured bots.
}

// Run builds the service, runs it until ctx ends or a part of it fails, and stops
// it in good order. It returns nil after a stop that was asked for.
func Run(ctx context.Context, o Options) error {
	if err := makeFolder(o.Config.Data); err != nil {
		return err
	}
	var err error
	if o.counted, err = newCounted(o.Logger); err != nil {
		return err
	}
	store, err := openStore(ctx, &o)
	if err != nil {
		return err
	}
	// The store outlives everything that writes to it: its own context ends last.
	storeCtx, stopStore := context.WithCancel(context.WithoutCancel(ctx))
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	stored := make(chan error, 1)
	go func() {
		err := store.run(storeCtx)
		if storeCtx.Err() == nil {
			fail(fmt.Errorf("store ended: %w", err))
		}
		stored <- err
	}()
	err = serve(ctx, o, store)
	stopStore()
	if storeErr := <-stored; !errors.Is(storeErr, context.Canceled) {
		err = errors.Join(err, storeErr)
	}
	return errors.Join(err, store.close(), broken(ctx))
}

// broken is why ctx ended, unless it was asked to.
func broken(ctx context.Context) error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	return nil
}

// serve builds on a running store and runs until ctx ends.
func serve(ctx context.Context, o Options, store *storage) error {
	parts, err := build(ctx, o, store)
	if err != nil {
		return quiet(ctx, err)
	}
	admin := adminsocket.New(adminsocket.Config{
		Path: filepath.Join(o.Config.Data, SocketFile), Handler: parts.gateway.AdminHandler(),
		Log: o.Logger.With("part", "admin"),
	})
	// First of all that is in the folder: whoever has the socket writes the rest.
	if err := admin.Listen(ctx); err != nil {
		return folderFault(err)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.Config.Listen)
	if err != nil {
		return errors.Join(fmt.Errorf("listen on %s: %w", o.Config.Listen, listenFault(err)), admin.Close())
	}
	ready, err := parts.ready(ctx, o, listener)
	if err != nil {
		return errors.Join(quiet(ctx, err), listener.Close(), admin.Close())
	}
	return parts.run(ctx, o, listener, admin, ready)
}

// folderFault says what to do about a data folder in use. With the embedded database
// its lock has said so before.
func folderFault(err error) error {
	if errors.Is(err, adminsocket.ErrInUse) {
		return fmt.Errorf("%w (every replica needs a data folder of its own: give one with --data)", err)
	}
	return err
}

// run starts the actors in rings: the bus, which outlives everybody who publishes; the
// presence, which outlives the work that it vouches for; the workers, which outlive the
// edges that hand them work; and the edges. Whichever fails first ends all.
func (p *parts) run(ctx context.Context, o Options, listener net.Listener, admin *adminsocket.Server, ready Ready) error {
	stopBus := aside(ctx, p.bus.Run)
	stopPresence := aside(ctx, p.presence)
	workCtx, stopWork := context.WithCancel(context.WithoutCancel(ctx))
	defer stopWork()
	edges, edgeCtx := errgroup.WithContext(ctx)
	work, failedWork := errgroup.WithContext(workCtx)
	work.Go(func() error { return p.service.Run(failedWork) })
	work.Go(func() error { return p.worker.Run(failedWork) })
	work.Go(func() error { return p.jobs.Run(failedWork) })
	work.Go(func() error { return quiet(failedWork, p.policy.Run(failedWork)) })
	if p.callback != nil {
		work.Go(func() error { return p.callback(failedWork) })
	}
	if p.sequence != nil {
		work.Go(func() error { return p.sequence(failedWork) })
	}

	edges.Go(func() error { return p.gateway.Run(edgeCtx, gateway.Listener{Listener: listener}) })
	edges.Go(func() error { return admin.Run(edgeCtx) })
	for _, c := range p.channels {
		edges.Go(func() error { return supervise(edgeCtx, o.Logger, c, p.seen.Inbound(p.pipeline), p.seen) })
	}
	edges.Go(func() error { Tidy(edgeCtx); return nil })
	edges.Go(func() error { p.keepLocalToken(edgeCtx, o); return nil })
	edges.Go(func() error { return reload(edgeCtx, o.Reload, p.policy) })
	edges.Go(func() error { // A worker that fails ends the edges too.
		select {
		case <-failedWork.Done():
			return context.Cause(failedWork)
		case <-edgeCtx.Done():
			return nil
		}
	})
	if o.OnReady != nil {
		o.OnReady(ready)
	}
	err := quiet(ctx, edges.Wait())
	stopWork()
	return errors.Join(err, quiet(workCtx, work.Wait()), stopPresence(), stopBus())
}

// aside runs fn, whatever becomes of ctx, until stop is called, which waits for its end.
func aside(ctx context.Context, fn func(context.Context) error) (stop func() error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() { ended <- fn(ctx) }()
	return func() error {
		cancel()
		return quiet(ctx, <-ended)
	}
}

// quiet drops the error of a context that was asked to end.
func quiet(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// listenFault says what to do about an address in use.
func listenFault(err error) error {
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return fmt.Errorf("%w (is another service running? choose another address with --listen)", op.Err)
	}
	return err
}
