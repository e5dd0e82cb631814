package sqlite

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/saysohq/sayso/core"
)

// Lock takes the lock of the store at path without opening the store, for work on
// its file from outside: nobody opens it before the lock is closed. The folder is
// made when it is missing, the file is not. Errors: ErrInUse, ErrReadOnly,
// core.ErrUnavailable.
func Lock(path string) (io.Closer, error) {
	lock, err := takeLock(path)
	if err != nil { // No typed nil in the interface.
		return nil, fmt.Errorf("lock store: %w", err)
	}
	return lock, nil
}

// takeLock makes the folder and takes the lock that keeps a second process away.
func takeLock(path string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fileError(err)
	}
	lock, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fileError(err)
	}
	if err := lockFile(lock); err != nil {
		_ = lock.Close() // Never locked: nothing depends on it.
		return nil, err
	}
	return lock, nil
}

// refusal says why a sealed store does not serve.
func (s *Store) refusal(ctx context.Context) error {
	d, err := s.Deployment(ctx)
	if err != nil {
		return err
	}
	return d.Seal.Refusal()
}

// The leases of processes that are gone. Whoever opens the store holds its lock,
// so every lease in it belongs to a process that died or never gave it back:
// waiting for it to run out would only delay the truth.
const (
	// A row is left as a worker leaves it that takes over: a send that was under way
	// may have arrived, and what the dead process had handed to the network may still
	// be painted, so the row is edited once more when that is over.
	sqlVoidDeliveries = `UPDATE deliveries SET
			ambiguous = iif(state = 'sending' AND locator = '', 1, ambiguous),
			unsettled = 1, settle_at = ?2,
			lease_holder = '', lease_until = 0, fence = fence + 1, due_at = max(?1, answer_until), updated_at = ?1
		WHERE lease_holder <> ''`
	// The next holder gets a new fence: the old one is past its time.
	sqlVoidJobs = `UPDATE leases SET held_until = 0 WHERE held_until > 0`
)

// voidLeases makes work that a dead process had taken due at once. Dying in it
// loses nothing: the next start does it again.
func (s *Store) voidLeases() error {
	now := s.clock.now()
	settle := now.Add(core.CallTimeout + core.SettleMargin)
	if err := s.writer.conn.run(sqlVoidDeliveries, int64(now), int64(settle)); err != nil {
		return fmt.Errorf("void leases: %w", translate(err))
	}
	if err := s.writer.conn.run(sqlVoidJobs); err != nil {
		return fmt.Errorf("void leases: %w", translate(err))
	}
	return nil
}
