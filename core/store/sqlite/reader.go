package sqlite

import (
	"context"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/store/internal/record"
)

// reader is a querier on the read pool. Each statement sees its own snapshot of
// what is committed. It honours the caller's context until it has begun; then it
// runs to its end, which is near: every read is bounded.
type reader struct {
	ctx   context.Context //nolint:containedctx // The life of one call.
	pool  *readers
	clock *clock
}

// read returns a querier on the pool.
func (s *Store) read(ctx context.Context) reader {
	return reader{ctx: ctx, pool: s.readers, clock: s.clock}
}

// One reads a single row. Errors: core.ErrNotFound.
func (r reader) One(query string, args []any, dest ...any) error {
	return translate(r.pool.do(r.ctx, func(h *handle) error { return h.one(query, args, dest) }))
}

// Each reads rows.
func (r reader) Each(query string, args []any, fn func(scan record.Row) error) error {
	return translate(r.pool.do(r.ctx, func(h *handle) error { return h.each(query, args, fn) }))
}

// Dated reads rows at a time.
func (r reader) Dated(query string, args []any, fn func(scan record.Row) error) (core.Millis, error) {
	now := r.clock.now()
	return now, r.Each(query, args, fn)
}
