package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/store/internal/record"
)

// reader reads what is committed: every statement has its own snapshot. The
// caller's context counts until a connection is there; then the statement runs to
// its end or the store's own limit, because a context that ends under way would
// cost the connection.
type reader struct {
	ctx context.Context //nolint:containedctx // The life of one call.
	*Store
}

// One implements record.Querier.
func (r reader) One(query string, args []any, dest ...any) error {
	return r.do(func(ctx context.Context, c *pgxpool.Conn) error {
		return c.QueryRow(ctx, r.texts.of(query), args...).Scan(dest...)
	})
}

// Each implements record.Querier.
func (r reader) Each(query string, args []any, fn func(scan record.Row) error) error {
	return r.do(func(ctx context.Context, c *pgxpool.Conn) error {
		rows, err := c.Query(ctx, r.texts.of(query), args...)
		if err != nil {
			return err
		}
		return each(rows, fn)
	})
}

// Dated implements record.Reader: the clock and the rows come in one round trip.
func (r reader) Dated(query string, args []any, fn func(scan record.Row) error) (core.Millis, error) {
	var now int64
	err := r.do(func(ctx context.Context, c *pgxpool.Conn) error {
		b := &pgx.Batch{}
		r.queueNow(b, &now)
		b.Queue(r.texts.of(query), args...).Query(func(rows pgx.Rows) error { return each(rows, fn) })
		return c.SendBatch(ctx, b).Close()
	})
	return core.Millis(now), err
}

// do runs one statement on a connection of the pool.
func (r reader) do(fn func(ctx context.Context, c *pgxpool.Conn) error) error {
	c, err := r.acquire(r.ctx)
	if err != nil {
		return err
	}
	defer c.Release()
	ctx, end := r.own(r.ctx)
	defer end()
	return translate(fn(ctx, c))
}

// each hands over the rows of a result and closes it.
func each(rows pgx.Rows, fn func(scan record.Row) error) error {
	defer rows.Close()
	for rows.Next() {
		if err := fn(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// acquire takes a connection within the caller's context.
func (s *Store) acquire(ctx context.Context) (*pgxpool.Conn, error) {
	c, err := s.pool.Acquire(ctx)
	if err != nil {
		return nil, fmt.Errorf("take connection: %w", translate(err))
	}
	return c, nil
}

// own is the context of what has begun: it does not end with the caller's, which
// would leave the outcome open, but after the store's own limit.
func (s *Store) own(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), s.limit)
}
