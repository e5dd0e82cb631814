package sqlite

import (
	"context"
	"fmt"

	"github.com/saysohq/sayso/core"
)

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
func (s *Store) voidLeases(ctx context.Context) error {
	now := s.clock.now()
	settle := now.Add(core.CallTimeout + core.SettleMargin)
	if err := s.writer.conn.run(ctx, sqlVoidDeliveries, int64(now), int64(settle)); err != nil {
		return fmt.Errorf("void leases: %w", translate(err))
	}
	if err := s.writer.conn.run(ctx, sqlVoidJobs); err != nil {
		return fmt.Errorf("void leases: %w", translate(err))
	}
	return nil
}
