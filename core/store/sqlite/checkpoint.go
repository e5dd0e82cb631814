package sqlite

import (
	"context"
	"log/slog"
	"sync/atomic"

	"github.com/saysohq/sayso/core"
)

const (
	// checkpointEvery is the number of pages of the log, as far as they can be guessed,
	// after which it is moved into the database file. A page that many commits have
	// changed is moved once; a lone caller's log is moved before it is too long.
	checkpointEvery = 12000
	// What a commit of many decisions takes of the log, counted page by page: 12 for
	// inner pages and the deployment's, and 1.2 for each write, rounded up.
	pagesPerCommit = 12
	pagesPerWrite  = 2
	// maxLogPages is the length from which the log must begin anew: 64 MiB, which a
	// start after a crash reads in a moment.
	maxLogPages = 16384

	sqlCheckpoint = "PRAGMA wal_checkpoint(PASSIVE)"
)

// checkpointer moves the log into the database file beside the writer. SQLite would
// do it inside of whichever commit fills the log, and those who wait for that commit
// would wait for thousands of pages. A log that grows all the time never comes to an
// end beside its writer: if it gets too long, the writer moves the little that is
// left, between two batches, and the log begins anew.
//
// Nothing depends on it but the length of the log: what is committed is in the log,
// and on the disk.
type checkpointer struct {
	path string
	log  *slog.Logger
	conn *handle       // nil until it is needed.
	wake chan struct{} // One slot: enough was written.
	long atomic.Bool   // The log is too long: it is the writer's turn.
}

func newCheckpointer(path string, log *slog.Logger) *checkpointer {
	return &checkpointer{path: path, log: log, wake: make(chan struct{}, 1)}
}

// due says that enough was written.
func (c *checkpointer) due() {
	select {
	case c.wake <- struct{}{}:
	default: // It will see all that was written, however often it is told.
	}
}

// run checkpoints whenever it is due, until ctx ends.
func (c *checkpointer) run(ctx context.Context) {
	defer c.close()
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.wake:
			if err := c.move(); err != nil {
				c.failed(err)
			}
		}
	}
}

// move checkpoints once.
func (c *checkpointer) move() (err error) {
	if c.conn == nil {
		if c.conn, err = openHandle(c.path, writerPragmas()); err != nil {
			return err
		}
	}
	pages, err := checkpoint(c.conn)
	if err == nil && pages > maxLogPages { // What came meanwhile too, so that little is left to the writer.
		pages, err = checkpoint(c.conn)
	}
	if err == nil {
		c.long.Store(pages > maxLogPages)
	}
	return err
}

func (c *checkpointer) close() {
	if c.conn != nil {
		_ = c.conn.close() // It holds no transaction.
		c.conn = nil
	}
}

// failed reports a checkpoint that did not happen. The next one does its work too.
func (c *checkpointer) failed(err error) {
	c.log.Warn("moving the log into the database failed: it grows meanwhile", "code", core.CodeOf(translate(err)))
}

// checkpoint moves as much of the log as no reader needs any more, without waiting
// for anybody, and returns its length in pages.
func checkpoint(h *handle) (pages int64, err error) {
	var busy, moved int64
	err = h.one(sqlCheckpoint, nil, []any{&busy, &pages, &moved})
	return pages, err
}
