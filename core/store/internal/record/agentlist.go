package record

import (
	"context"
	"fmt"

	"github.com/saysohq/sayso/core"
)

const (
	// Who asked lately is found among the newest rows, which a list of the record reads
	// as well: an index by agent would cost every question. Of an agent that was deleted
	// counts what it asked since.
	sqlListAgents = `SELECT k.runtime, k.name, coalesce(g.mode, ''), coalesce(g.mode_revision, 0), coalesce(g.generation, 0),
			coalesce(g.updated_at, 0), coalesce(g.paused_at, 0), coalesce(g.paused_by, ''), coalesce(g.paused_name, ''),
			coalesce(g.pause_revision, 0), coalesce(g.reset_at, 0),
			(SELECT count(*) FROM rules r WHERE r.runtime = k.runtime AND r.agent = k.name AND ` + whereLiveRule + `)
		FROM (SELECT runtime, name FROM agents WHERE deleted_at = 0
			UNION SELECT o.runtime, o.agent FROM agent_owners o WHERE NOT EXISTS (
				SELECT 1 FROM agents d WHERE d.runtime = o.runtime AND d.name = o.agent AND d.deleted_at <> 0)
			UNION SELECT n.runtime, n.agent FROM (SELECT runtime, agent, created_at FROM approvals ORDER BY created_at DESC, id DESC LIMIT ?1) n
				WHERE NOT EXISTS (SELECT 1 FROM agents d WHERE d.runtime = n.runtime AND d.name = n.agent AND d.deleted_at >= n.created_at)) k
		LEFT JOIN agents g ON g.runtime = k.runtime AND g.name = k.name
		WHERE (CAST(?2 AS text) = '' OR k.runtime = ?2) AND (CAST(?3 AS text) = '' OR EXISTS (
			SELECT 1 FROM agent_owners o WHERE o.runtime = k.runtime AND o.agent = k.name AND o.principal_id = ?3))
		ORDER BY k.runtime, k.name`
	// ?4 is the time; LiveRules and Rule.Live say the same.
	whereLiveRule = `r.removed_at = 0 AND (r.expires_at = 0 OR r.expires_at > ?4) AND (r.uses_allowed = 0 OR r.uses < r.uses_allowed)`
	whereOwnsRule = "EXISTS (SELECT 1 FROM agent_owners o WHERE o.runtime = r.runtime AND o.agent = r.agent AND o.principal_id = ?)"
)

// ListAgents implements core.AgentSettings.
func (s *Store) ListAgents(ctx context.Context, q core.AgentQuery) ([]core.ListedAgent, error) {
	owner, nothing := ownerOf(q.Viewer)
	if nothing {
		return nil, nil
	}
	now, err := s.db.Now(ctx)
	if err != nil {
		return nil, fmt.Errorf("list agents: %w", err)
	}
	var list []core.ListedAgent
	err = s.read(ctx).Each(sqlListAgents, []any{int64(core.MaxPage), q.Runtime, owner, int64(now)}, func(scan Row) error {
		var a core.ListedAgent
		err := scan(append(agentFields(&a.Agent), &a.Rules)...)
		list = append(list, a)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list agents: %w", err)
	}
	return list, nil
}

// ownerOf is whose agents a list is cut to: "" for no limit. Whoever is disabled, or
// nobody, sees nothing.
func ownerOf(viewer *core.Principal) (owner string, nothing bool) {
	switch {
	case viewer == nil:
		return "", false
	case viewer.ID == "", viewer.Disabled, !viewer.Role.Valid():
		return "", true
	case viewer.Role == core.RoleAdmin:
		return "", false
	}
	return viewer.ID, false
}
