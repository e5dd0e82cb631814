package record

import (
	"context"
	"fmt"

	"github.com/saysohq/sayso/core"
)

// Statements about destinations that cannot be reached. The cards that were
// planned before a route broke all fail within moments: they are one failure, so
// the pause grows only with tries that were made after it had passed.
const (
	sqlBreakIdentity = `UPDATE identities SET broken = ? WHERE principal_id = ? AND channel = ? AND account = ?`

	sqlMendRoute    = `DELETE FROM broken_routes WHERE channel = ? AND account = ? AND destination = ?`
	sqlMendIdentity = `UPDATE identities SET broken = '' WHERE principal_id = ? AND channel = ? AND account = ?`
	// A link that names no account keeps the one it had, which may be any.
	sqlMendLinked = `DELETE FROM broken_routes WHERE channel = ?1 AND (?2 = '' OR account = ?2) AND person_id = ?3`

	sqlBrokenRoutes = `SELECT channel, account, destination, person_id, class, failures, broken_at, retry_at
		FROM broken_routes ORDER BY channel, account, destination`

	sqlHasten = `UPDATE deliveries SET due_at = ?1, give_up_at = ?2, updated_at = ?1
		WHERE id = ?3 AND approval_id = ?4 AND state = 'planned' AND lease_holder = '' AND due_at > ?1`
)

// breakRoute marks the destination of a row that failed for good.
func (t *tx) breakRoute(d *core.Delivery, class core.FailureClass) error {
	_, err := t.Exec(t.rows.breakRoute, string(d.Channel), d.Account, d.Destination, d.PersonID, string(class),
		int64(t.now), int64(core.RouteRetryFirst), int64(core.RouteRetryMax))
	if err != nil || d.PersonID == "" {
		return err
	}
	_, err = t.Exec(sqlBreakIdentity, string(class), d.PersonID, string(d.Channel), d.Account)
	return err
}

// mendRoute forgets that a destination was broken: a card has just arrived there.
func (t *tx) mendRoute(d *core.Delivery) error {
	n, err := t.Exec(sqlMendRoute, string(d.Channel), d.Account, d.Destination)
	if err != nil || n == 0 || d.PersonID == "" {
		return err
	}
	_, err = t.Exec(sqlMendIdentity, d.PersonID, string(d.Channel), d.Account)
	return err
}

// hasten makes rows that were planned for later due at once.
func (t *tx) hasten(a *core.Approval, ids []string) error {
	giveUp := min(a.ExpiresAt, t.now+core.GiveUpAfter)
	for _, id := range ids {
		if _, err := t.Exec(sqlHasten, int64(t.now), int64(giveUp), id, a.ID); err != nil {
			return err
		}
	}
	return nil
}

// BrokenRoutes implements core.Routes.
func (s *Store) BrokenRoutes(ctx context.Context) ([]core.BrokenRoute, error) {
	var routes []core.BrokenRoute
	err := s.read(ctx).Each(sqlBrokenRoutes, nil, func(scan Row) error {
		var r core.BrokenRoute
		if err := scan((*string)(&r.Ref.Channel), &r.Ref.Account, &r.Destination, &r.PersonID, (*string)(&r.Class), &r.Failures, (*int64)(&r.BrokenAt), (*int64)(&r.RetryAt)); err != nil {
			return err
		}
		routes = append(routes, r)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list broken routes: %w", err)
	}
	return routes, nil
}
