package record

import (
	"github.com/saysohq/sayso/core"
)

const (
	// A row is a route while its message is open, or while it may still open.
	sqlHasRoute = `SELECT EXISTS (SELECT 1 FROM deliveries
		WHERE approval_id = ?1 AND (state = 'open' OR (state <> 'closed' AND give_up_at > ?2)))`

	// People who can get to the page: a live session, or a linked sign-in where the
	// page has a public address.
	sqlCanReachPage = "SELECT " + sqlPrincipalColumns + ` FROM principals p
		WHERE NOT p.disabled AND p.role <> 'viewer' AND (
			EXISTS (SELECT 1 FROM sessions s WHERE s.principal_id = p.id AND s.ended_at = 0 AND s.expires_at > ?1)
			OR (?2 AND EXISTS (SELECT 1 FROM identities i WHERE i.principal_id = p.id)))`
)

// denyWithoutRoute ends a pending approval that nobody can be reached for any
// more, and reports whether it did.
func (t *tx) denyWithoutRoute(a *core.Approval, r core.Reachability) (bool, error) {
	routed, err := hasRoute(t, a, r, t.now)
	if err != nil || routed {
		return false, err
	}
	return true, t.end(a, core.Terminal{
		Status: core.StatusDenied, Decision: core.DecisionDeny, Reason: core.ReasonNoRoute,
		ResolverKind: core.ResolverSystem,
	}, "")
}

// hasRoute is the rule: some card is open or may still open, or, unless a push is
// required, somebody who may decide can get to the page.
func hasRoute(q Querier, a *core.Approval, r core.Reachability, now core.Millis) (bool, error) {
	var routed bool
	if err := q.One(sqlHasRoute, []any{a.ID, int64(now)}, &routed); err != nil || routed {
		return routed, err
	}
	if a.RequirePush {
		return false, nil
	}
	return pageReachable(q, a, r, now)
}

// pageReachable reports whether an eligible person can get to the page. While the
// bootstrap code is open, the admin whom it will make counts: a newcomer's first
// question waits instead of failing.
func pageReachable(q Querier, a *core.Approval, r core.Reachability, now core.Millis) (bool, error) {
	var open bool
	if err := q.One(sqlBootstrapOpen, []any{int64(now)}, &open); err != nil || open {
		return open, err
	}
	owners, err := readOwners(q, a.Runtime, a.Agent)
	if err != nil {
		return false, err
	}
	reachable := false
	err = q.Each(sqlCanReachPage, []any{int64(now), r.PublicURL}, func(scan Row) error {
		var p core.Principal
		if err := scan(principalFields(&p)...); err != nil {
			return err
		}
		reachable = reachable || core.MayDecide(&p, a, owners)
		return nil
	})
	return reachable, err
}
