package postgres

import (
	"github.com/jackc/pgx/v5"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/store/internal/record"
)

const (
	sqlSharePolicy = `SELECT pg_advisory_xact_lock_shared(hashtextextended($1, 0))::text`
	sqlHoldPolicy  = `SELECT pg_advisory_xact_lock(hashtextextended($1, 0))::text`

	// sqlCountUse counts the use of a rule by the row that this transaction has just
	// inserted. Rules that count down do not come here.
	sqlCountUse = `UPDATE rules r SET uses = r.uses + 1, last_used_at = greatest(r.last_used_at, a.created_at)
		FROM approvals a WHERE ` + byUs + ` AND r.id = $2`

	// sqlMakeRule makes the rule of a decision that this transaction has just recorded,
	// and nothing where another won. The policy's lock is held since before the person's.
	sqlMakeRule = `WITH a AS MATERIALIZED (SELECT a.id, a.runtime, a.agent, a.updated_at FROM approvals a
			WHERE ` + byUs + ` AND a.status = 'allowed' AND a.decision = 'allow-always'),
		g AS (INSERT INTO agents AS g (runtime, name, generation, updated_at) SELECT a.runtime, a.agent, 1, a.updated_at FROM a
			ON CONFLICT (runtime, name) DO UPDATE SET generation = g.generation + 1, updated_at = excluded.updated_at,
				deleted_at = 0
			RETURNING generation),
		c AS (INSERT INTO policy_changes (runtime, agent, generation, kind, rule_id, by_id, by_name, created_at)
			SELECT a.runtime, a.agent, g.generation, 'rule-made', $2::text, $10::text, $11::text, a.updated_at FROM a, g),
		e AS (INSERT INTO events (approval_id, revision, type, runtime, caused_by, created_at, payload)
			SELECT 'agent/' || a.runtime || '/' || a.agent, g.generation, 'settings.changed', a.runtime, '', a.updated_at,
				json_build_object('runtime', a.runtime, 'agent', a.agent, 'generation', g.generation, 'kind', 'rule-made', 'rule_id', $2::text)
			FROM a, g)
		INSERT INTO rules (id, runtime, agent, tool, operation, scope, value, class, label, policy_digest, policy_generation,
			approval_id, created_by, created_name, created_at, expires_at, uses_allowed)
		SELECT $2::text, a.runtime, a.agent, $3::text, $4::text, $5::text, $6::text, $7::text, $8::text, $9::text, g.generation,
			a.id, $10::text, $11::text, a.updated_at, CASE WHEN $12::bigint > 0 THEN a.updated_at + $12::bigint ELSE 0 END, $13::bigint
		FROM a, g`
)

// reliesOn is the condition of an insert that the rules and the mode are those which
// were evaluated, and that the rule which allowed it covers it now: generation below 0
// and the rule ” stand for none. A rule that counts down takes the long way, because
// its last use changes the policy.
func reliesOn(runtime, agent, generation, rule string) string {
	return "(" + generation + " < 0 OR " + generation + " = coalesce((SELECT g.generation FROM agents g WHERE g.runtime = " + runtime +
		" AND g.name = " + agent + "), 0)) AND (" + rule + " = '' OR EXISTS (SELECT 1 FROM rules r WHERE r.id = " + rule +
		" AND r.runtime = " + runtime + " AND r.agent = " + agent +
		" AND r.removed_at = 0 AND r.uses_allowed = 0 AND (r.expires_at = 0 OR r.expires_at > c.now)))"
}

// reliedOn are the parameters of reliesOn.
func reliedOn(g *core.PolicyGuard) (generation int64, rule string) {
	if g == nil {
		return -1, ""
	}
	return g.Generation, g.RuleID
}

// queueRule adds what allow-always makes to the batch of its decision.
func queueRule(b *pgx.Batch, d *core.Decide) {
	if d.Rule == nil {
		return
	}
	r := &d.Rule.Rule
	b.Queue(sqlMakeRule, d.ID, r.ID, r.Tool, r.Operation, r.Scope, r.Value, string(r.Class), r.Label, r.PolicyDigest,
		r.CreatedBy, r.CreatedName, int64(d.Rule.Life), r.UsesAllowed)
}

// queuePolicy locks the policy that a decision is going to change.
func queuePolicy(b *pgx.Batch, d *core.Decide) {
	if d.Rule != nil {
		b.Queue(sqlHoldPolicy, record.PolicyName(d.Rule.Rule.Runtime, d.Rule.Rule.Agent))
	}
}
