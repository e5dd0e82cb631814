package transfer

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/saysohq/sayso/core"
)

// kind is what a column holds. A row in flight has an int64 for numbers and flags, a
// string for text and JSON, bytes, or nil.
type kind int

const (
	kindText kind = iota
	kindNumber
	kindFlag
	kindJSON
	kindBytes
)

type column struct {
	name string
	kind kind
}

// table is one table as a database has it. Its columns are in the order of their
// names: both sides list them alike.
type table struct {
	name    string
	columns []column
	parents []string // Tables that its rows refer to.
}

func (t *table) names() []string {
	names := make([]string, len(t.columns))
	for i, c := range t.columns {
		names[i] = c.name
	}
	return names
}

// rows are the content of a table as a stream; an error ends it.
type rows = iter.Seq2[[]any, error]

// reader is a store as it was at one moment.
type reader interface {
	// deployment reads the singleton row. Errors: core.ErrNotFound.
	deployment(ctx context.Context) (deployment, error)
	// count is the number of rows of a table.
	count(ctx context.Context, t table) (int64, error)
	// read streams a table, in any order.
	read(ctx context.Context, t table) rows
}

// writer is a store that is being filled. It reads what it wrote.
type writer interface {
	reader
	// empty deletes the rows of a table.
	empty(ctx context.Context, t table) error
	// write adds rows.
	write(ctx context.Context, t table, in rows) error
}

// apart reports whether a table does not travel as it is: the singleton row goes by
// itself, a schema belongs to its database, jobs of one place are not those of the
// other, and the manifest is about the file that it is in.
func apart(name string) bool {
	switch name {
	case "deployment", "goose_db_version", "leases", manifestTable:
		return true
	}
	return false
}

// deployment is the singleton row.
type deployment struct {
	id          string
	incarnation int64
	createdAt   int64
	clock       int64
	batch       int64
	sealed      bool
	seal        core.Seal
	copyID      string
	lastEvent   int64 // The greatest number that an event ever had.
}

const sqlDeployment = `SELECT id, incarnation, created_at, clock, batch, sealed, sealed_as, copy_id FROM deployment WHERE singleton = 1`

func (d *deployment) dest() []any {
	return []any{&d.id, &d.incarnation, &d.createdAt, &d.clock, &d.batch, &d.sealed, (*string)(&d.seal), &d.copyID}
}

// row is what of it a copy must have alike.
func (d *deployment) row() []any {
	return []any{d.id, d.incarnation, d.createdAt, d.clock, d.batch, d.lastEvent}
}

// parentsFirst orders tables so that rows come after those that they refer to.
func parentsFirst(tables []table) ([]table, error) {
	var ordered []table
	placed := map[string]bool{}
	left := slices.Clone(tables)
	for len(left) > 0 {
		before := len(left)
		left = slices.DeleteFunc(left, func(t table) bool {
			for _, p := range t.parents {
				if p != t.name && !placed[p] {
					return false
				}
			}
			ordered = append(ordered, t)
			placed[t.name] = true
			return true
		})
		if len(left) == before {
			return nil, fmt.Errorf("order tables: %s refers to itself in a circle", left[0].name)
		}
	}
	return ordered, nil
}
