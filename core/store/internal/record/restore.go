package record

import (
	"context"
	"fmt"
	"math"

	"github.com/saysohq/sayso/core"
)

// Statements of a restoration.
const (
	sqlBeginRestoration = `UPDATE deployment SET sealed = TRUE, sealed_as = 'restoring'
		WHERE singleton = 1 AND (NOT sealed OR sealed_as = 'restoring')`
	sqlReadSeal = `SELECT sealed_as, incarnation FROM deployment WHERE singleton = 1`
	// What was sent after the state that is left may have arrived: a message without a
	// receipt, whose click can be adopted.
	sqlDoubtUnsent = `UPDATE deliveries SET ambiguous = TRUE WHERE approval_id = ? AND state <> 'closed' AND locator = ''`
	// A code is good once. Whether it was used meanwhile is not known.
	sqlBurnCodes = `UPDATE codes SET used_at = ? WHERE used_at = 0`
	// Whether a person removed a rule or tightened a mode meanwhile is not known either.
	sqlEndRules     = `UPDATE rules SET removed_at = ? WHERE removed_at = 0`
	sqlNoteRestored = `INSERT INTO policy_changes (runtime, agent, generation, kind, mode_before, mode_after, created_at)
		SELECT runtime, name, generation + 1, 'restored', mode, CASE WHEN mode = '' THEN '' ELSE 'before-everything' END, CAST(? AS bigint) FROM agents`
	sqlTighten = `UPDATE agents SET generation = generation + 1, mode_revision = mode_revision + 1, mode_since = generation + 1,
		updated_at = ?, mode = CASE WHEN mode = '' THEN '' ELSE 'before-everything' END`
	// The next start notes anew which server it is on.
	sqlFinishRestoration = `UPDATE deployment SET incarnation = ?, sealed = FALSE, sealed_as = '', cluster = '', timeline = 0
		WHERE singleton = 1`
)

// always is later than any deadline.
const always = core.Millis(math.MaxInt64)

// BeginRestoration implements core.Restoration.
func (s *Store) BeginRestoration(ctx context.Context) error {
	_, err := write(ctx, s, Foreground, func(t *tx) (struct{}, error) {
		n, err := t.Exec(sqlBeginRestoration)
		if err != nil || n == 1 {
			return struct{}{}, err
		}
		seal, _, err := t.standing()
		if err == nil {
			err = seal.Refusal()
		}
		return struct{}{}, err
	})
	if err != nil {
		return fmt.Errorf("begin restoration: %w", err)
	}
	return nil
}

func (t *tx) standing() (seal core.Seal, incarnation int64, err error) {
	err = t.One(sqlReadSeal, nil, (*string)(&seal), &incarnation)
	return seal, incarnation, err
}

// Disown implements core.Restoration, in writes of at most 100 rows. Dying between
// two of them loses nothing: the store stays sealed, and the next call goes on.
func (s *Store) Disown(ctx context.Context, limit int) (core.Disowned, error) {
	var total core.Disowned
	for total.Total() < limit {
		chunk := min(limit-total.Total(), MaxBackground)
		done, err := writeRows(ctx, s, Background, chunk, func(t *tx) (core.Disowned, error) { return t.disown(chunk) })
		if err != nil {
			return total, fmt.Errorf("disown: %w", err)
		}
		total = total.Plus(done)
		if done.Total() < chunk {
			break
		}
	}
	return total, nil
}

func (t *tx) disown(limit int) (core.Disowned, error) {
	var d core.Disowned
	cancelled, err := t.changeUntil(t.rows.due, always, limit, t.disownPending)
	if err != nil {
		return d, err
	}
	d.Cancelled = len(cancelled)
	voided, err := t.changeUntil(t.rows.lapsed, always, limit-d.Total(), t.disownGrant)
	if err != nil {
		return d, err
	}
	d.Voided = len(voided)
	unknown, err := t.changeUntil(t.rows.silent, always, limit-d.Total(), func(a *core.Approval) error {
		return t.outcome(a, core.ExecutionUnknown, "")
	})
	d.Unknown = len(unknown)
	return d, err
}

// disownPending cancels a row even if its deadline has come: somebody may have
// answered before it, so nobody can be told that nobody did.
func (t *tx) disownPending(a *core.Approval) error {
	if _, err := t.Exec(sqlDoubtUnsent, a.ID); err != nil {
		return err
	}
	return t.end(a, core.Terminal{
		Status: core.StatusCancelled, Reason: core.ReasonStorageRestored, ResolverKind: core.ResolverSystem,
	}, "")
}

// disownGrant takes a grant back that may have been used. It did not lapse, as far
// as anybody can say.
func (t *tx) disownGrant(a *core.Approval) error {
	a.Execution, a.VoidReason = core.ExecutionVoided, core.VoidStorageRestored
	return t.save(a, t.rows.grant, core.EventVoided, true)
}

// FinishRestoration implements core.Restoration.
func (s *Store) FinishRestoration(ctx context.Context) (core.Deployment, error) {
	_, err := write(ctx, s, Foreground, func(t *tx) (struct{}, error) { return struct{}{}, t.finishRestoration() })
	if err != nil {
		return core.Deployment{}, fmt.Errorf("finish restoration: %w", err)
	}
	return s.Deployment(ctx)
}

func (t *tx) finishRestoration() error {
	seal, incarnation, err := t.standing()
	if err != nil {
		return err
	}
	if seal != core.SealRestoring {
		return core.ErrConflict
	}
	for _, query := range []string{t.rows.due, t.rows.lapsed, t.rows.silent} {
		if _, err := t.changeUntil(query, always, 1, func(*core.Approval) error { return core.ErrConflict }); err != nil {
			return err
		}
	}
	for _, query := range []string{sqlBurnCodes, sqlEndRules, sqlNoteRestored, sqlTighten} {
		if _, err := t.Exec(query, int64(t.now)); err != nil {
			return err
		}
	}
	_, err = t.Exec(sqlFinishRestoration, max(incarnation+1, int64(t.now)/1000))
	return err
}
