package record

import (
	"slices"
	"strings"
	"sync"

	"github.com/saysohq/sayso/core"
)

// Locking ends a read of rows that a write is about to change or to rely on.
const (
	forUpdate  = " FOR UPDATE"
	forShare   = " FOR SHARE"
	skipLocked = " FOR UPDATE OF a SKIP LOCKED"
)

// Table is the knowledge of the statements in the words of one database, built
// once per store.
type Table struct {
	Dialect
	all    []column
	names  string // All columns of approvals, qualified with "a.".
	insert string
	fixed  int    // How many of all stand first and never change.
	moving string // The names of the rest, qualified with "a.".

	buffers sync.Pool // Of *rowBuffer.

	// The ways in which a row moves: its end, its end if the action is as seen, the same
	// if the person is too, and what becomes of its grant.
	end, endSeen, endBy, grant change

	// Reads of whole approvals; see the conditions in statements.go. Those that a
	// write changes are locked.
	byID, byRef, byKey, byIDs  string
	lockByID                   string
	due, lapsed, silent        string
	runPending, runUnclaimed   string
	bootPending, bootUnclaimed string

	agentPending, agentUnclaimed, holdAgent string

	// Reads of one row that a write relies on or changes, by the strength of its lock.
	card, person             [2]string
	run, code, failures, job [2]string
	delivery                 string

	lease, putAside                   string
	dueWork                           map[core.DeliveryLane]dueStatements
	block, breakRoute, markForgotten  string
	markDue, awaitAnswer              string
	identitiesOf, revisions, takeOver string
}

func newTable(d Dialect) *Table {
	stamps, outcome, grant := stampColumns(), outcomeColumns(), grantColumns()
	t := &Table{Dialect: d, all: slices.Concat(fixedColumns(), stamps, outcome, grant)}
	t.buffers.New = func() any { return newRowBuffer(t.all) }
	names, qualified := make([]string, len(t.all)), make([]string, len(t.all))
	for i, c := range t.all {
		names[i], qualified[i] = c.name, "a."+c.name
	}
	t.names = strings.Join(qualified, ", ")
	t.insert = "INSERT INTO approvals (" + strings.Join(names, ", ") + ") VALUES (?" + strings.Repeat(", ?", len(names)-1) + ")"
	// The three groups stand behind each other in t.all.
	t.fixed = len(t.all) - len(grant) - len(outcome) - len(stamps)
	t.moving = strings.Join(qualified[t.fixed:], ", ")
	ends := len(t.all) - len(grant)
	t.end = newChange(t.all, span(t.fixed, ends+2))
	t.grant = newChange(t.all, append(span(t.fixed, t.fixed+len(stamps)), span(ends, len(t.all))...))
	t.endSeen = change{columns: t.end.columns, query: t.end.query + whereSeen}
	t.endBy = change{columns: t.end.columns, query: t.endSeen.query + whereSeenBy}
	t.byID, t.byRef, t.byKey = t.selectWhere(whereID), t.selectWhere(whereRef), t.selectWhere(whereKey)
	t.byIDs = t.selectWhere("a.id IN " + strings.ReplaceAll(t.TextsIn, "%s", "?"))
	t.lockByID = t.locking(t.byID, forUpdate)
	t.due, t.lapsed = t.locking(t.selectWhere(whereDue), skipLocked), t.locking(t.selectWhere(whereLapsed), skipLocked)
	t.silent = t.locking(t.selectWhere(whereSilent), skipLocked)
	t.runPending, t.runUnclaimed = t.selectWhere(whereRunPending), t.selectWhere(whereRunUnclaimed)
	t.bootPending, t.bootUnclaimed = t.selectWhere(whereBootPending), t.selectWhere(whereBootUnclaimed)
	t.agentPending, t.agentUnclaimed = t.selectWhere(whereAgentPending), t.selectWhere(whereAgentUnclaimed)
	t.holdAgent = strings.ReplaceAll(sqlHoldAgent, "%s", strings.ReplaceAll(t.TextsIn, "%s", "?3"))
	t.card, t.person = t.strengths(sqlCardOf), t.strengths(sqlReadPrincipal)
	t.run, t.code, t.failures, t.job = t.strengths(sqlReadRun), t.strengths(sqlReadCode), t.strengths(sqlCodeFailures), t.strengths(sqlReadJob)
	t.delivery = t.locking(sqlDelivery, forUpdate)
	t.build()
	return t
}

// change is a guarded write of some columns of one row. Columns that stay as they are
// are left out: each costs a parameter, and the checks that name it.
type change struct {
	columns []int // In the order of Table.all.
	query   string
}

// newChange builds a change. Its condition is the last of its parameters.
func newChange(all []column, columns []int) change {
	sets := make([]string, len(columns))
	for i, c := range columns {
		sets[i] = all[c].name + " = ?"
	}
	return change{columns, "UPDATE approvals SET " + strings.Join(sets, ", ") + " WHERE id = ? AND revision = ?"}
}

// args are the arguments of a change; guard has those of its further conditions.
func (c change) args(b *rowBuffer, id string, revision int64, guard []any) []any {
	args := make([]any, 0, len(c.columns)+2+len(guard))
	for _, i := range c.columns {
		args = append(args, b.at[i])
	}
	return append(append(args, id, revision), guard...)
}

// span lists the numbers from first up to and without end.
func span(first, end int) []int {
	all := make([]int, 0, end-first)
	for i := first; i < end; i++ {
		all = append(all, i)
	}
	return all
}

// selectWhere builds a read of whole rows.
func (t *Table) selectWhere(where string) string {
	return "SELECT " + t.names + " FROM approvals a WHERE " + where
}

// locking adds a lock to a read where rows are locked at all.
func (t *Table) locking(query, lock string) string {
	if !t.Locks {
		return query
	}
	return query + lock
}

// strengths are the two locked forms of a read, indexed by Strength.
func (t *Table) strengths(query string) [2]string {
	return [2]string{Share: t.locking(query, forShare), Update: t.locking(query, forUpdate)}
}

// build puts together what cannot stand as a constant.
func (t *Table) build() {
	t.dueWork = t.dueOf()
	t.lease, t.putAside = t.leaseStatement(), t.putAsideStatement()
	t.block = `INSERT INTO blocks (channel, account, address, blocked_until) VALUES (?, ?, ?, ?)
		ON CONFLICT (channel, account, address) DO UPDATE SET
			blocked_until = ` + t.Greatest + `(blocks.blocked_until, excluded.blocked_until)`
	t.breakRoute = `INSERT INTO broken_routes (channel, account, destination, person_id, class, failures, broken_at, retry_at)
		VALUES (?1, ?2, ?3, ?4, ?5, 1, ?6, CAST(?6 AS bigint) + CAST(?7 AS bigint))
		ON CONFLICT (channel, account, destination) DO UPDATE SET class = excluded.class, failures = broken_routes.failures + 1,
			retry_at = CAST(?6 AS bigint) + ` + t.Least + `(CAST(?7 AS bigint) << CAST(` + t.Least + `(broken_routes.failures, 20) AS integer), CAST(?8 AS bigint))
		WHERE broken_routes.retry_at <= ?6`
	pick, picked := t.picking(strings.Replace(sqlForgotten, "%s", t.LiveFrom, 1))
	t.markForgotten = pick + t.UpdateRows + ` deliveries SET updated_at = ?1, stale_since = CASE WHEN stale_since = 0 THEN ?1 ELSE stale_since END,
			due_at = ` + t.Greatest + `(CAST(?1 AS bigint), answer_until, CASE WHEN unsettled THEN settle_at ELSE 0 END)
		WHERE id IN (` + picked + `)
		RETURNING approval_id`
	t.markDue = t.UpdateRows + ` deliveries SET updated_at = ?1, stale_since = CASE WHEN stale_since = 0 THEN ?1 ELSE stale_since END,
			due_at = ` + t.DueFrom("CAST(?1 AS bigint)", "CAST(?3 AS bigint)") + `
		WHERE approval_id = ?2 AND state <> 'closed'`
	t.awaitAnswer = `UPDATE deliveries SET answer_until = ?1, due_at = ?1,
			settle_at = CASE WHEN lease_holder = '' THEN settle_at ELSE ` + t.Greatest + `(settle_at, CAST(?1 AS bigint)) END,
			unsettled = (unsettled OR lease_holder <> '')
		WHERE id = ?2 AND approval_id = ?3 AND state <> 'closed'`
	t.identitiesOf = "SELECT " + sqlIdentityColumns + " FROM identities WHERE principal_id IN " +
		strings.ReplaceAll(t.TextsIn, "%s", "?") + " ORDER BY principal_id, realm, external_id"
	t.takeOver = t.takeOverStatement()
	t.revisions = "SELECT id, revision FROM approvals WHERE id IN " + strings.ReplaceAll(t.TextsIn, "%s", "?")
}

// picking is how a statement finds the deliveries that it is about: a limited number of
// them, passing over those that somebody else is at. Where rows are locked they are
// picked once and for all, before it: a plan is free to run a subquery again and again,
// which would find others each time.
func (t *Table) picking(query string) (before, picked string) {
	if !t.Locks {
		return "", query
	}
	return "WITH picked AS MATERIALIZED (" + query + claimLock + ") ", "SELECT id FROM picked"
}

// DueFrom is the rule of core.Delivery.DueFrom as an expression over a row of
// deliveries, for a card that has just become a new terminal one at a time; after is
// core.TellAfter.
func (t *Table) DueFrom(at, after string) string {
	return t.Greatest + "(" + at + ", answer_until, CASE WHEN step = 'followup' OR edit_after - " + t.Greatest + "(" + at +
		", answer_until) > " + after + " THEN 0 ELSE edit_after END)"
}
