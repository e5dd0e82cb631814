package record

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/saysohq/sayso/core"
)

const (
	sqlAgentColumns = `g.runtime, g.name, g.mode, g.mode_revision, g.generation, g.updated_at, g.paused_at, g.paused_by,
		g.paused_name, g.pause_revision, g.reset_at`
	sqlReadAgent = "SELECT " + sqlAgentColumns + " FROM agents g WHERE g.runtime = ? AND g.name = ?"
	// What claims rely on.
	sqlAgentStanding = "SELECT mode_since, paused_at FROM agents WHERE runtime = ? AND name = ?"
	sqlRaiseAgent    = `INSERT INTO agents (runtime, name, generation, updated_at) VALUES (?, ?, 1, ?)
		ON CONFLICT (runtime, name) DO UPDATE SET generation = agents.generation + 1, updated_at = excluded.updated_at, deleted_at = 0
		RETURNING generation`
	sqlSetMode = `UPDATE agents SET mode = ?, mode_revision = mode_revision + 1, mode_since = generation
		WHERE runtime = ? AND name = ?`
	sqlNoteChange = `INSERT INTO policy_changes (runtime, agent, generation, kind, rule_id, mode_before, mode_after, by_id, by_name, created_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	sqlPolicyChanges = `SELECT runtime, agent, generation, kind, rule_id, mode_before, mode_after, by_id, by_name, created_at
		FROM policy_changes WHERE runtime = ? AND agent = ? ORDER BY generation DESC LIMIT ?`

	// All in one read, and so of one moment: each evaluation makes it.
	sqlPolicyState = `SELECT coalesce((SELECT mode FROM agents WHERE runtime = ?1 AND name = ?2), ''),
		coalesce((SELECT generation FROM agents WHERE runtime = ?1 AND name = ?2), 0),
		coalesce((SELECT i.facts FROM instances i WHERE i.runtime = ?1 AND i.name = ?3 AND i.epoch = ?4
			AND NOT EXISTS (SELECT 1 FROM instances n WHERE n.runtime = ?1 AND n.name = ?3 AND n.epoch > ?4)), ''),
		coalesce((SELECT CASE WHEN EXISTS (SELECT 1 FROM reopened o WHERE o.approval_id = a.id) THEN '' ELSE a.id END` + sqlNewestDecline + `), ''),
		coalesce((SELECT a.resolved_at` + sqlNewestDecline + `), 0),
		coalesce((SELECT digest FROM policy_tables WHERE number = ` + sqlNewestTables + `), '')`
	sqlNewestDecline = ` FROM approvals a WHERE a.status = 'denied' AND a.reason = 'user'
		AND a.runtime = ?1 AND a.agent = ?2 AND a.action_hash = ?5 ORDER BY a.resolved_at DESC, a.id DESC LIMIT 1`
)

// PolicyName is the name under which an agent's mode and rules are locked: shared by
// inserts and claims that rely on them, alone by whatever changes them. It comes before
// all other locks.
func PolicyName(runtime, agent string) string { return LockName("policy", runtime, agent) }

func (t *tx) holdPolicy(s Strength, runtime, agent string) error {
	if !t.rows.Locks {
		return nil
	}
	now, err := t.Hold(s, PolicyName(runtime, agent))
	t.now = max(t.now, now)
	return err
}

// agentFields are the targets of sqlAgentColumns.
func agentFields(a *core.Agent) []any {
	return []any{
		&a.Runtime, &a.Name, &a.Mode, &a.ModeRevision, &a.Generation, (*int64)(&a.UpdatedAt), (*int64)(&a.PausedAt), &a.PausedBy,
		&a.PausedName, &a.PauseRevision, (*int64)(&a.ResetAt),
	}
}

func readAgent(q Querier, runtime, agent string) (core.Agent, error) {
	a := core.Agent{Runtime: runtime, Name: agent}
	err := q.One(sqlReadAgent, []any{runtime, agent}, agentFields(&a)...)
	return a, ignoreNotFound(err)
}

// ReadAgent implements core.AgentSettings.
func (s *Store) ReadAgent(ctx context.Context, runtime, agent string) (core.Agent, error) {
	a, err := readAgent(s.read(ctx), runtime, agent)
	if err != nil {
		return core.Agent{}, fmt.Errorf("read agent: %w", err)
	}
	return a, nil
}

// settingsPayload is what an event tells of a change of settings: neither people nor what
// a rule covers (R156, R169).
type settingsPayload struct {
	Runtime    string          `json:"runtime"`
	Agent      string          `json:"agent"`
	Generation int64           `json:"generation"`
	Kind       core.ChangeKind `json:"kind"`
	RuleID     string          `json:"rule_id,omitempty"`
	Before     string          `json:"before,omitempty"`
	After      string          `json:"after,omitempty"`
}

// changePolicy raises an agent's generation under the lock of its policy, leaves the
// change in the history and records its event.
func (t *tx) changePolicy(c core.PolicyChange) (generation int64, err error) {
	err = t.Returning(sqlRaiseAgent, []any{c.Runtime, c.Agent, int64(t.now)}, func(scan Row) error { return scan(&generation) })
	if err != nil {
		return 0, err
	}
	_, err = t.Exec(sqlNoteChange, c.Runtime, c.Agent, generation, string(c.Kind), c.RuleID, c.Before, c.After, c.By, c.Name, int64(t.now))
	if err != nil {
		return 0, err
	}
	body, err := encodeJSON(settingsPayload{c.Runtime, c.Agent, generation, c.Kind, c.RuleID, c.Before, c.After})
	if err != nil {
		return 0, fmt.Errorf("encode event: %w", err)
	}
	_, err = t.Exec(t.rows.InsertEvent, core.AgentHint(c.Runtime, c.Agent), generation, string(core.EventSettings), c.Runtime, "", int64(t.now), *body)
	return generation, err
}

// SetMode implements core.AgentSettings.
func (s *Store) SetMode(ctx context.Context, c core.SetMode) (core.Agent, error) {
	set, err := write(ctx, s, Foreground, func(t *tx) (core.Agent, error) { return t.setMode(c) })
	if err != nil {
		return set, fmt.Errorf("set mode: %w", err)
	}
	return set, nil
}

func (t *tx) setMode(c core.SetMode) (core.Agent, error) {
	switch {
	case c.Runtime == "":
		return core.Agent{}, core.Invalid("runtime", "is required")
	case !core.ValidMode(c.Mode):
		return core.Agent{}, core.Invalid("mode", "must be one of the modes, or empty for the default")
	}
	if err := t.holdPolicy(Update, c.Runtime, c.Agent); err != nil {
		return core.Agent{}, err
	}
	if err := t.guard(c.Guard); err != nil {
		return core.Agent{}, err
	}
	is, err := readAgent(t, c.Runtime, c.Agent)
	switch {
	case err != nil:
		return core.Agent{}, err
	case is.Mode == c.Mode:
		return is, nil
	case is.ModeRevision != c.Revision:
		return is, core.ErrConflict
	}
	_, err = t.changePolicy(core.PolicyChange{
		Runtime: c.Runtime, Agent: c.Agent, Kind: core.ChangeMode, Before: is.Mode, After: c.Mode, By: c.By, Name: c.Name,
	})
	if err != nil {
		return core.Agent{}, err
	}
	if _, err := t.Exec(sqlSetMode, c.Mode, c.Runtime, c.Agent); err != nil {
		return core.Agent{}, err
	}
	return readAgent(t, c.Runtime, c.Agent)
}

// PolicyChanges implements core.AgentSettings.
func (s *Store) PolicyChanges(ctx context.Context, runtime, agent string, limit int) ([]core.PolicyChange, error) {
	if limit < 0 || limit > core.MaxPage {
		return nil, fmt.Errorf("list policy changes: %w", core.Invalid("limit", "must be between 1 and %d", core.MaxPage))
	}
	if limit == 0 {
		limit = core.MaxPage
	}
	var list []core.PolicyChange
	err := s.read(ctx).Each(sqlPolicyChanges, []any{runtime, agent, int64(limit)}, func(scan Row) error {
		var c core.PolicyChange
		err := scan(&c.Runtime, &c.Agent, &c.Generation, (*string)(&c.Kind), &c.RuleID, &c.Before, &c.After, &c.By, &c.Name, (*int64)(&c.At))
		list = append(list, c)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list policy changes: %w", err)
	}
	return list, nil
}

// PolicyState implements core.Policies.
func (s *Store) PolicyState(ctx context.Context, q core.PolicyQuery) (core.PolicyStanding, error) {
	var is core.PolicyStanding
	facts := ""
	args := []any{q.Runtime, q.Agent, q.Instance, q.Epoch, q.ActionHash}
	now, err := s.read(ctx).Dated(sqlPolicyState, args, func(scan Row) error {
		return scan(&is.Mode, &is.Generation, &facts, &is.Declined, (*int64)(&is.DeclinedAt), &is.TablesDigest)
	})
	is.Now = now
	if is.Declined == "" { // There is none, or it was re-opened.
		is.DeclinedAt = 0
	}
	if err == nil {
		is.Facts, err = decodeFacts(facts)
	}
	if err != nil {
		return is, fmt.Errorf("read policy state: %w", err)
	}
	return is, nil
}

// encodeFacts is what an instance attests, as it is stored. Errors: core.ErrInvalid.
func encodeFacts(facts map[string]string) (string, error) {
	if len(facts) == 0 {
		return "", nil
	}
	if len(facts) > core.MaxFacts {
		return "", core.Invalid("facts", "must be at most %d", core.MaxFacts)
	}
	for name, value := range facts {
		if name == "" || len(name) > core.MaxFactBytes || len(value) > core.MaxFactBytes {
			return "", core.Invalid("facts", "must have names and values of at most %d bytes", core.MaxFactBytes)
		}
	}
	body, err := json.Marshal(facts)
	return string(body), err
}

func decodeFacts(stored string) (facts map[string]string, err error) {
	if stored == "" {
		return nil, nil
	}
	if json.Unmarshal([]byte(stored), &facts) != nil {
		return nil, fmt.Errorf("decode facts: %w", core.ErrCorrupt)
	}
	return facts, nil
}

const (
	sqlReopen       = `INSERT INTO reopened (approval_id, by_id, by_name, created_at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING`
	sqlReadReopened = `SELECT approval_id, by_id, by_name, created_at FROM reopened WHERE approval_id = ?`
)

func readReopened(q Querier, id string) (core.Reopened, error) {
	var r core.Reopened
	err := q.One(sqlReadReopened, []any{id}, &r.ApprovalID, &r.By, &r.Name, (*int64)(&r.At))
	return r, err
}

// ReadReopened implements core.Declines.
func (s *Store) ReadReopened(ctx context.Context, approvalID string) (core.Reopened, error) {
	r, err := readReopened(s.read(ctx), approvalID)
	if err != nil {
		return core.Reopened{}, fmt.Errorf("read reopened: %w", err)
	}
	return r, nil
}

// ReopenDecline implements core.Declines.
func (s *Store) ReopenDecline(ctx context.Context, c core.ReopenDecline) (core.Reopened, error) {
	done, err := write(ctx, s, Foreground, func(t *tx) (core.Reopened, error) { return t.reopen(c) })
	if err != nil {
		return core.Reopened{}, fmt.Errorf("reopen decline: %w", err)
	}
	return done, nil
}

func (t *tx) reopen(c core.ReopenDecline) (core.Reopened, error) {
	if c.By == "" {
		return core.Reopened{}, core.Invalid("by", "is required")
	}
	if err := t.guard(c.Guard); err != nil {
		return core.Reopened{}, err
	}
	a, err := t.find(c.ApprovalID)
	switch {
	case err != nil:
		return core.Reopened{}, err
	case a.Status != core.StatusDenied || a.Reason != core.ReasonUser:
		return core.Reopened{}, core.ErrConflict
	}
	if _, err := t.Exec(sqlReopen, a.ID, c.By, c.Name, int64(t.now)); err != nil {
		return core.Reopened{}, err
	}
	return readReopened(t, a.ID)
}

// stillDeclined checks, under the lock of the decline, that it answers this very
// action and that nobody has re-opened it. Errors: core.ErrPolicyChanged.
func (t *tx) stillDeclined(a *core.Approval) error {
	of, err := t.find(a.StickyOf)
	switch {
	case errors.Is(err, core.ErrNotFound), isCorrupt(err):
		return core.ErrPolicyChanged
	case err != nil:
		return err
	case of.Runtime != a.Runtime, of.Agent != a.Agent, of.ActionHash != a.ActionHash,
		of.Status != core.StatusDenied, of.Reason != core.ReasonUser:
		return core.ErrPolicyChanged
	}
	switch _, err := readReopened(t, of.ID); {
	case errors.Is(err, core.ErrNotFound):
		return nil
	case err != nil:
		return err
	}
	return core.ErrPolicyChanged
}
