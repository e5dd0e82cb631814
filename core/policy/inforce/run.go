package inforce

import (
	"context"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/saysohq/sayso/core"
)

// Run watches the files and what is in force, until ctx ends; call Start before. It
// returns the error of the subscription.
func (k *Keeper) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w := newWatch(k)
	defer w.close()
	wg.Go(func() { k.keepLooking(ctx, w) })
	wg.Go(func() { k.keepComparing(ctx) })
	return k.deps.Hints.Subscribe(ctx, func(h core.Hint) {
		if h.ApprovalID == "" || h.ApprovalID == Hint {
			k.Look()
		}
	})
}

// keepLooking looks when it is told to, and every few seconds.
func (k *Keeper) keepLooking(ctx context.Context, w *watch) {
	t := time.NewTicker(k.cfg.ReadEvery)
	defer t.Stop()
	for {
		w.renew()
		select {
		case <-ctx.Done():
			return
		case <-k.nudged:
		case <-w.changed():
		case <-t.C:
		}
		k.looking.Lock()
		k.look(ctx)
		k.looking.Unlock()
	}
}

// keepComparing finds out what no hint has told.
func (k *Keeper) keepComparing(ctx context.Context) {
	t := time.NewTicker(k.cfg.CompareEvery)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		is, err := k.deps.Store.TablesInForce(ctx)
		if err == nil && is != k.Status().InForce {
			k.Look()
		}
	}
}

// watch hears from the file system. It watches folders: a file that is replaced is
// another file. Where it cannot, the slow reading has to do.
type watch struct {
	k       *Keeper
	watcher *fsnotify.Watcher // nil where there is none.
	names   []string          // Whose events count.
	events  chan struct{}     // Capacity 1.
	done    chan struct{}
}

// renamedInMounts is what Kubernetes replaces when it changes a mounted file.
const renamedInMounts = "..data"

func newWatch(k *Keeper) *watch {
	w := &watch{k: k, events: make(chan struct{}, 1), done: make(chan struct{})}
	var err error
	if w.watcher, err = fsnotify.NewWatcher(); err != nil {
		k.deps.Logger.LogAttrs(context.Background(), slog.LevelWarn, "policy files cannot be watched: reading them every few seconds",
			slog.Any("error", err))
		close(w.done)
		return w
	}
	w.names = []string{renamedInMounts}
	for _, path := range w.paths() {
		w.names = append(w.names, filepath.Base(path))
	}
	w.renew()
	go w.hear()
	return w
}

// paths are the files, and what they are links to.
func (w *watch) paths() []string {
	all := w.k.deps.Files.All()
	for _, path := range slices.Clone(all) {
		if target, err := filepath.EvalSymlinks(path); err == nil && target != path {
			all = append(all, target)
		}
	}
	return all
}

// renew watches the folders that are there now: a link may lead elsewhere since.
func (w *watch) renew() {
	if w.watcher == nil {
		return
	}
	known := w.watcher.WatchList()
	for _, path := range w.paths() {
		folder := filepath.Dir(path)
		if !slices.Contains(known, folder) {
			_ = w.watcher.Add(folder) // Not there yet, or no watches left: tried again, and read all the same.
		}
	}
}

func (w *watch) hear() {
	defer close(w.done)
	for {
		select {
		case e, open := <-w.watcher.Events:
			if !open {
				return
			}
			if !slices.Contains(w.names, filepath.Base(e.Name)) {
				continue
			}
		case _, open := <-w.watcher.Errors: // Events were lost.
			if !open {
				return
			}
		}
		select {
		case w.events <- struct{}{}:
		default:
		}
	}
}

func (w *watch) changed() <-chan struct{} { return w.events }

func (w *watch) close() {
	if w.watcher != nil {
		_ = w.watcher.Close() // It only stops hearing.
	}
	<-w.done
}
