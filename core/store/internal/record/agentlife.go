package record

import (
	"context"
	"fmt"

	"github.com/saysohq/sayso/core"
)

const (
	sqlSetPaused = `UPDATE agents SET paused_at = ?, paused_by = ?, paused_name = ?, pause_revision = pause_revision + 1
		WHERE runtime = ? AND name = ?`
	// What was decided before the pause or during it has the time that it had left.
	sqlExtendGrants = `UPDATE approvals SET claim_by = claim_by + CAST(?1 AS bigint) - CASE WHEN resolved_at > ?2 THEN resolved_at ELSE ?2 END
		WHERE execution = 'unclaimed' AND runtime = ?3 AND agent = ?4 AND claim_by > ?2`
	sqlSetReset    = `UPDATE agents SET reset_at = ? WHERE runtime = ? AND name = ?`
	sqlForgetAgent = `UPDATE agents SET deleted_at = ?1, mode_revision = mode_revision + CASE WHEN mode = '' THEN 0 ELSE 1 END, mode_since = generation,
			mode = '', pause_revision = pause_revision + CASE WHEN paused_at = 0 THEN 0 ELSE 1 END, paused_at = 0, paused_by = '', paused_name = ''
		WHERE runtime = ?2 AND name = ?3`
	sqlRemoveRules = `UPDATE rules SET removed_at = ?, removed_by = ?, removed_name = ? WHERE runtime = ? AND agent = ? AND removed_at = 0`
	sqlAgentRuns   = `SELECT DISTINCT run_id FROM approvals WHERE (status = 'pending' OR execution = 'unclaimed')
		AND runtime = ? AND agent = ? AND run_id <> '' ORDER BY run_id`
	// One statement for all of them: rows are locked in the order of their ids, whosever
	// they are.
	sqlHoldAgent = `SELECT id FROM approvals WHERE (status = 'pending' OR execution = 'unclaimed') AND runtime = ?1
		AND (agent = ?2 OR (run_id <> '' AND run_id IN %s)) ORDER BY id FOR UPDATE`

	whereAgentPending   = `a.status = 'pending' AND a.runtime = ? AND a.agent = ? ORDER BY a.id`
	whereAgentUnclaimed = `a.execution = 'unclaimed' AND a.runtime = ? AND a.agent = ? ORDER BY a.id`
)

// SetPaused implements core.AgentLives. It holds the policy alone, as claims share it:
// a claim was made before it returns, or is refused.
func (s *Store) SetPaused(ctx context.Context, c core.SetPaused) (core.Agent, error) {
	set, err := write(ctx, s, Foreground, func(t *tx) (core.Agent, error) { return t.setPaused(c) })
	if err != nil {
		return set, fmt.Errorf("pause agent: %w", err)
	}
	return set, nil
}

func (t *tx) setPaused(c core.SetPaused) (core.Agent, error) {
	if c.Runtime == "" {
		return core.Agent{}, core.Invalid("runtime", "is required")
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
	case is.Paused() == c.Paused:
		return is, nil
	case is.PauseRevision != c.Revision:
		return is, core.ErrConflict
	}
	change, at, by, name := core.ChangeResumed, core.Millis(0), "", ""
	if c.Paused {
		change, at, by, name = core.ChangePaused, t.now, c.By, c.Name
	} else if _, err := t.Exec(sqlExtendGrants, int64(t.now), int64(is.PausedAt), c.Runtime, c.Agent); err != nil {
		return core.Agent{}, err
	}
	if _, err := t.changePolicy(core.PolicyChange{Runtime: c.Runtime, Agent: c.Agent, Kind: change, By: c.By, Name: c.Name}); err != nil {
		return core.Agent{}, err
	}
	if _, err := t.Exec(sqlSetPaused, int64(at), by, name, c.Runtime, c.Agent); err != nil {
		return core.Agent{}, err
	}
	return readAgent(t, c.Runtime, c.Agent)
}

// endedAgent is what a reset made of an agent and of what it had open.
type endedAgent struct {
	agent core.Agent
	hints []core.Hint
}

// ResetAgent implements core.AgentLives.
func (s *Store) ResetAgent(ctx context.Context, c core.EndAgent) (core.Agent, []core.Hint, error) {
	return s.endAgent(ctx, c, core.ChangeReset, nil)
}

// DeleteAgent implements core.AgentLives.
func (s *Store) DeleteAgent(ctx context.Context, c core.EndAgent) (core.Agent, []core.Hint, error) {
	return s.endAgent(ctx, c, core.ChangeDeleted, (*tx).forgetAgent)
}

func (s *Store) endAgent(ctx context.Context, c core.EndAgent, kind core.ChangeKind, also func(*tx, core.EndAgent) error) (core.Agent, []core.Hint, error) {
	done, err := write(ctx, s, Foreground, func(t *tx) (endedAgent, error) {
		hints, err := t.endLife(c, kind)
		if err == nil && also != nil {
			err = also(t, c)
		}
		if err != nil {
			return endedAgent{}, err
		}
		a, err := readAgent(t, c.Runtime, c.Agent)
		return endedAgent{a, hints}, err
	})
	if err != nil {
		return core.Agent{}, nil, fmt.Errorf("end life of agent: %w", err)
	}
	return done.agent, done.hints, nil
}

// endLife takes back all that the agent has open, and ends the runs that it belongs to:
// what one of them still asks is refused. Locks come in the one order, policy, runs,
// person, rows; a run that begins meanwhile belongs to the next life.
func (t *tx) endLife(c core.EndAgent, kind core.ChangeKind) ([]core.Hint, error) {
	if c.Runtime == "" || c.By == "" {
		return nil, core.Invalid("agent", "must have a runtime, and end by a person")
	}
	if err := t.holdPolicy(Update, c.Runtime, c.Agent); err != nil {
		return nil, err
	}
	runs, err := t.openRuns(c)
	if err != nil {
		return nil, err
	}
	if err := t.guard(c.Guard); err != nil {
		return nil, err
	}
	for _, run := range runs {
		if _, err := t.Exec(sqlAbortRun, int64(t.now), c.Runtime, run); err != nil {
			return nil, err
		}
	}
	hints, err := t.takeBack(c, runs)
	if err != nil {
		return nil, err
	}
	if _, err := t.changePolicy(core.PolicyChange{Runtime: c.Runtime, Agent: c.Agent, Kind: kind, By: c.By, Name: c.Name}); err != nil {
		return nil, err
	}
	_, err = t.Exec(sqlSetReset, int64(t.now), c.Runtime, c.Agent)
	return hints, err
}

// openRuns locks the runs in which something of the agent is open.
func (t *tx) openRuns(c core.EndAgent) (runs []string, err error) {
	err = t.Each(sqlAgentRuns, []any{c.Runtime, c.Agent}, func(scan Row) error {
		var run string
		err := scan(&run)
		runs = append(runs, run)
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, run := range runs {
		if err := t.hold(t.rows.run[Update], c.Runtime, run); err != nil {
			return nil, err
		}
	}
	return runs, nil
}

// takeBack cancels and voids what the agent and its runs have open.
func (t *tx) takeBack(c core.EndAgent, runs []string) ([]core.Hint, error) {
	names, err := textsJSON(runs)
	if err != nil {
		return nil, err
	}
	if err := t.hold(t.rows.holdAgent, c.Runtime, c.Agent, names); err != nil {
		return nil, err
	}
	reads := []Statement{
		{t.rows.agentPending, []any{c.Runtime, c.Agent}}, {t.rows.agentUnclaimed, []any{c.Runtime, c.Agent}},
	}
	for _, run := range runs {
		reads = append(reads, Statement{t.rows.runPending, []any{c.Runtime, run}}, Statement{t.rows.runUnclaimed, []any{c.Runtime, run}})
	}
	var hints []core.Hint
	for _, read := range reads {
		rows, damaged, err := t.rowsOf(read.Query, read.Args...)
		if err != nil {
			return nil, err
		}
		buried, err := t.buryAll(damaged)
		if err != nil {
			return nil, err
		}
		hints = append(hints, buried...)
		for i := range rows {
			if err := t.endedBy(&rows[i], &c); err != nil {
				return nil, err
			}
			hints = append(hints, hintOf(&rows[i]))
		}
	}
	return hints, nil
}

// endedBy takes one row back in the name of the person who ended the agent's life.
func (t *tx) endedBy(a *core.Approval, c *core.EndAgent) error {
	switch {
	case a.Status == core.StatusPending && a.Due(t.now): // Reached deadlines come first.
		return t.expire(a)
	case a.Status == core.StatusPending:
		return t.end(a, core.Terminal{
			Status: core.StatusCancelled, Reason: core.ReasonRunAborted,
			ResolverKind: core.ResolverHuman, ResolverID: c.By, ResolverName: c.Name, Surface: c.Surface,
		}, "")
	case a.Execution == core.ExecutionUnclaimed:
		return t.void(a, core.VoidRunAborted)
	}
	return nil
}

// forgetAgent takes away what was set for an agent whose life has ended.
func (t *tx) forgetAgent(c core.EndAgent) error {
	if _, err := t.Exec(sqlRemoveRules, int64(t.now), c.By, c.Name, c.Runtime, c.Agent); err != nil {
		return err
	}
	_, err := t.Exec(sqlForgetAgent, int64(t.now), c.Runtime, c.Agent)
	return err
}

// livedBefore reports whether a row was cancelled when its agent's life ended, and that
// life is over: its idempotency key is free for the next (R143).
func (t *tx) livedBefore(a *core.Approval) (bool, error) {
	if a.Status != core.StatusCancelled || a.Reason != core.ReasonRunAborted {
		return false, nil
	}
	is, err := readAgent(t, a.Runtime, a.Agent)
	return err == nil && is.ResetAt != 0 && is.ResetAt >= a.ResolvedAt, err
}
