package transfer

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/store/postgres"
)

// landing is a copy of a file on its way into a database.
type landing struct {
	src    *file
	origin deployment // Of the file.
	dst    *database
	seal   core.Seal // What the copy is sealed as until it may serve.
	// copyID is the copy to recognise; "" takes any unfinished one of this source.
	copyID string
	// resume is true where the copy must be there already: none is made.
	resume bool
	tell   Progress
}

// landed says what stands in the database.
type landed struct {
	copyID  string
	content content // nil where the copy was made before, and not looked at again.
	serves  bool    // The copy was finished before.
}

// land brings the file into the database, under a seal and all or nothing, or finds
// that it did before. Dying before the commit leaves an empty database, after it a
// sealed one that the same command recognises. Errors: ErrNotEmpty, ErrMismatch,
// core.ErrNewerSchema, core.ErrCorrupt (a row that the database refuses).
func (l *landing) land(ctx context.Context, dsn string) (landed, error) {
	tables, err := l.src.tables(ctx)
	if err != nil {
		return landed{}, err
	}
	if err := l.prepare(ctx, dsn); err != nil {
		return landed{}, err
	}
	own, err := l.dst.like(ctx, tables)
	if err != nil {
		return landed{}, err
	}
	if _, err := l.dst.exec(ctx, "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"); err != nil {
		return landed{}, fmt.Errorf("begin copy: %w", err)
	}
	if _, err := l.dst.exec(ctx, sqlDurable); err != nil {
		return landed{}, fmt.Errorf("begin copy: %w", err)
	}
	done, err := l.fill(ctx, tables, own)
	if err != nil {
		_, _ = l.dst.exec(context.WithoutCancel(ctx), "ROLLBACK") // Else the server does it when we hang up.
		return landed{}, err
	}
	if _, err := l.dst.exec(ctx, "COMMIT"); err != nil {
		return landed{}, fmt.Errorf("commit copy: %w", err)
	}
	// Plans made for empty tables would be slow ones until the server looks by itself.
	for _, t := range own {
		if _, err := l.dst.exec(ctx, "ANALYZE "+quoted(t.name)); err != nil {
			return landed{}, fmt.Errorf("analyze table %s: %w", t.name, err)
		}
	}
	return done, nil
}

// prepare brings the schema of a new database up to date, and leaves one alone that
// was used before.
func (l *landing) prepare(ctx context.Context, dsn string) error {
	made, version, err := l.dst.made(ctx)
	if err != nil {
		return err
	}
	if made {
		_, err = l.dst.deployment(ctx)
		switch {
		case err == nil: // Ours from before, or somebody's: told apart below.
			return current(version, ErrNotEmpty)
		case !errors.Is(err, core.ErrNotFound):
			return err
		}
	}
	if err := postgres.Migrate(ctx, dsn); err != nil {
		return fmt.Errorf("prepare the database: %w", err)
	}
	return nil
}

// fill decides what the database needs, with its singleton row locked: whoever opens
// it meanwhile waits, and finds it sealed.
func (l *landing) fill(ctx context.Context, tables, own []table) (landed, error) {
	fresh := l.origin
	fresh.seal, fresh.copyID = l.seal, l.copyID
	if fresh.copyID == "" {
		fresh.copyID = rand.Text()
	}
	first, err := l.dst.claim(ctx, fresh)
	if err != nil {
		return landed{}, err
	}
	if first {
		return l.first(ctx, fresh, tables, own)
	}
	there, err := l.dst.deployment(ctx)
	switch {
	case err != nil:
		return landed{}, err
	case l.resume && there.copyID != l.copyID:
		return landed{}, ErrMovedElsewhere
	case there.id != l.origin.id, there.copyID == "", l.copyID != "" && there.copyID != l.copyID:
		return landed{}, ErrNotEmpty
	case !there.sealed && l.resume:
		return landed{copyID: there.copyID, serves: true}, nil
	case there.seal != l.seal:
		return landed{}, ErrNotEmpty
	case l.seal == core.SealRestoring: // It was whole when it was committed; its cards are being seen to.
		return landed{copyID: there.copyID}, nil
	}
	return l.again(ctx, there, fresh, tables, own)
}

// first fills a database that nobody used.
func (l *landing) first(ctx context.Context, fresh deployment, tables, own []table) (landed, error) {
	if l.resume { // The claim is undone with the transaction.
		return landed{}, ErrMovedElsewhere
	}
	if err := l.dst.unused(ctx, own); err != nil {
		return landed{}, err
	}
	found, err := copyAndCompare(ctx, l.src, tables, l.dst, own, l.tell)
	return landed{copyID: fresh.copyID, content: found}, err
}

// again looks at a copy of this source that was committed and never served. Where the
// source has served on since, it is made anew.
func (l *landing) again(ctx context.Context, there, fresh deployment, tables, own []table) (landed, error) {
	want, err := measure(ctx, l.src, tables, l.tell)
	if err != nil {
		return landed{}, err
	}
	err = compare(ctx, l.dst, own, want, l.tell)
	if err == nil && !slices.Equal(there.row(), l.origin.row()) {
		err = fmt.Errorf("verify deployment: %w", ErrMismatch)
	}
	switch {
	case err == nil:
		return landed{copyID: there.copyID, content: want}, nil
	case l.resume || !errors.Is(err, ErrMismatch): // A sealed source does not change.
		return landed{}, err
	}
	if err := l.dst.setDeployment(ctx, fresh); err != nil {
		return landed{}, err
	}
	found, err := copyAndCompare(ctx, l.src, tables, l.dst, own, l.tell)
	return landed{copyID: fresh.copyID, content: found}, err
}

const (
	// The source gives up serving because of this commit: it must be on the disk.
	sqlDurable = `SELECT set_config('synchronous_commit', 'on', true)
		WHERE current_setting('synchronous_commit') NOT IN ('on', 'remote_apply')`
	sqlClaim = `INSERT INTO deployment (singleton, id, incarnation, created_at, clock, batch, sealed, sealed_as, copy_id, last_event)
		VALUES (1, $1, $2, $3, $4, $5, true, $6, $7, $8) ON CONFLICT (singleton) DO NOTHING`
	sqlHold      = `SELECT id FROM deployment WHERE singleton = 1 FOR UPDATE`
	sqlOverwrite = `UPDATE deployment SET id = $1, incarnation = $2, created_at = $3, clock = $4, batch = $5,
			sealed = true, sealed_as = $6, copy_id = $7, last_event = $8 WHERE singleton = 1`
	sqlUnseal = `UPDATE deployment SET sealed = false, sealed_as = '' WHERE singleton = 1 AND sealed_as = $1 AND copy_id = $2`
)

func (d *deployment) args() []any {
	return []any{d.id, d.incarnation, d.createdAt, d.clock, d.batch, string(d.seal), d.copyID, d.lastEvent}
}

// claim makes the singleton row, sealed, and reports whether there was none. Either
// way this transaction holds it from then on.
func (d *database) claim(ctx context.Context, fresh deployment) (bool, error) {
	n, err := d.exec(ctx, sqlClaim, fresh.args()...)
	if err == nil {
		_, err = d.exec(ctx, sqlHold)
	}
	if err != nil {
		return false, fmt.Errorf("claim the database: %w", err)
	}
	return n == 1, nil
}

// setDeployment overwrites the singleton row, sealed.
func (d *database) setDeployment(ctx context.Context, fresh deployment) error {
	if _, err := d.exec(ctx, sqlOverwrite, fresh.args()...); err != nil {
		return fmt.Errorf("write deployment: %w", err)
	}
	return nil
}

// unused requires that the tables hold nothing but the singleton rows that the
// schema brings. Errors: ErrNotEmpty.
func (d *database) unused(ctx context.Context, tables []table) error {
	for _, t := range tables {
		if slices.Contains(t.names(), "singleton") {
			continue
		}
		n, err := d.count(ctx, t)
		if err != nil {
			return err
		}
		if n > 0 {
			return ErrNotEmpty
		}
	}
	return nil
}

// unseal lets a copy serve. It reports whether it was the one that was sealed.
func (d *database) unseal(ctx context.Context, as core.Seal, copyID string) (bool, error) {
	n, err := d.exec(ctx, sqlUnseal, string(as), copyID)
	if err != nil {
		return false, fmt.Errorf("unseal copy: %w", err)
	}
	return n == 1, nil
}
