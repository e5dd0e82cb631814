package sqlite

import (
	"context"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/store/internal/record"
)

// inside runs the commands of a record in a write that is under way.
type inside struct {
	db

	t     *tx
	aside *handle // For reads.
}

func (d *inside) Write(_ context.Context, _ record.Urgency, _ int, fn func(record.Conn, core.Millis) error, _ func()) error {
	return fn(d.t, d.t.now)
}

// aside reads in the calling goroutine.
type aside struct {
	*handle

	clock *clock
}

func (a aside) One(query string, args []any, dest ...any) error { return a.one(query, args, dest) }

func (a aside) Each(query string, args []any, fn func(scan record.Row) error) error {
	return a.each(query, args, fn)
}

func (a aside) Dated(query string, args []any, fn func(scan record.Row) error) (core.Millis, error) {
	return a.clock.now(), a.Each(query, args, fn)
}

// Read implements record.DB.
func (d *inside) Read(context.Context) record.Reader {
	return aside{d.aside, d.clock}
}
