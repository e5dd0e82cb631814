package transfer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/store/postgres"
	"github.com/saysohq/sayso/core/store/sqlite"
)

// RestoreOptions say what is restored to where.
type RestoreOptions struct {
	// File is a backup.
	File string
	// To is where it goes: a file that does not exist, or an empty database.
	To Place
	// Now is the process clock; required.
	Now func() time.Time
	// Progress hears how far it is; nil for nobody.
	Progress Progress
}

// Restored says what a restore did.
type Restored struct {
	Rows     map[string]int64 // By table; nil where nothing was copied.
	Disowned core.Disowned
	// Incarnation is the new one.
	Incarnation int64
}

// Restore makes a store of a backup, in an empty place: a new incarnation that
// stands by nothing it cannot know (core.Restoration). The backup is verified before
// anything of it counts, and it is not changed.
//
// A data folder gets its file in one step at the end: dying before leaves nothing
// but a private folder that the next restore removes. A database is filled in one
// transaction and stays sealed as restoring until all is done; the same restore
// repeated goes on there.
//
// Errors: ErrNoStore (no such file), ErrNoBackup, ErrDamaged, ErrOldBackup, ErrNotEmpty,
// ErrMismatch, sqlite.ErrInUse, core.ErrNewerSchema, core.ErrCorrupt,
// core.ErrStorageFull, core.ErrInvalid (the DSN), core.ErrUnavailable.
func Restore(ctx context.Context, o RestoreOptions) (Restored, error) {
	restore := restoreFile
	if o.To.DSN != "" {
		restore = restoreDatabase
	}
	done, err := restore(ctx, o)
	if err != nil {
		return Restored{}, fmt.Errorf("restore: %w", err)
	}
	return done, nil
}

func restoreFile(ctx context.Context, o RestoreOptions) (done Restored, err error) {
	from, err := existing(o.File)
	if err != nil {
		return Restored{}, err
	}
	to, err := filepath.Abs(o.To.Path)
	if err != nil {
		return Restored{}, fmt.Errorf("find folder: %w", core.ErrUnavailable)
	}
	lock, err := sqlite.Lock(to)
	if err != nil {
		return Restored{}, err
	}
	defer lock.Close()
	if err := vacant(to); err != nil {
		return Restored{}, err
	}
	work, err := newDesk(filepath.Dir(to), restoreDesk)
	if err != nil {
		return Restored{}, err
	}
	defer work.clear()
	if err := copyFile(from, work.store()); err != nil {
		return Restored{}, fmt.Errorf("copy backup: %w", fileFault(err))
	}
	found, err := verified(ctx, work.store(), o.Progress)
	if err != nil {
		return Restored{}, err
	}
	if err := adopt(ctx, work.store()); err != nil {
		return Restored{}, err
	}
	done, err = renewFile(ctx, work.store(), o.Now, o.Progress)
	if err != nil {
		return Restored{}, err
	}
	done.Rows = found.rows()
	_, err = work.deliver(to)
	return done, err
}

// vacant requires that no store is at a path, and removes what a restore that was cut
// off left beside it. The caller has the store's lock. Errors: ErrNotEmpty.
func vacant(path string) error {
	for _, suffix := range []string{"", "-wal", "-journal"} {
		if err := free(path + suffix); err != nil {
			return err
		}
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(path), restoreDesk+"*"))
	if err != nil {
		return fmt.Errorf("look for leftovers: %w", core.ErrUnavailable)
	}
	for _, folder := range left {
		if err := os.RemoveAll(folder); err != nil {
			return fmt.Errorf("remove leftovers: %w", fileFault(err))
		}
	}
	return nil
}

// adopt makes the copy of a backup a store that is being restored.
func adopt(ctx context.Context, path string) (err error) {
	f, err := openFile(ctx, path, asOwner)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	d, err := f.deployment(ctx)
	if err != nil {
		return err
	}
	if err := f.exec(ctx, sqlDropManifest); err != nil {
		return fmt.Errorf("drop manifest: %w", err)
	}
	return f.seal(ctx, core.SealRestoring, d.copyID)
}

func restoreDatabase(ctx context.Context, o RestoreOptions) (done Restored, err error) {
	src, err := openFile(ctx, o.File, asIs)
	if err != nil {
		return Restored{}, err
	}
	defer func() { err = errors.Join(err, src.close()) }()
	origin, _, err := src.verifyBackup(ctx, o.Progress)
	if err != nil {
		return Restored{}, err
	}
	version, err := src.version(ctx)
	if err == nil {
		err = current(version, ErrOldBackup)
	}
	if err != nil {
		return Restored{}, err
	}
	dst, err := openDatabase(ctx, o.To.DSN)
	if err != nil {
		return Restored{}, err
	}
	defer dst.close(ctx)
	l := &landing{src: src, origin: origin, dst: dst, seal: core.SealRestoring, copyID: origin.copyID, tell: o.Progress}
	copied, err := l.land(ctx, o.To.DSN)
	if err != nil {
		return Restored{}, err
	}
	done, err = renewDatabase(ctx, o.To.DSN, o.Progress)
	if copied.content != nil {
		done.Rows = copied.content.rows()
	}
	return done, err
}

// Renew makes a store a new incarnation where it stands, after something outside of
// sayso may have taken recorded answers from it: a failover to a standby that was
// behind, a restored disk, a recovery to a point in time. No service runs on it
// meanwhile. Dying on the way leaves it sealed as restoring; the same command goes
// on.
//
// Errors: ErrNoStore, ErrServing, sqlite.ErrInUse, core.ErrSealed (a backup, or a
// store that was moved away), core.ErrNewerSchema, core.ErrStorageFull,
// core.ErrInvalid (the DSN), core.ErrUnavailable.
func Renew(ctx context.Context, p Place, now func() time.Time, tell Progress) (Restored, error) {
	done, err := renew(ctx, p, now, tell)
	if err != nil {
		return Restored{}, fmt.Errorf("renew: %w", err)
	}
	return done, nil
}

func renew(ctx context.Context, p Place, now func() time.Time, tell Progress) (Restored, error) {
	if p.DSN == "" {
		path, err := existing(p.Path)
		if err != nil {
			return Restored{}, err
		}
		return renewFile(ctx, path, now, tell)
	}
	d, err := openDatabase(ctx, p.DSN)
	if err != nil {
		return Restored{}, err
	}
	defer d.close(ctx)
	if err := d.idle(ctx); err != nil {
		return Restored{}, err
	}
	return renewDatabase(ctx, p.DSN, tell)
}

// renewFile is a restoration in a file, which it locks.
func renewFile(ctx context.Context, path string, now func() time.Time, tell Progress) (done Restored, err error) {
	s, err := sqlite.Open(ctx, sqlite.Config{Path: path, Now: now, Log: slog.New(slog.DiscardHandler), AllowSealed: true})
	if err != nil {
		return Restored{}, err
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() { ended <- s.Run(running) }()
	defer func() {
		stop()
		err = errors.Join(err, <-ended, s.Close())
	}()
	return restoration(ctx, s, tell)
}

func renewDatabase(ctx context.Context, dsn string, tell Progress) (done Restored, err error) {
	s, err := postgres.Open(ctx, postgres.Config{DSN: dsn, Log: slog.New(slog.DiscardHandler), AllowSealed: true})
	if err != nil {
		return Restored{}, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return restoration(ctx, s, tell)
}

const (
	// disownChunk is how many rows are changed between two reports.
	disownChunk = 1_000
	// disowning is the step that they are reported as; its total is not known.
	disowning = "put open questions right"
)

// restoration brings a store to its new incarnation.
func restoration(ctx context.Context, s core.Restoration, tell Progress) (Restored, error) {
	if err := s.BeginRestoration(ctx); err != nil {
		return Restored{}, err
	}
	var done Restored
	for {
		step, err := s.Disown(ctx, disownChunk)
		if err != nil {
			return Restored{}, err
		}
		if step.Total() == 0 {
			break
		}
		done.Disowned = done.Disowned.Plus(step)
		if tell != nil {
			tell(disowning, int64(done.Disowned.Total()), 0)
		}
	}
	now, err := s.FinishRestoration(ctx)
	done.Incarnation = now.Incarnation
	return done, err
}
