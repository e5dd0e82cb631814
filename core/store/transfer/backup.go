package transfer

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/store/sqlite"
)

// Place is a store: a SQLite file or a PostgreSQL database, exactly one of them.
type Place struct {
	Path string // The SQLite file.
	DSN  string // The PostgreSQL database, a direct connection.
}

// BackupOptions say what is backed up to where.
type BackupOptions struct {
	// From is the store. A service may run on it.
	From Place
	// File is the backup; nothing may be there yet.
	File string
	// Now is the process clock; required.
	Now func() time.Time
	// Progress hears how far it is; nil for nobody.
	Progress Progress
}

// BackedUp says what is in a backup.
type BackedUp struct {
	Rows  map[string]int64 // By table.
	Bytes int64            // Size of the file.
}

// Backup writes the whole record, as it is at one moment, into one file that only
// its owner can read. The file is a sealed SQLite store of its own: nothing serves
// from it before it is restored. It is read back and compared before it gets its
// name, so a file of that name is a whole backup; dying on the way leaves a folder
// beside it, ".sayso-backup-...", that can be deleted. The sealed keys in it need the
// secret key file, which is not in it.
//
// Errors: ErrNoStore, ErrNotEmpty (the file exists), ErrOldSchema, ErrMismatch,
// core.ErrSealed, core.ErrNewerSchema, core.ErrCorrupt, core.ErrStorageFull,
// core.ErrInvalid (the DSN), core.ErrUnavailable.
func Backup(ctx context.Context, o BackupOptions) (BackedUp, error) {
	made, err := backup(ctx, o)
	if err != nil {
		return BackedUp{}, fmt.Errorf("back up: %w", err)
	}
	return made, nil
}

func backup(ctx context.Context, o BackupOptions) (made BackedUp, err error) {
	path, err := filepath.Abs(o.File)
	if err != nil {
		return BackedUp{}, fmt.Errorf("find file: %w", core.ErrUnavailable)
	}
	if err := free(path); err != nil {
		return BackedUp{}, err
	}
	work, err := newDesk(filepath.Dir(path), backupDesk)
	if err != nil {
		return BackedUp{}, err
	}
	defer work.clear()
	if err := work.blank(ctx, o.Now); err != nil {
		return BackedUp{}, err
	}
	draft, err := openFile(ctx, work.store(), asDraft)
	if err != nil {
		return BackedUp{}, err
	}
	err = fillBackup(ctx, o, draft)
	if err := errors.Join(err, draft.close()); err != nil {
		return BackedUp{}, err
	}
	found, err := verified(ctx, work.store(), o.Progress)
	if err != nil {
		return BackedUp{}, err
	}
	made.Rows = found.rows()
	made.Bytes, err = work.deliver(path)
	return made, err
}

// fillBackup copies the store into a blank file, seals it and signs off what is in it.
func fillBackup(ctx context.Context, o BackupOptions, draft *file) error {
	tables, err := draft.tables(ctx)
	if err != nil {
		return err
	}
	src, origin, from, hangUp, err := snapshot(ctx, o.From, tables)
	if err != nil {
		return err
	}
	defer hangUp()
	if err := draft.exec(ctx, "BEGIN IMMEDIATE"); err != nil {
		return fmt.Errorf("begin copy: %w", err)
	}
	found, err := copyAll(ctx, src, from, draft, tables, o.Progress)
	if err != nil {
		return err
	}
	origin.seal, origin.copyID = core.SealBackup, rand.Text()
	if err := draft.setDeployment(ctx, origin); err != nil {
		return err
	}
	entries, err := manifest(origin, found)
	if err != nil {
		return err
	}
	if err := draft.writeManifest(ctx, entries); err != nil {
		return err
	}
	if err := draft.exec(ctx, "COMMIT"); err != nil {
		return fmt.Errorf("commit copy: %w", err)
	}
	return nil
}

// snapshot opens a store as it is at one moment, with its own view of the tables.
func snapshot(ctx context.Context, p Place, tables []table) (reader, deployment, []table, func(), error) {
	if p.DSN != "" {
		return snapshotDatabase(ctx, p.DSN, tables)
	}
	src, err := openFile(ctx, p.Path, asSnapshot)
	if err != nil {
		return nil, deployment{}, nil, nil, err
	}
	hangUp := func() { _ = src.close() } // It was only read.
	origin, own, err := snapshotFile(ctx, src, tables)
	if err != nil {
		hangUp()
		return nil, deployment{}, nil, nil, err
	}
	return src, origin, own, hangUp, nil
}

func snapshotFile(ctx context.Context, src *file, tables []table) (deployment, []table, error) {
	if err := src.exec(ctx, "BEGIN DEFERRED"); err != nil {
		return deployment{}, nil, fmt.Errorf("begin copy: %w", err)
	}
	version, err := src.version(ctx)
	if err == nil {
		err = current(version, ErrOldSchema)
	}
	if err != nil {
		return deployment{}, nil, err
	}
	origin, err := src.deployment(ctx)
	if errors.Is(err, core.ErrNotFound) {
		err = ErrNoStore
	}
	if err == nil && origin.sealed {
		err = origin.seal.Refusal()
	}
	return origin, tables, err
}

func snapshotDatabase(ctx context.Context, dsn string, tables []table) (reader, deployment, []table, func(), error) {
	src, err := openDatabase(ctx, dsn)
	if err != nil {
		return nil, deployment{}, nil, nil, err
	}
	hangUp := func() { src.close(ctx) }
	origin, own, err := src.begin(ctx, tables)
	if err != nil {
		hangUp()
		return nil, deployment{}, nil, nil, err
	}
	return src, origin, own, hangUp, nil
}

// begin takes the moment that is read from here on.
func (d *database) begin(ctx context.Context, tables []table) (deployment, []table, error) {
	made, version, err := d.made(ctx)
	switch {
	case err != nil:
		return deployment{}, nil, err
	case !made:
		return deployment{}, nil, ErrNoStore
	}
	if err := current(version, ErrOldSchema); err != nil {
		return deployment{}, nil, err
	}
	if _, err := d.exec(ctx, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"); err != nil {
		return deployment{}, nil, fmt.Errorf("begin copy: %w", err)
	}
	origin, err := d.moment(ctx)
	if errors.Is(err, core.ErrNotFound) {
		err = ErrNoStore
	}
	if err == nil && origin.sealed {
		err = origin.seal.Refusal()
	}
	if err != nil {
		return deployment{}, nil, err
	}
	own, err := d.like(ctx, tables)
	return origin, own, err
}

// verified reads a backup back as a stranger would.
func verified(ctx context.Context, path string, tell Progress) (content, error) {
	f, err := openFile(ctx, path, asIs)
	if err != nil {
		return nil, err
	}
	_, found, err := f.verifyBackup(ctx, tell)
	return found, errors.Join(err, f.close())
}

// desk is a private folder beside where a file is to stand, for the time of the work.
type desk struct{ folder string }

func newDesk(beside, prefix string) (desk, error) {
	folder, err := os.MkdirTemp(beside, prefix+"*") // Made 0700.
	if err != nil {
		return desk{}, fmt.Errorf("make folder: %w", fileFault(err))
	}
	return desk{folder}, nil
}

// What the folders are called; a backup that is under way is not a restore's to
// clear away.
const (
	backupDesk  = ".sayso-backup-"
	restoreDesk = ".sayso-restore-"
)

func (d desk) store() string { return filepath.Join(d.folder, "sayso.db") }

// clear throws away what is left. What cannot be deleted is a folder that nobody uses.
func (d desk) clear() { _ = os.RemoveAll(d.folder) }

// blank makes an empty store of the newest schema.
func (d desk) blank(ctx context.Context, now func() time.Time) error {
	s, err := sqlite.Open(ctx, sqlite.Config{Path: d.store(), Now: now, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	return s.Close()
}

// free requires that nothing has a name. Errors: ErrNotEmpty, core.ErrUnavailable.
func free(path string) error {
	switch _, err := os.Lstat(path); {
	case err == nil:
		return ErrNotEmpty
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("find file: %w", fileFault(err))
	}
	return nil
}

// deliver gives the finished file its name, durably and over nothing else. Errors:
// ErrNotEmpty.
func (d desk) deliver(path string) (int64, error) {
	size, err := syncFile(d.store())
	if err != nil {
		return 0, fmt.Errorf("write file: %w", fileFault(err))
	}
	if _, err := os.Lstat(d.store() + "-wal"); err == nil { // The file alone would not be all.
		return 0, fmt.Errorf("write file: %w", core.ErrUnavailable)
	}
	if err := free(path); err != nil {
		return 0, err
	}
	if err := os.Rename(d.store(), path); err != nil {
		return 0, fmt.Errorf("name file: %w", fileFault(err))
	}
	if err := syncFolder(filepath.Dir(path)); err != nil {
		return 0, fmt.Errorf("name file: %w", fileFault(err))
	}
	return size, nil
}
