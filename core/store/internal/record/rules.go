package record

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/saysohq/sayso/core"
)

const (
	sqlRuleColumns = `r.id, r.runtime, r.agent, r.tool, r.operation, r.scope, r.value, r.class, r.label, r.policy_digest,
		r.policy_generation, r.approval_id, r.created_by, r.created_name, r.created_at, r.expires_at, r.uses_allowed,
		r.uses, r.last_used_at, r.removed_at, r.removed_by, r.removed_name`
	sqlReadRule  = "SELECT " + sqlRuleColumns + " FROM rules r WHERE r.id = ?"
	sqlLiveRules = "SELECT " + sqlRuleColumns + " FROM rules r WHERE r.runtime = ? AND r.agent = ? AND r.removed_at = 0 ORDER BY r.id"
	sqlMakeRule  = `INSERT INTO rules (id, runtime, agent, tool, operation, scope, value, class, label, policy_digest,
			policy_generation, approval_id, created_by, created_name, created_at, expires_at, uses_allowed)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`
	sqlRemoveRule = `UPDATE rules SET removed_at = ?, removed_by = ?, removed_name = ? WHERE id = ? AND removed_at = 0`
	// The whole condition stands in the write: a rule is never used once too often.
	sqlUseRule = `UPDATE rules SET uses = uses + 1, last_used_at = ?4
		WHERE id = ?1 AND runtime = ?2 AND agent = ?3 AND removed_at = 0 AND (expires_at = 0 OR expires_at > ?4)
			AND (uses_allowed = 0 OR uses < uses_allowed)`
)

// ruleFields are the targets of sqlRuleColumns.
func ruleFields(r *core.Rule) []any {
	return []any{
		&r.ID, &r.Runtime, &r.Agent, &r.Tool, &r.Operation, &r.Scope, &r.Value, (*string)(&r.Class), &r.Label, &r.PolicyDigest,
		&r.PolicyGeneration, &r.ApprovalID, &r.CreatedBy, &r.CreatedName, (*int64)(&r.CreatedAt), (*int64)(&r.ExpiresAt), &r.UsesAllowed,
		&r.Uses, (*int64)(&r.LastUsedAt), (*int64)(&r.RemovedAt), &r.RemovedBy, &r.RemovedName,
	}
}

// ReadRule implements core.Rules.
func (s *Store) ReadRule(ctx context.Context, id string) (core.Rule, error) {
	var r core.Rule
	if err := s.read(ctx).One(sqlReadRule, []any{id}, ruleFields(&r)...); err != nil {
		return core.Rule{}, fmt.Errorf("read rule: %w", err)
	}
	return r, nil
}

// ListRules implements core.Rules.
func (s *Store) ListRules(ctx context.Context, q core.RuleQuery) ([]core.Rule, error) {
	if q.Limit < 0 || q.Limit > core.MaxPage {
		return nil, fmt.Errorf("list rules: %w", core.Invalid("limit", "must be between 1 and %d", core.MaxPage))
	}
	if q.Limit == 0 {
		q.Limit = core.MaxPage
	}
	now, err := s.db.Now(ctx)
	if err != nil {
		return nil, fmt.Errorf("list rules: %w", err)
	}
	owner, nothing := ownerOf(q.Viewer)
	if nothing {
		return nil, nil
	}
	query, args := rulesQuery(q, owner, now)
	var list []core.Rule
	err = s.read(ctx).Each(query, args, func(scan Row) error {
		var r core.Rule
		err := scan(ruleFields(&r)...)
		list = append(list, r)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list rules: %w", err)
	}
	return list, nil
}

func rulesQuery(q core.RuleQuery, owner string, now core.Millis) (query string, args []any) {
	where := []string{"TRUE"}
	add := func(condition string, values ...any) {
		where, args = append(where, condition), append(args, values...)
	}
	if q.Runtime != "" {
		add("r.runtime = ?", q.Runtime)
	}
	if q.Agent != nil {
		add("r.agent = ?", *q.Agent)
	}
	if q.Live {
		add("r.removed_at = 0 AND (r.expires_at = 0 OR r.expires_at > ?) AND (r.uses_allowed = 0 OR r.uses < r.uses_allowed)", int64(now))
	}
	if q.ApprovalID != "" {
		add("r.approval_id <> '' AND r.approval_id = ?", q.ApprovalID)
	}
	if owner != "" {
		add(whereOwnsRule, owner)
	}
	if q.Before != nil {
		add("(r.created_at, r.id) < (?, ?)", int64(q.Before.CreatedAt), q.Before.ID)
	}
	query = "SELECT " + sqlRuleColumns + " FROM rules r WHERE " + strings.Join(where, " AND ") + " ORDER BY r.created_at DESC, r.id DESC LIMIT ?"
	return query, append(args, int64(q.Limit))
}

// LiveRules implements core.Rules. The generation is read first: the rules are those
// of that generation or of a later one, never of an earlier one.
func (s *Store) LiveRules(ctx context.Context, runtime, agent string) ([]core.Rule, int64, error) {
	is, err := readAgent(s.read(ctx), runtime, agent)
	if err != nil {
		return nil, 0, fmt.Errorf("read live rules: %w", err)
	}
	var list []core.Rule
	now, err := s.read(ctx).Dated(sqlLiveRules, []any{runtime, agent}, func(scan Row) error {
		var r core.Rule
		err := scan(ruleFields(&r)...)
		list = append(list, r)
		return err
	})
	if err != nil {
		return nil, 0, fmt.Errorf("read live rules: %w", err)
	}
	return slices.DeleteFunc(list, func(r core.Rule) bool { return !r.Live(now) }), is.Generation, nil
}

// SwitchMoney implements core.Rules.
func (s *Store) SwitchMoney(ctx context.Context, c core.NewRule, g core.Guard) (core.Rule, error) {
	made, err := write(ctx, s, Foreground, func(t *tx) (core.Rule, error) {
		if c.Rule.ApprovalID != "" { // A card's rule is made by its decision alone.
			return core.Rule{}, core.Invalid("rule", "must not name a card")
		}
		if _, err := Fresh(&c); err != nil {
			return core.Rule{}, err
		}
		if err := t.holdPolicy(Update, c.Rule.Runtime, c.Rule.Agent); err != nil {
			return core.Rule{}, err
		}
		if err := t.guard(g); err != nil {
			return core.Rule{}, err
		}
		if on, err := t.switched(&c.Rule); err != nil {
			return on, err
		}
		return t.makeRule(&c)
	})
	if err != nil {
		return made, fmt.Errorf("switch money: %w", err)
	}
	return made, nil
}

// switched finds a switch of the same tool that is on: there is one to switch off, and
// not several of which the others go on. Errors: core.ErrConflict, with that switch.
func (t *tx) switched(c *core.Rule) (core.Rule, error) {
	var on core.Rule
	err := t.Each(sqlLiveRules, []any{c.Runtime, c.Agent}, func(scan Row) error {
		var r core.Rule
		err := scan(ruleFields(&r)...)
		if r.Class == core.ClassMoney && r.Tool == c.Tool && r.Live(t.now) {
			on = r
		}
		return err
	})
	if err == nil && on.ID != "" {
		err = core.ErrConflict
	}
	return on, err
}

// Fresh is a rule as it is before it is stored. Errors: core.ErrInvalid.
func Fresh(c *core.NewRule) (core.Rule, error) {
	r := c.Rule
	r.Uses, r.LastUsedAt, r.RemovedAt, r.RemovedBy, r.RemovedName = 0, 0, 0, "", ""
	if c.Life < 0 {
		return r, core.Invalid("rule", "must not expire before it is made")
	}
	return r, r.Check()
}

// makeRule writes a rule under the lock of its agent's policy.
func (t *tx) makeRule(c *core.NewRule) (core.Rule, error) {
	r, err := Fresh(c)
	if err != nil {
		return core.Rule{}, err
	}
	if r.CreatedAt, r.ExpiresAt = t.now, 0; c.Life > 0 {
		r.ExpiresAt = t.now + c.Life
	}
	r.PolicyGeneration, err = t.changePolicy(core.PolicyChange{
		Runtime: r.Runtime, Agent: r.Agent, Kind: core.ChangeRuleMade, RuleID: r.ID, By: r.CreatedBy, Name: r.CreatedName,
	})
	if err != nil {
		return core.Rule{}, err
	}
	n, err := t.Exec(sqlMakeRule, r.ID, r.Runtime, r.Agent, r.Tool, r.Operation, r.Scope, r.Value, string(r.Class), r.Label,
		r.PolicyDigest, r.PolicyGeneration, r.ApprovalID, r.CreatedBy, r.CreatedName, int64(r.CreatedAt), int64(r.ExpiresAt), r.UsesAllowed)
	if err == nil && n == 0 {
		err = core.ErrIDTaken
	}
	return r, err
}

// RuleFits refuses a rule that is not what this decision makes of this row. Errors:
// core.ErrInvalid.
func RuleFits(d *core.Decide, a *core.Approval) error {
	if d.Rule == nil {
		return nil
	}
	if d.To.Decision != core.DecisionAllowAlways || !d.Rule.Rule.MadeFrom(a) {
		return core.Invalid("rule", "must be what the card offered")
	}
	_, err := Fresh(d.Rule)
	return err
}

// RemoveRule implements core.Rules. Whose rule it is never changes, so that it can be
// read before its agent's policy is locked.
func (s *Store) RemoveRule(ctx context.Context, c core.RemoveRule) (core.Rule, error) {
	removed, err := write(ctx, s, Foreground, func(t *tx) (core.Rule, error) {
		var r core.Rule
		if err := t.One(sqlReadRule, []any{c.ID}, ruleFields(&r)...); err != nil {
			return core.Rule{}, err
		}
		if err := t.holdPolicy(Update, r.Runtime, r.Agent); err != nil {
			return core.Rule{}, err
		}
		if err := t.guard(c.Guard); err != nil {
			return core.Rule{}, err
		}
		if err := t.One(sqlReadRule, []any{c.ID}, ruleFields(&r)...); err != nil || r.RemovedAt != 0 {
			return r, err
		}
		r.RemovedAt, r.RemovedBy, r.RemovedName = t.now, c.By, c.Name
		if _, err := t.Exec(sqlRemoveRule, int64(t.now), c.By, c.Name, c.ID); err != nil {
			return core.Rule{}, err
		}
		_, err := t.changePolicy(core.PolicyChange{
			Runtime: r.Runtime, Agent: r.Agent, Kind: core.ChangeRuleRemoved, RuleID: r.ID, By: c.By, Name: c.Name,
		})
		return r, err
	})
	if err != nil {
		return core.Rule{}, fmt.Errorf("remove rule: %w", err)
	}
	return removed, nil
}

// ruleStrength is how the policy is locked by an insert under a rule. Only one that
// counts down can change the policy. How many uses a rule allows never changes.
func (t *tx) ruleStrength(g *core.PolicyGuard) (Strength, error) {
	if g.RuleID == "" || !t.rows.Locks {
		return Share, nil
	}
	var r core.Rule
	err := t.One(sqlReadRule, []any{g.RuleID}, ruleFields(&r)...)
	if err != nil && !errors.Is(err, core.ErrNotFound) || r.UsesAllowed == 0 {
		return Share, ignoreNotFound(err)
	}
	return Update, nil
}

func ignoreNotFound(err error) error {
	if errors.Is(err, core.ErrNotFound) {
		return nil
	}
	return err
}

// relies checks inside the insert what the evaluation relied on, and counts the use of
// its rule. The last use changes the policy: nobody looks at the rule again. Errors:
// core.ErrPolicyChanged.
func (t *tx) relies(g *core.PolicyGuard, a *core.Approval) error {
	is, err := readAgent(t, a.Runtime, a.Agent)
	if err != nil {
		return err
	}
	if is.Generation != g.Generation {
		return core.ErrPolicyChanged
	}
	if a.Reason == core.ReasonStickyDecline {
		if err := t.stillDeclined(a); err != nil {
			return err
		}
	}
	if g.RuleID == "" {
		return nil
	}
	n, err := t.Exec(sqlUseRule, g.RuleID, a.Runtime, a.Agent, int64(t.now))
	if err != nil {
		return err
	}
	if n == 0 {
		return core.ErrPolicyChanged
	}
	var r core.Rule
	if err := t.One(sqlReadRule, []any{g.RuleID}, ruleFields(&r)...); err != nil || r.UsesAllowed == 0 || r.Uses < r.UsesAllowed {
		return err
	}
	_, err = t.changePolicy(core.PolicyChange{Runtime: a.Runtime, Agent: a.Agent, Kind: core.ChangeRuleSpent, RuleID: r.ID})
	return err
}

// guarded checks that a request and its guard tell one story. Errors: core.ErrInvalid.
func guarded(c *core.NewApproval) error {
	id, byRule := strings.CutPrefix(c.Approval.PolicyID, core.RulePolicy)
	counted := c.Policy != nil && c.Policy.RuleID != ""
	switch {
	case byRule != counted, counted && c.Policy.RuleID != id:
		return core.Invalid("policy_id", "must name the rule that is used")
	case c.Policy != nil && c.Policy.Generation != c.Approval.PolicyGeneration:
		return core.Invalid("policy_generation", "must be the one that the insert is guarded by")
	}
	return nil
}

// inForce reports whether what allowed an automatic grant still does: its rule, or its
// agent's mode. A rule that is used up covers the grants that used it.
func (t *tx) inForce(a *core.Approval, modeSince int64) (bool, error) {
	if a.Origin != core.OriginAuto {
		return true, nil
	}
	id, byRule := strings.CutPrefix(a.PolicyID, core.RulePolicy)
	if !byRule {
		return a.PolicyGeneration >= modeSince, nil
	}
	var r core.Rule
	err := t.One(sqlReadRule, []any{id}, ruleFields(&r)...)
	if err != nil {
		return false, ignoreNotFound(err)
	}
	return r.RemovedAt == 0 && (r.ExpiresAt == 0 || !r.ExpiresAt.Reached(t.now)), nil
}
