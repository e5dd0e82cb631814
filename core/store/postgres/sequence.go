package postgres

import (
	"context"
	"fmt"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/store/internal/record"
)

var _ core.Sequence = (*Store)(nil)

const (
	sqlAnyUnnumbered = `SELECT EXISTS (SELECT 1 FROM events WHERE seq IS NULL)`

	// The events that are visible now get the next numbers. One that becomes visible
	// later gets a later number, whenever its transaction began. An approval's own are
	// in order all the same: each change holds the approval's lock until its commit, so
	// where a revision is visible those before it are, and none is stamped earlier than
	// the one before it.
	//
	// The numbers go on behind the last one, also where its event was pruned since or
	// stayed behind in the store that this record came from. The parent of an event is
	// the approval's event before it (R170).
	sqlNumberEvents = `WITH chosen AS MATERIALIZED (
			SELECT approval_id, revision, type, created_at FROM events WHERE seq IS NULL
			ORDER BY created_at, approval_id, revision LIMIT ?1
		), last AS MATERIALIZED (
			SELECT greatest((SELECT last_event FROM deployment WHERE singleton = 1), (SELECT max(seq) FROM events), 0) AS seq
		), numbered AS MATERIALIZED (
			SELECT c.approval_id, c.revision, c.type,
				l.seq + row_number() OVER (ORDER BY c.created_at, c.approval_id, c.revision, c.type) AS seq
			FROM chosen c CROSS JOIN last l
		), linked AS (
			SELECT n.*, coalesce(lag(n.seq) OVER (PARTITION BY n.approval_id ORDER BY n.seq),
				(SELECT max(e.seq) FROM events e WHERE e.approval_id = n.approval_id), 0) AS previous
			FROM numbered n
		), written AS (
			UPDATE events e SET seq = n.seq, previous = n.previous FROM linked n
			WHERE e.approval_id = n.approval_id AND e.revision = n.revision AND e.type = n.type
			RETURNING e.seq
		), noted AS (
			UPDATE deployment SET last_event = (SELECT max(seq) FROM numbered)
			WHERE singleton = 1 AND EXISTS (SELECT 1 FROM numbered)
		)
		SELECT (SELECT count(*) FROM numbered), (SELECT count(*) FROM written)`
)

// NumberEvents implements core.Sequence. The lock on the lease is held to the commit:
// nobody takes the job over in between, and two that number at the same time take
// turns. If the process dies here, nothing was numbered or all of it was.
func (s *Store) NumberEvents(ctx context.Context, l core.Lease, limit int) (int, error) {
	if limit < 1 {
		return 0, fmt.Errorf("number events: %w", core.Invalid("limit", "must be at least 1"))
	}
	var numbered, written int
	some, err := s.anyUnnumbered(ctx)
	if err == nil && some {
		err = s.Fenced(ctx, l, func(c record.Conn) error {
			if err := c.One(sqlNumberEvents, []any{limit}, &numbered, &written); err != nil {
				return err
			}
			if numbered != written { // One was pruned meanwhile, and its number would be a gap.
				return &dbError{class: core.ErrUnavailable, state: stateSerialization} // It is tried again.
			}
			return nil
		})
	}
	if err != nil {
		return 0, fmt.Errorf("number events: %w", err)
	}
	return numbered, nil
}

// anyUnnumbered is the look of a sequencer that has nothing to do: it writes nothing.
func (s *Store) anyUnnumbered(ctx context.Context) (some bool, err error) {
	err = db{s}.Read(ctx).One(sqlAnyUnnumbered, nil, &some)
	return some, err
}
