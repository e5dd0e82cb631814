package bench

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"
)

// baseline does what a decision does in plain prepared SQL on one connection, with
// a commit of its own: change the row, mark its cards due, write the event.
type baseline struct {
	*lab

	mu    sync.Mutex
	conn  *sql.Conn
	steps []*sql.Stmt
}

const (
	rawDecide = `UPDATE approvals SET status = 'allowed', decision = 'allow-once', reason = 'user', resolver_kind = 'human',
		resolver_id = ?2, resolver_name = 'Ann', surface = 'page', attempt_id = ?3, resolved_at = ?4, updated_at = ?4,
		execution = 'unclaimed', claim_by = ?4 + 600000, revision = revision + 1, card_revision = card_revision + 1
		WHERE id = ?1 AND status = 'pending' AND expires_at > ?4`
	rawCards = `UPDATE deliveries SET due_at = ?2, updated_at = ?2, stale_since = ?2 WHERE approval_id = ?1`
	rawEvent = `INSERT INTO events (approval_id, revision, type, runtime, created_at, payload)
		SELECT id, revision, 'approval.granted', runtime, updated_at,
			json_object('id', id, 'kind', kind, 'status', status, 'decision', decision, 'revision', revision, 'action_hash', action_hash)
		FROM approvals WHERE id = ?1 AND attempt_id = ?2`
)

// openBaseline takes over the folder of a lab, whose service ends.
func openBaseline(ctx context.Context, l *lab) (*baseline, error) {
	if err := l.halt(); err != nil {
		return nil, err
	}
	r := &baseline{lab: l}
	var err error
	if r.conn, err = l.raw.Conn(ctx); err != nil {
		return nil, fmt.Errorf("open baseline: %w", err)
	}
	l.rows = r.conn // It makes what it decides, as the service does.
	for _, q := range []string{"BEGIN IMMEDIATE", rawDecide, rawCards, rawEvent, "COMMIT"} {
		s, err := r.conn.PrepareContext(ctx, q) //nolint:sqlclosecheck // Goes with the connection.
		if err != nil {
			return nil, fmt.Errorf("prepare baseline: %w", err)
		}
		r.steps = append(r.steps, s)
	}
	return r, nil
}

func (r *baseline) resolve(ctx context.Context, id string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	now, attempt := time.Now().UnixMilli(), newID()
	for i, args := range [][]any{nil, {id, r.admin.Person.ID, attempt, now}, {id, now}, {id, attempt}, nil} {
		done, err := r.steps[i].ExecContext(ctx, args...)
		if err != nil {
			return fmt.Errorf("baseline: %w", err)
		}
		if n, err := done.RowsAffected(); i == 1 && (err != nil || n != 1) {
			return errors.New("baseline: the row was not pending")
		}
	}
	return nil
}

func (r *baseline) close() error { return errors.Join(r.conn.Close(), r.lab.close()) }
