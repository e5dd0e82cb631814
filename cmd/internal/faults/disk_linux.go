package faults

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"golang.org/x/sys/unix"
)

const (
	diskSize = "256m"
	// diskLeft is the room that a full disk still has, in bytes: less than PostgreSQL
	// needs for its next piece of log.
	diskLeft = 64 << 10
	diskSlab = 1 << 20
)

// smallDisk keeps PostgreSQL's data on a file system of its own, in the system's folder
// for temporary files: the server's user has to get there.
func smallDisk(_ context.Context, c *campaign) (needs, error) {
	folder, err := os.MkdirTemp("", "sayso-disk-")
	if err != nil {
		return needs{}, fmt.Errorf("make folder: %w", err)
	}
	if err := unix.Mount("tmpfs", folder, "tmpfs", 0, "size="+diskSize+",mode=0755"); err != nil {
		return needs{}, errors.Join(fmt.Errorf("%w: a small file system cannot be mounted: %w", errNotHere, err), os.Remove(folder))
	}
	c.later = append(c.later, func() error { return errors.Join(unix.Unmount(folder, unix.MNT_DETACH), os.Remove(folder)) })
	return needs{databaseDir: folder}, nil
}

// filled fills the disk, and makes room again after a while. PostgreSQL may end by
// itself meanwhile, and then is started again, as an operator would.
func filled(ctx context.Context, c *campaign) error {
	folder := c.town.needs.databaseDir
	filler := filepath.Join(folder, "filler")
	for c.during(ctx, time.Second, 3*time.Second) && c.breathe(ctx) {
		if err := fill(folder, filler); err != nil {
			return errors.Join(err, os.Remove(filler))
		}
		c.count("disk full", 1)
		_ = c.during(ctx, 3*time.Second, 7*time.Second)
		if c.noRoom(context.WithoutCancel(ctx)) {
			c.count("writes that found no room", 1)
		}
		if err := os.Remove(filler); err != nil {
			return fmt.Errorf("make room: %w", err)
		}
		own := context.WithoutCancel(ctx)
		if c.town.postgres.Reach(own) != nil {
			c.count("PostgreSQL ended by itself", 1)
			if err := c.town.postgres.Again(own); err != nil {
				return err
			}
		}
	}
	return nil
}

// stateDiskFull is PostgreSQL's SQLSTATE for a disk without room.
const stateDiskFull = "53100"

// noRoom writes a piece of its own, and reports whether there was no room for it: the
// server says so, or has ended over it.
func (c *campaign) noRoom(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := c.town.exec(ctx, `DO $$ BEGIN
		CREATE TABLE filler AS SELECT repeat('x', 1000) AS line FROM generate_series(1, 2000);
		DROP TABLE filler;
	END $$`)
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok {
		return refused.Code == stateDiskFull
	}
	return err != nil && c.town.postgres.Reach(ctx) != nil
}

// fill leaves next to nothing of a file system.
func fill(folder, filler string) error {
	f, err := os.OpenFile(filler, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("fill disk: %w", err)
	}
	defer f.Close()
	slab := make([]byte, diskSlab)
	for {
		var s unix.Statfs_t
		if err := unix.Statfs(folder, &s); err != nil {
			return fmt.Errorf("fill disk: %w", err)
		}
		room := int64(s.Bavail)*s.Bsize - diskLeft
		if room <= 0 {
			return nil
		}
		if _, err := f.Write(slab[:min(room, diskSlab)]); err != nil {
			if errors.Is(err, unix.ENOSPC) {
				return nil
			}
			return fmt.Errorf("fill disk: %w", err)
		}
	}
}
