package postgres

import "github.com/saysohq/sayso/core"

// A runtime has at most so many open questions, although others are being written at
// the same moment, by any replica. Counting alone would not do: what is not committed
// is not counted.
//
// Whoever asks shares a lock of the runtime until the commit. At most as many others
// can be at it as the server has connections; as long as they all would fit as well,
// counting what is committed is enough, and nobody waits for anybody. Closer to the
// limit the lock is taken alone: then nothing is under way, and the count is exact.
// Runtimes never wait for each other.

// withinLimit is the condition for one more open question of a runtime. A limit of 0
// is none.
func withinLimit(runtime, limit, alone string) string {
	return "(" + limit + " <= 0 OR (SELECT count(*) FROM approvals o WHERE o.status = 'pending' AND o.runtime = " + runtime +
		" AND o.expires_at > c.now) + CASE WHEN " + alone + " THEN 0 ELSE current_setting('max_connections')::bigint END < " + limit + ")"
}

// holdPending takes the lock of a runtime's open questions, alone or with others.
func holdPending(alone bool) string {
	if alone {
		return `SELECT pg_advisory_xact_lock(hashtextextended($1, 0))::text`
	}
	return `SELECT pg_advisory_xact_lock_shared(hashtextextended($1, 0))::text`
}

// ways are the ways in which a request may be written, the cheapest first: with others,
// then alone.
func (s *Store) ways(limit int) []bool {
	switch {
	case limit == 0:
		return []bool{false}
	case int64(limit) <= s.connections: // There is never room for all.
		return []bool{true}
	}
	return []bool{false, true}
}

// limitOf is the limit that a request counts for; 0 for none.
func limitOf(c *core.NewApproval) int {
	if c.Approval.Status != core.StatusPending {
		return 0
	}
	return max(c.MaxPending, 0)
}
