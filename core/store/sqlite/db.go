package sqlite

import (
	"context"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/store/internal/record"
)

// dialect is what SQLite calls by other names. Its writer is alone: rows need no
// locks.
func dialect() record.Dialect {
	return record.Dialect{
		Greatest: "max", Least: "min",
		PairsIn: `(SELECT j.value ->> 0, j.value ->> 1 FROM json_each(%s) j)`,
		TextsIn: `(SELECT value FROM json_each(%s))`,
		Lists:   `json_valid(a.reviewers) AND EXISTS (SELECT 1 FROM json_each(a.reviewers) j WHERE j.value = ?)`,
		// Left to itself the planner walks through history.
		PendingFrom: "approvals a INDEXED BY approvals_pending_list", LiveFrom: "deliveries d INDEXED BY deliveries_live",
		// Without the FAIL it copies every page that it touches before it touches it.
		UpdateRows: "UPDATE OR FAIL",
		InsertEvent: `INSERT INTO events (approval_id, revision, type, runtime, previous, caused_by, created_at, payload)
			VALUES (?1, ?2, ?3, ?4, COALESCE((SELECT max(seq) FROM events WHERE approval_id = ?1), 0), ?5, ?6, ?7)`,
	}
}

// db is the store as package record wants it.
type db struct{ *Store }

// Now implements record.DB.
func (d db) Now(ctx context.Context) (core.Millis, error) {
	if err := ctx.Err(); err != nil {
		return 0, translate(err)
	}
	return d.clock.now(), nil
}

// Read implements record.DB.
func (d db) Read(ctx context.Context) record.Reader { return d.read(ctx) }

// Write implements record.DB.
func (d db) Write(ctx context.Context, u record.Urgency, rows int, fn func(record.Conn, core.Millis) error, committed func()) error {
	_, err := writeRows(ctx, d.Store, u, rows, func(t *tx) (struct{}, error) { return struct{}{}, fn(t, t.now) }, committed)
	return err
}
