package transfer

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/saysohq/sayso/core"
)

// A backup says in a table of its own what is in it: for each table the number of
// rows and their digest, the same for the singleton row, and under an empty name the
// digest of all of that. It finds damage; it does not keep out somebody who writes
// a manifest anew.
const (
	manifestTable = "backup_manifest"

	sqlMakeManifest = `CREATE TABLE backup_manifest (name TEXT PRIMARY KEY, rows INTEGER NOT NULL, digest TEXT NOT NULL) STRICT, WITHOUT ROWID`
	sqlAddManifest  = `INSERT INTO backup_manifest (name, rows, digest) VALUES (?, ?, ?)`
	sqlHasManifest  = `SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'backup_manifest'`
	sqlManifest     = `SELECT name, rows, digest FROM backup_manifest ORDER BY name`
	sqlDropManifest = `DROP TABLE backup_manifest`
)

// entry is a line of a manifest.
type entry struct {
	name   string
	rows   int64
	digest string
}

// manifest lists a content in the order of its names.
func manifest(d deployment, c content) ([]entry, error) {
	var single sum
	if err := single.add(d.row()); err != nil {
		return nil, err
	}
	entries := []entry{{"deployment", single.rows, single.digest()}}
	for name, s := range c {
		entries = append(entries, entry{name, s.rows, s.digest()})
	}
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	all := sha256.Sum256(fmt.Append(nil, entries))
	return slices.Insert(entries, 0, entry{"", int64(len(entries)), hex.EncodeToString(all[:])}), nil
}

// writeManifest adds a manifest to a file.
func (f *file) writeManifest(ctx context.Context, entries []entry) error {
	if err := f.exec(ctx, sqlMakeManifest); err != nil {
		return fmt.Errorf("write manifest: %w", err)
	}
	for _, e := range entries {
		if err := f.exec(ctx, sqlAddManifest, e.name, e.rows, e.digest); err != nil {
			return fmt.Errorf("write manifest: %w", err)
		}
	}
	return nil
}

func (f *file) readManifest(ctx context.Context) ([]entry, error) {
	found, err := f.conn.QueryContext(ctx, sqlManifest)
	if err != nil {
		return nil, translate(err)
	}
	defer found.Close()
	var entries []entry
	for found.Next() {
		var e entry
		if err := found.Scan(&e.name, &e.rows, &e.digest); err != nil {
			return nil, translate(err)
		}
		entries = append(entries, e)
	}
	return entries, translate(found.Err())
}

// verifyBackup reads a whole backup that nobody writes to, and requires that it is as
// it was written. Errors: ErrNoBackup, ErrDamaged, core.ErrNewerSchema, a context's.
func (f *file) verifyBackup(ctx context.Context, tell Progress) (deployment, content, error) {
	d, c, err := f.examine(ctx, tell)
	switch {
	case err == nil, errors.Is(err, ErrNoBackup), errors.Is(err, core.ErrNewerSchema), ctx.Err() != nil:
		return d, c, err
	}
	return d, c, fmt.Errorf("verify backup: %w", ErrDamaged) // Whatever reading a file like that ran into.
}

func (f *file) examine(ctx context.Context, tell Progress) (deployment, content, error) {
	if err := f.claimsToBeABackup(ctx); err != nil {
		return deployment{}, nil, err
	}
	if err := f.sound(ctx); err != nil {
		return deployment{}, nil, err
	}
	d, err := f.deployment(ctx)
	if err != nil {
		return deployment{}, nil, err
	}
	tables, err := f.tables(ctx)
	if err != nil {
		return deployment{}, nil, err
	}
	found, err := measure(ctx, f, tables, tell)
	if err != nil {
		return deployment{}, nil, err
	}
	want, err := manifest(d, found)
	if err != nil {
		return deployment{}, nil, err
	}
	written, err := f.readManifest(ctx)
	if err == nil && (!slices.Equal(written, want) || d.seal != core.SealBackup || d.copyID == "") {
		err = ErrMismatch
	}
	return d, found, err
}

// claimsToBeABackup tells a file of ours from others. Errors: ErrNoBackup,
// core.ErrNewerSchema.
func (f *file) claimsToBeABackup(ctx context.Context) error {
	version, err := f.version(ctx)
	if errors.Is(err, ErrNoStore) {
		return ErrNoBackup
	}
	if err != nil {
		return err
	}
	if err := current(version, nil); err != nil { // An older one is brought up to date where it is restored.
		return err
	}
	var n int
	if err := f.one(ctx, sqlHasManifest, &n); err != nil {
		return fmt.Errorf("read schema: %w", err)
	}
	if n == 0 {
		return ErrNoBackup
	}
	return nil
}
