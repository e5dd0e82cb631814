package postgres

import (
	"github.com/jackc/pgx/v5"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/store/internal/record"
)

// sqlAddWait records that a run waits, or waits no more, with a row that this
// transaction has written.
const sqlAddWait = `INSERT INTO events (approval_id, revision, type, runtime, caused_by, created_at, payload)
	SELECT a.id, a.revision, $2::text, a.runtime, a.caused_by, a.updated_at, $3::json FROM approvals a WHERE ` + byUs

// queueBeside adds what a change means for the runtime to the batch of the change. Only
// the names and the revision of the row are read, and of the event only that it ends
// the row: whether the deadline or the answer did is all the same. Nothing is written
// where the batch changes nothing.
func (s *Store) queueBeside(b *pgx.Batch, a *core.Approval, e core.EventType) error {
	if w := record.WaitEvent(a, e); w != "" {
		body, err := record.WaitBody(a)
		if err != nil {
			return err
		}
		b.Queue(sqlAddWait, a.ID, string(w), body)
	}
	for _, also := range record.Beside(a, e, " AND "+writtenByUs) {
		b.Queue(s.texts.of(also.Query), also.Args...)
	}
	return nil
}
