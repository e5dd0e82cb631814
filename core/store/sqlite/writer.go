package sqlite

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"runtime/debug"

	"github.com/saysohq/sayso/core"
)

// writer runs all writes of the store, one after another, on one connection, and
// lets those that wait at the same time share a commit: those that are queued when a
// batch begins, and those that come while it runs. It never waits for more: a commit
// that finds nobody queued is made at once, and a batch has its bound.
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
	unmoved     int // Pages written since it was told last, as far as they can be guessed.
}

// batch are the writes of one commit.
type batch struct {
	jobs    []*job
	results []error // Of the jobs that have run, in the same order.
	// more adds urgent writes that have been queued since. Nil for a batch that is run
	// again: whoever was not in it the first time has nothing to do with its faults.
	more func([]*job) []*job
}

// next is the job at i; false where there is none, and nobody has queued one since. Those
// who have just been answered may have their next write ready: before a batch closes
// they get one turn to queue it. Nobody waits for a timer.
func (b *batch) next(i int) (*job, bool) {
	if i == len(b.jobs) && b.more != nil {
		if b.jobs = b.more(b.jobs); i == len(b.jobs) {
			runtime.Gosched()
			b.jobs = b.more(b.jobs)
		}
	}
	if i == len(b.jobs) {
		return nil, false
	}
	return b.jobs[i], true
}

var (
	// errLost reports that the transaction of a batch is gone through no fault of
	// the writes in it that had succeeded.
	errLost = errors.New("the transaction was lost")
	// errMixed reports a write that failed and may have left changes behind, in a
	// transaction without savepoints: it cannot be undone alone.
	errMixed = errors.New("a failed write may have left changes behind")
)

// serve runs the batch, with what more adds to it, and answers every job in it.
//
// Refusals come before changes in almost all writes, so a batch begins without
// savepoints: each would copy every page that its write touches, a tenth of what a
// decision costs. Where a write does fail after a change, the batch is undone and
// run again with them; if the transaction is lost even so, one by one.
func (w *writer) serve(jobs []*job, more func([]*job) []*job) {
	b := &batch{jobs: jobs, more: more}
	w.together(b, false)
	if w.unmoved += pagesPerCommit + pagesPerWrite*len(b.jobs); w.unmoved >= checkpointEvery {
		w.unmoved = 0
		w.checkpoints.due()
	}
	if w.conn != nil && w.checkpoints.long.CompareAndSwap(true, false) { // Everybody has the answer.
		if _, err := checkpoint(w.conn.handle); err != nil {
			w.checkpoints.failed(err)
		}
	}
}

func (w *writer) together(b *batch, savepoints bool) {
	if err := w.begin(); err != nil {
		answerAll(b.jobs, err)
		return
	}
	err := w.attempt(b, savepoints)
	switch {
	case err == nil:
		for i, j := range b.jobs {
			j.done <- b.results[i]
		}
	case errors.Is(err, errMixed):
		w.together(&batch{jobs: b.jobs}, true)
	case len(b.jobs) == 1, errors.Is(err, core.ErrOutcomeUnknown):
		// Alone in its transaction there is no neighbour to blame or to save.
		answerAll(b.jobs, err)
	default:
		w.log.Warn("a shared commit was lost: replaying its writes one by one", "writes", len(b.jobs))
		for _, j := range b.jobs {
			w.together(&batch{jobs: []*job{j}}, false)
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

// attempt runs the batch in the transaction that begin opened, and ends it. The
// results count only if the error is nil; with any error but
// core.ErrOutcomeUnknown nothing was recorded.
func (w *writer) attempt(b *batch, savepoints bool) error {
	changed := false
	for i := 0; ; i++ {
		j, ok := b.next(i)
		if !ok {
			break
		}
		did, result, err := w.one(j, savepoints)
		if err != nil {
			w.rollback()
			if len(b.jobs) == 1 && errors.Is(err, errMixed) { // Its failure is all there is to tell.
				return result
			}
			return err
		}
		b.results = append(b.results, result)
		changed = changed || did
	}
	if !changed { // Only refusals and reads: there is nothing to make durable.
		w.rollback()
		return nil
	}
	if err := w.conn.run(sqlWriteMarker, w.batch+1, int64(w.clock.now())); err != nil {
		w.rollback()
		return fmt.Errorf("mark batch: %w", translate(err))
	}
	if err := w.conn.commit(); err != nil {
		return w.afterCommitError(err)
	}
	w.batch++
	return nil
}

// one runs a single write and reports whether it changed anything, and what it
// answers. err means that the whole transaction is gone or must go.
func (w *writer) one(j *job, savepoint bool) (changed bool, result, err error) {
	if savepoint {
		if err := w.conn.run(sqlSavepoint); err != nil {
			return false, nil, fmt.Errorf("open savepoint: %w", translate(err))
		}
	}
	t := &tx{conn: w.conn, now: w.clock.now()}
	if result = w.guarded(t, j); result == nil {
		result = t.failed // A write cannot shrug a failed statement off.
	}
	switch {
	case !savepoint && result != nil && (t.changed || t.failed != nil):
		return false, result, errMixed
	case !savepoint:
		return t.changed, result, nil
	case result == nil:
		if err := w.conn.run(sqlRelease); err != nil {
			return false, nil, fmt.Errorf("release savepoint: %w", errLost)
		}
		return t.changed, nil, nil
	}
	// Full disk, I/O errors and interrupts roll the whole transaction back. Then
	// the savepoint is not there any more, and the next one would silently open a
	// transaction of its own: never go on after a failure here.
	if w.conn.run(sqlUndo) != nil || w.conn.run(sqlRelease) != nil {
		return false, result, fmt.Errorf("undo write: %w", errLost)
	}
	return false, result, nil
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
