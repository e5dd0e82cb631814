package sqlite

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"

	"github.com/saysohq/sayso/core"
)

// writer runs all writes of the store, one after another, on one connection, and
// lets those that wait at the same time share a commit. It never delays a commit
// to gather more: while one commit reaches the disk the next batch fills itself.
//
// The rule of its life: a caller hears of a write only after the commit that
// carries it, or after it is certain that nothing of it was recorded. If the
// process dies before COMMIT, nothing was recorded and nobody was answered; if it
// dies after, callers have heard nothing and find the truth by reading.
type writer struct {
	path   string
	conn   *connection // nil after a failure to open it again.
	clock  *clock
	log    *slog.Logger
	faults *faults
	batch  int64 // Marker of the last batch known to be committed.

	checkpoints *checkpointer
	unmoved     int // Writes since it was told last.
}

var (
	// errLost reports that the transaction of a batch is gone through no fault of
	// the writes in it that had succeeded.
	errLost = errors.New("the transaction was lost")
	// errMixed reports a write that failed and may have left changes behind, in a
	// transaction without savepoints: it cannot be undone alone.
	errMixed = errors.New("a failed write may have left changes behind")
)

// serve runs the batch and answers every job in it.
//
// Refusals come before changes in almost all writes, so a batch begins without
// savepoints: each would copy every page that its write touches, a tenth of what a
// decision costs. Where a write does fail after a change, the batch is undone and
// run again with them; if the transaction is lost even so, one by one.
func (w *writer) serve(jobs []*job) {
	w.together(jobs, false)
	if w.unmoved += len(jobs); w.unmoved >= checkpointEvery {
		w.unmoved = 0
		w.checkpoints.due()
	}
	if w.conn != nil && w.checkpoints.long.CompareAndSwap(true, false) { // Everybody has the answer.
		if _, err := checkpoint(w.conn.handle); err != nil {
			w.checkpoints.failed(err)
		}
	}
}

func (w *writer) together(jobs []*job, savepoints bool) {
	if err := w.begin(); err != nil {
		answerAll(jobs, err)
		return
	}
	results, err := w.attempt(jobs, savepoints)
	switch {
	case err == nil:
		for i, j := range jobs {
			j.done <- results[i]
		}
	case errors.Is(err, errMixed):
		w.together(jobs, true)
	case len(jobs) == 1, errors.Is(err, core.ErrOutcomeUnknown):
		// Alone in its transaction there is no neighbour to blame or to save.
		answerAll(jobs, err)
	default:
		w.log.Warn("a shared commit was lost: replaying its writes one by one", "writes", len(jobs))
		for _, j := range jobs {
			w.together([]*job{j}, false)
		}
	}
}

func answerAll(jobs []*job, err error) {
	for _, j := range jobs {
		j.done <- err
	}
}

// begin takes the lock. After an error nothing was recorded.
func (w *writer) begin() error {
	if err := w.ready(); err != nil {
		return err
	}
	if err := w.conn.run(sqlBegin); err != nil {
		w.discard()
		return fmt.Errorf("begin batch: %w", translate(err))
	}
	return nil
}

// attempt runs the jobs in the transaction that begin opened, and ends it. The
// results count only if the error is nil; with any error but
// core.ErrOutcomeUnknown nothing was recorded.
func (w *writer) attempt(jobs []*job, savepoints bool) ([]error, error) {
	results := make([]error, len(jobs))
	changed := false
	for i, j := range jobs {
		did, err := w.one(j, savepoints, &results[i])
		if err != nil {
			w.rollback()
			if len(jobs) == 1 && errors.Is(err, errMixed) { // Its failure is all there is to tell.
				err = results[0]
			}
			return nil, err
		}
		changed = changed || did
	}
	if !changed { // Only refusals and reads: there is nothing to make durable.
		w.rollback()
		return results, nil
	}
	if err := w.conn.run(sqlWriteMarker, w.batch+1, int64(w.clock.now())); err != nil {
		w.rollback()
		return nil, fmt.Errorf("mark batch: %w", translate(err))
	}
	if err := w.conn.commit(); err != nil {
		return results, w.afterCommitError(err)
	}
	w.batch++
	return results, nil
}

// one runs a single write and reports whether it changed anything. An error means
// that the whole transaction is gone or must go; a failure of the write itself
// goes to result.
func (w *writer) one(j *job, savepoint bool, result *error) (bool, error) {
	if savepoint {
		if err := w.conn.run(sqlSavepoint); err != nil {
			return false, fmt.Errorf("open savepoint: %w", translate(err))
		}
	}
	t := &tx{conn: w.conn, now: w.clock.now()}
	err := w.guarded(t, j)
	if err == nil {
		err = t.failed // A write cannot shrug a failed statement off.
	}
	*result = err
	switch {
	case !savepoint && err != nil && (t.changed || t.failed != nil):
		return false, errMixed
	case !savepoint:
		return t.changed, nil
	case err == nil:
		if err := w.conn.run(sqlRelease); err != nil {
			return false, fmt.Errorf("release savepoint: %w", errLost)
		}
		return t.changed, nil
	}
	// Full disk, I/O errors and interrupts roll the whole transaction back. Then
	// the savepoint is not there any more, and the next one would silently open a
	// transaction of its own: never go on after a failure here.
	if w.conn.run(sqlUndo) != nil || w.conn.run(sqlRelease) != nil {
		return false, fmt.Errorf("undo write: %w", errLost)
	}
	return false, nil
}

// guarded runs the write; a panic fails only this write.
func (w *writer) guarded(t *tx, j *job) (err error) {
	defer func() {
		if p := recover(); p != nil {
			// The value of the panic may hold content: only its place is logged.
			w.log.Error("a write panicked", "stack", string(debug.Stack()))
			// A statement may have been under way: nobody knows what it did.
			err = t.fail(fmt.Errorf("run write: it panicked: %w", core.ErrUnavailable))
		}
	}()
	return translate(j.run(t))
}

// afterCommitError finds out what a COMMIT without an answer did. The marker is
// written by every batch together with all of its changes, so it speaks for all
// of them. A nil result means that they are recorded.
func (w *writer) afterCommitError(cause error) error {
	expected := w.batch + 1
	w.discard()
	if err := w.ready(); err != nil {
		return fmt.Errorf("read marker: %w (%v)", core.ErrOutcomeUnknown, err) //nolint:errorlint // Not an ErrUnavailable: that would promise that nothing was recorded.
	}
	if w.batch == expected {
		return nil
	}
	return fmt.Errorf("commit batch: %w", translate(cause))
}

// ready opens the connection again if it was discarded, and learns which batch was
// the last: one whose COMMIT gave no answer may have been recorded, and its number
// must not be given to another.
func (w *writer) ready() error {
	if w.conn != nil {
		return nil
	}
	conn, err := connect(w.path, w.faults)
	if err != nil {
		return err
	}
	w.conn = conn
	var batch, clock int64
	if err := w.conn.one(sqlReadMarker, nil, []any{&batch, &clock}); err != nil {
		w.discard()
		return fmt.Errorf("read marker: %w", err)
	}
	w.batch = batch
	return nil
}

// rollback ends the transaction. If that is not possible, it may already be gone;
// a fresh connection leaves no doubt.
func (w *writer) rollback() {
	if err := w.conn.run(sqlRollback); err != nil {
		w.discard()
	}
}

// discard closes the connection; the next batch opens it again.
func (w *writer) discard() {
	if w.conn == nil {
		return
	}
	if err := w.conn.close(); err != nil {
		w.log.Warn("closing the writer's connection failed", "code", core.CodeOf(err))
	}
	w.conn = nil
}
