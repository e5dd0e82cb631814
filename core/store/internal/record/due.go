package record

import (
	"strings"

	"github.com/saysohq/sayso/core"
)

// Conditions of due work: those of a row of its own, without its approval, so that a
// backlog is passed over at a page for each row at most, and without a search for what
// is true of all rows alike. ?1 is the time, ?2 the accounts as JSON pairs.
const (
	whereFree = `d.due_at IS NOT NULL AND d.due_at <= ?1 AND (d.lease_holder = '' OR d.lease_until <= ?1)`

	// A block of the address or of the whole account outranks everything.
	whereOpen = `(d.channel, d.account) NOT IN (SELECT b.channel, b.account FROM blocks b WHERE b.address = '' AND b.blocked_until > ?1)
		AND (d.channel, d.account, coalesce(d.address, '')) NOT IN (SELECT b.channel, b.account, b.address FROM blocks b WHERE b.blocked_until > ?1)`

	// When a row is due: it may be leased, and the way to its chat blocked.
	fromBlocks = `deliveries d
		LEFT JOIN blocks chat ON chat.channel = d.channel AND chat.account = d.account AND chat.address = coalesce(d.address, '')
		LEFT JOIN blocks bot ON bot.channel = d.channel AND bot.account = d.account AND bot.address = ''`
	dueFrom = `(d.due_at, CASE WHEN d.lease_holder = '' THEN 0 ELSE d.lease_until END,
		coalesce(chat.blocked_until, 0), coalesce(bot.blocked_until, 0))`

	// A row of a terminal approval shows less than the record, or may be painted over by
	// somebody who is late: whatever ends an approval says so in its rows. Of these, only
	// the doubtful can be those of a pending one: a view that was asked for, a message
	// that was adopted, a send that was taken over. For them the approval is asked.
	whereEdit     = `(d.stale_since <> 0 OR d.unsettled)`
	whereDoubtful = `(d.unsettled OR d.shown_view < d.view OR (d.state = 'open' AND d.shown_revision = 0))`
	whereWaits    = `EXISTS (SELECT 1 FROM approvals a WHERE a.id = d.approval_id AND a.status = 'pending')`

	edits = whereEdit + ` AND NOT (` + whereDoubtful + ` AND ` + whereWaits + `)`
	cards = `(NOT ` + whereEdit + ` OR (` + whereDoubtful + ` AND ` + whereWaits + `))`
)

// dueStatements are those about due work of a lane.
type dueStatements struct {
	// claim reads due rows with their approvals, terminal edits first.
	claim string
	// next is when the next row falls due. ?1 are the accounts.
	next string
}

// dueOf builds them for the lanes.
func (t *Table) dueOf() map[core.DeliveryLane]dueStatements {
	return map[core.DeliveryLane]dueStatements{
		core.LaneAny:   {t.claimStatement(edits, cards), t.nextStatement("")},
		core.LaneEdits: {t.claimStatement(edits), t.nextStatement(" AND " + edits)},
		core.LaneCards: {t.claimStatement(cards), t.nextStatement(" AND " + cards)},
	}
}

func (t *Table) served(accounts string) string {
	return ` AND (d.channel, d.account) IN ` + strings.ReplaceAll(t.PairsIn, "%s", accounts)
}

// claimStatement picks the first rows of each kind, twice as many as are wanted: another
// worker may be at some of them, and the claim waits for nobody. Only of these the
// approvals are read.
func (t *Table) claimStatement(kinds ...string) string {
	picks := make([]string, len(kinds))
	for i, kind := range kinds {
		picks[i] = "SELECT id FROM (SELECT d.id FROM deliveries d WHERE " + whereFree + t.served("?2") + " AND " + whereOpen +
			" AND " + kind + " ORDER BY d.due_at, d.id LIMIT 2 * CAST(?3 AS bigint)) first" + string(rune('a'+i))
	}
	return "WITH picked AS MATERIALIZED (" + strings.Join(picks, " UNION ALL ") + ") SELECT " + t.names + ", " + deliveryColumns +
		" FROM deliveries d JOIN approvals a ON a.id = d.approval_id WHERE d.id IN (SELECT id FROM picked) AND " + whereFree +
		t.locking(" ORDER BY a.status = 'pending', d.due_at, d.id LIMIT CAST(?3 AS bigint)", claimLock)
}

// nextStatement finds the first row that nothing delays, and looks at those before it,
// which something does.
func (t *Table) nextStatement(lane string) string {
	const never = "9223372036854775807"
	where := "d.due_at IS NOT NULL" + t.served("?1") + lane
	return "WITH ready AS MATERIALIZED (SELECT coalesce((SELECT d.due_at FROM " + fromBlocks + " WHERE " + where +
		" AND d.lease_holder = '' AND d.due_at >= coalesce(chat.blocked_until, 0) AND d.due_at >= coalesce(bot.blocked_until, 0)" +
		" ORDER BY d.due_at LIMIT 1), " + never + ") AS at)" +
		" SELECT coalesce(nullif(" + t.Least + "((SELECT at FROM ready), coalesce((SELECT min(" + t.Greatest + dueFrom + ") FROM " + fromBlocks +
		" WHERE " + where + " AND d.due_at < (SELECT at FROM ready)), " + never + ")), " + never + "), 0)"
}

// Due lists the two statements about due work of a lane at a time, with their arguments:
// the claim of so many rows, and when the next one falls due.
func (t *Table) Due(lane core.DeliveryLane, now core.Millis, accounts string, limit int) (claim, next Statement) {
	due := t.dueWork[lane]
	return Statement{due.claim, []any{int64(now), accounts, int64(limit)}}, Statement{due.next, []any{accounts}}
}
