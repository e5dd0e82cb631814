package transfer

import (
	"context"
	"errors"
	"fmt"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/store/sqlite"
)

// MoveOptions say what goes where.
type MoveOptions struct {
	// Path is the SQLite file that the record comes from; it must exist.
	Path string
	// DSN is the PostgreSQL database that it goes to, a direct connection: empty, or
	// one where an earlier try was cut off.
	DSN string
	// Progress hears how far it is; nil for nobody.
	Progress Progress
}

// Moved says what a move found.
type Moved struct {
	// Before is true where the record had been moved to this database already.
	Before bool
	// Rows are the rows of each table that were copied or compared; nil with Before.
	Rows map[string]int64
}

// Move carries the whole record from a SQLite file to an empty PostgreSQL database,
// once and for all: afterwards the database serves and the file never does again.
//
// It is done in this order, and the same command repeated finishes it from wherever
// it was cut off: the file is locked; the copy is made, verified and committed,
// sealed as arriving; the file is sealed as moved, by the id of that copy; that copy
// is unsealed. At no time can both serve. A file that served on after a first try is
// copied anew.
//
// Errors: ErrNoStore, ErrNotEmpty, ErrMovedElsewhere, ErrOldSchema, ErrMismatch,
// sqlite.ErrInUse (a service runs on the file), core.ErrSealed (the file is a backup),
// core.ErrNewerSchema, core.ErrCorrupt, core.ErrStorageFull, core.ErrInvalid (the
// DSN), core.ErrUnavailable.
func Move(ctx context.Context, o MoveOptions) (Moved, error) {
	moved, err := move(ctx, o)
	if err != nil {
		return Moved{}, fmt.Errorf("move: %w", err)
	}
	return moved, nil
}

func move(ctx context.Context, o MoveOptions) (done Moved, err error) {
	path, err := existing(o.Path)
	if err != nil {
		return Moved{}, err
	}
	lock, err := sqlite.Lock(path)
	if err != nil {
		return Moved{}, err
	}
	defer lock.Close()
	src, err := openFile(ctx, path, asOwner)
	if err != nil {
		return Moved{}, err
	}
	defer func() { err = errors.Join(err, src.close()) }()
	origin, err := leaving(ctx, src)
	if err != nil {
		return Moved{}, err
	}
	dst, err := openDatabase(ctx, o.DSN)
	if err != nil {
		return Moved{}, err
	}
	defer dst.close(ctx)
	l := &landing{src: src, origin: origin, dst: dst, seal: core.SealArriving, tell: o.Progress}
	l.copyID, l.resume = "", origin.seal == core.SealMoved
	if l.resume {
		l.copyID = origin.copyID
	}
	copied, err := l.land(ctx, o.DSN)
	if err != nil {
		return Moved{}, err
	}
	if copied.serves {
		return Moved{Before: true}, nil
	}
	// From here on nobody's "stop" is heard: what is left takes a moment, and half of
	// it leaves a deployment that does not serve.
	return Moved{Rows: copied.content.rows()}, handOver(context.WithoutCancel(ctx), src, dst, copied.copyID)
}

// leaving reads a file that is about to be moved, and refuses one that must not be.
func leaving(ctx context.Context, src *file) (deployment, error) {
	version, err := src.version(ctx)
	if err == nil {
		err = current(version, ErrOldSchema)
	}
	if err == nil {
		err = src.sound(ctx)
	}
	if err != nil {
		return deployment{}, err
	}
	origin, err := src.deployment(ctx)
	switch {
	case errors.Is(err, core.ErrNotFound):
		return deployment{}, ErrNoStore
	case err == nil && origin.sealed && origin.seal != core.SealMoved:
		return deployment{}, origin.seal.Refusal()
	}
	return origin, err
}

// handOver makes the copy the one that serves. Dying before the first line leaves the
// file serving, after it neither, after the second the database.
func handOver(ctx context.Context, src *file, dst *database, copyID string) error {
	if err := src.seal(ctx, core.SealMoved, copyID); err != nil {
		return err
	}
	unsealed, err := dst.unseal(ctx, core.SealArriving, copyID)
	if err == nil && !unsealed { // Somebody else was at it.
		err = fmt.Errorf("unseal copy: %w", core.ErrConflict)
	}
	return err
}

// rows are the counts alone.
func (c content) rows() map[string]int64 {
	counts := make(map[string]int64, len(c))
	for name, s := range c {
		counts[name] = s.rows
	}
	return counts
}
