package postgres

import "github.com/saysohq/sayso/core/store/internal/record"

// clockSQL is the server's clock in milliseconds: what it reads when the expression
// is evaluated, not when its transaction began.
const clockSQL = `(extract(epoch FROM clock_timestamp()) * 1000)::bigint`

// sqlDurable makes the commit of this transaction reach the disk before it is
// answered, whatever the session before it on this server connection had set.
const sqlDurable = `SELECT CASE WHEN current_setting('synchronous_commit') IN ('on', 'remote_apply') THEN ''
	ELSE set_config('synchronous_commit', 'on', true) END`

// dialect is what PostgreSQL calls by other names. Writes run side by side.
func dialect() record.Dialect {
	return record.Dialect{
		Locks: true, Greatest: "greatest", Least: "least",
		PairsIn:     `(SELECT j ->> 0, j ->> 1 FROM json_array_elements(CAST(%s AS json)) j)`,
		TextsIn:     `(SELECT json_array_elements_text(CAST(%s AS json)))`,
		Lists:       `a.reviewers::jsonb @> to_jsonb(CAST(? AS text))`,
		PendingFrom: "approvals a", LiveFrom: "deliveries d", UpdateRows: "UPDATE",
		InsertEvent: `INSERT INTO events (approval_id, revision, type, runtime, caused_by, created_at, payload)
			VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)`,
	}
}

// statements are those that only this store has, made for its clock.
type statements struct {
	now string
	decide
	create
}

func newStatements(clock string, t *record.Table) statements {
	return statements{now: "SELECT greatest(" + clock + ", $1::bigint)", decide: newDecide(clock, t), create: newCreate(clock, t)}
}
