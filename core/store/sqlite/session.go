package sqlite

import (
	"context"
	"database/sql"
	"sync"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/store/internal/record"
)

// statements keeps prepared statements by their text.
type statements struct {
	prepare func(ctx context.Context, query string) (*sql.Stmt, error)
	mu      sync.Mutex
	byText  map[string]*sql.Stmt
}

func newStatements(prepare func(ctx context.Context, query string) (*sql.Stmt, error)) *statements {
	return &statements{prepare: prepare, byText: make(map[string]*sql.Stmt)}
}

func (p *statements) get(ctx context.Context, query string) (*sql.Stmt, error) {
	if s := p.known(query, nil); s != nil {
		return s, nil
	}
	// Not under the lock: preparing may wait for a connection, and those who have
	// their statement must not wait with it.
	s, err := p.prepare(ctx, query)
	if err != nil {
		return nil, err
	}
	return p.known(query, s), nil
}

// known returns the statement that is kept for a text, keeping a fresh one if
// there is none.
func (p *statements) known(query string, fresh *sql.Stmt) *sql.Stmt {
	p.mu.Lock()
	defer p.mu.Unlock()
	s, ok := p.byText[query]
	switch {
	case ok && fresh != nil:
		_ = fresh.Close() // Somebody else was faster.
	case !ok && fresh != nil:
		p.byText[query], s = fresh, fresh
	}
	return s
}

func (p *statements) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.byText {
		_ = s.Close() // The connection goes with it; nothing is left to do on failure.
	}
	clear(p.byText)
}

func (p *statements) one(ctx context.Context, query string, args []any, dest []any) error {
	stmt, err := p.get(ctx, query) //nolint:sqlclosecheck // Kept; close ends them all.
	if err != nil {
		return translate(err)
	}
	return translate(stmt.QueryRowContext(ctx, args...).Scan(dest...))
}

func (p *statements) each(ctx context.Context, query string, args []any, fn func(scan record.Row) error) error {
	stmt, err := p.get(ctx, query) //nolint:sqlclosecheck // Kept; close ends them all.
	if err != nil {
		return translate(err)
	}
	rows, err := stmt.QueryContext(ctx, args...)
	if err != nil {
		return translate(err)
	}
	defer func() { _ = rows.Close() }() // rows.Err below has the verdict.
	for rows.Next() {
		if err := fn(rows.Scan); err != nil {
			return translate(err)
		}
	}
	return translate(rows.Err())
}

// reader is a querier on the read pool. Each statement sees its own snapshot of
// what is committed. It honours the caller's context until it has begun; then it
// runs to its end, which is near: every read is bounded.
type reader struct {
	ctx   context.Context
	stmts *statements
	pool  *readers
	clock *clock
}

// read returns a querier on the pool.
func (s *Store) read(ctx context.Context) reader {
	return reader{ctx: ctx, stmts: s.reads, pool: s.readers, clock: s.clock}
}

// One reads a single row. Errors: core.ErrNotFound.
func (r reader) One(query string, args []any, dest ...any) error {
	return r.do(func(ctx context.Context) error { return r.stmts.one(ctx, query, args, dest) })
}

// Each reads rows.
func (r reader) Each(query string, args []any, fn func(scan record.Row) error) error {
	return r.do(func(ctx context.Context) error { return r.stmts.each(ctx, query, args, fn) })
}

// Dated reads rows at a time.
func (r reader) Dated(query string, args []any, fn func(scan record.Row) error) (core.Millis, error) {
	now := r.clock.now()
	return now, r.Each(query, args, fn)
}

func (r reader) do(fn func(ctx context.Context) error) error {
	if err := r.ctx.Err(); err != nil {
		return translate(err)
	}
	own := context.WithoutCancel(r.ctx) // Watching a context costs more than such a read.
	return translate(r.pool.do(r.ctx, func() error { return fn(own) }))
}
