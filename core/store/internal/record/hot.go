package record

import (
	"maps"

	"github.com/saysohq/sayso/core"
)

// Statement is a statement with arguments of the right types.
type Statement struct {
	Query string
	Args  []any
}

// Hot lists the statements that run for every question and answer, or by the
// clock, under names of their own. Each store's tests hold the plans of all of
// them: none may read a table that grows with retention from end to end.
func (t *Table) Hot() map[string]Statement {
	const limit = 50
	list := func(q core.ListQuery) Statement {
		q.Limit = limit
		return t.List(q, 1)
	}
	one := func(query string, args ...any) Statement { return Statement{query, args} }
	reviewer := &core.Principal{ID: "bob", Role: core.RoleReviewer}
	now := int64(1)
	hot := map[string]Statement{
		"by id":           one(t.byID, "x"),
		"by reference":    one(t.byRef, "x"),
		"by key":          one(t.byKey, "r", "k"),
		"due":             one(t.due, now, now, int64(0)),
		"anything due":    one(sqlAnyDue, now),
		"lapsed":          one(t.lapsed, now, now, int64(0)),
		"silent":          one(t.silent, now, now, int64(0)),
		"all pending":     one(sqlAllPending, now),
		"pending limit":   one(sqlCountPending, "r", now),
		"list pending":    list(core.ListQuery{Runtime: "builder", Status: core.StatusPending}),
		"inbox":           list(core.ListQuery{Status: core.StatusPending, Viewer: reviewer}),
		"list history":    list(core.ListQuery{}),
		"list own":        list(core.ListQuery{Runtime: "builder"}),
		"list automatic":  list(core.ListQuery{Origin: core.OriginAuto}),
		"list for viewer": list(core.ListQuery{Viewer: reviewer}),
		"list run":        list(core.ListQuery{Runtime: "builder", Run: "run-1"}),
		"list by key":     list(core.ListQuery{Runtime: "builder", Run: "run-1", DecisionKey: "chat:1"}),
		"list waiting":    list(core.ListQuery{Runtime: "builder", Run: "run-1", Status: core.StatusPending}),
		"rows of a run":   one(sqlRunRows, "r", "x"),
		"abort":           one(t.runPending, "r", "x"),
		"prune":           one(sqlPrunable, now, now),
		"claim":           one(t.dueWork[core.LaneAny].claim, now, "[]", now),
		"claim edits":     one(t.dueWork[core.LaneEdits].claim, now, "[]", now),
		"claim cards":     one(t.dueWork[core.LaneCards].claim, now, "[]", now),
		"next due":        one(t.dueWork[core.LaneAny].next, "[]"),
		"next edit due":   one(t.dueWork[core.LaneEdits].next, "[]"),
		"next card due":   one(t.dueWork[core.LaneCards].next, "[]"),
		"lease":           one(t.lease, "w", now, now, now, "[]"),
		"mark due":        one(t.markDue, now, "x", int64(core.TellAfter)),
		"await answer":    one(t.awaitAnswer, now, "d", "x"),
		"decide":          one(t.endBy.query, t.endBy.args(newRowBuffer(t.all), "x", now, []any{"h", "f", "p", now})...),
		"click":           one(sqlDeliveryAt, "telegram", "b", "l"),
		"adopt":           one(sqlAdoptable, "x", "telegram", "b", "a", "l"),
		"event":           one(t.InsertEvent, "x", now, "t", "r", "", now, "{}"),
		"mend":            one(sqlMendRoute, "telegram", "b", "chat:x"),
		"hasten":          one(sqlHasten, now, now, "d", "x"),
		"unconverged":     one(sqlUnconverged),
		"forgotten":       one(t.markForgotten, now, now),
		"policy state":    one(sqlPolicyState, "r", "a", "i", now, "h"),
		"tables in force": one(sqlTablesInForce),
		"list agents":     one(sqlListAgents, int64(limit), "", "", now),
		"agent standing":  one(sqlAgentStanding, "r", "a"),
		"live rules":      one(sqlLiveRules, "r", "a"),
		"use rule":        one(sqlUseRule, "u", "r", "a", now),
		"any update":      one(sqlAnyUpdate, "r", "a", now, "t"),
		"held updates":    one(sqlHeld, "t", "r", "a"),
		"claim updates":   one(sqlClaimable, "r", "a", now, int64(limit)),
		"told updates":    one(t.byIDs, "[]"),
		"ack updates":     one(sqlAck, "t", "r", "a"),
		"ack changed":     one(sqlAckChanged, "t", "r", "a"),
		"any nudge":       one(sqlAnyNudge, now),
		"due nudges":      one(sqlDueNudges, now, now, int64(limit)),
		"history":         one(sqlPolicyChanges, "r", "a", now),
	}
	maps.Copy(hot, t.lookups())
	return hot
}

// lookups are those that a caller's sight restricts, and what their misses read.
func (t *Table) lookups() map[string]Statement {
	find := func(l core.Lookup) Statement {
		query, args, _ := t.lookup(l) // Each has one key.
		return Statement{query, args}
	}
	miss := func(l core.Lookup) Statement {
		query, args := t.lookalike(l)
		return Statement{query, args}
	}
	machine := core.Lookup{ID: "x", Runtime: "builder"}
	person := core.Lookup{Ref: "x", Viewer: &core.Principal{ID: "bob", Role: core.RoleReviewer}}
	return map[string]Statement{
		"own by id": find(machine), "seen by reference": find(person),
		"miss by id": miss(machine), "miss by reference": miss(person),
	}
}

// List is the statement of one page of a list at a time.
func (t *Table) List(q core.ListQuery, now core.Millis) Statement {
	query, args := listStatement(t, q, now)
	return Statement{query, args}
}
