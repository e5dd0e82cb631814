package record

import (
	"slices"
	"strings"

	"github.com/saysohq/sayso/core"
)

// moving are the columns that change after a row was made. All others are written
// once: whoever has read a row need not read them again.
type moving struct {
	columns []column
	names   string
}

func newMoving() moving {
	m := moving{columns: slices.Concat(stampColumns(), outcomeColumns(), grantColumns())}
	names := make([]string, len(m.columns))
	for i, c := range m.columns {
		names[i] = "a." + c.name
	}
	m.names = strings.Join(names, ", ")
	return m
}

// MovingNames lists the columns that change after a row was made, qualified with
// "a.", in the order of ScanMoving.
func (t *Table) MovingNames() string { return t.moving.names }

// ScanMoving reads one row of MovingNames into a copy of the row as it was read
// before, and checks what comes of it. Errors: those of Scan.
func (t *Table) ScanMoving(scan Row, seen *core.Approval) (core.Approval, error) {
	b, done := t.buffer()
	defer done()
	b.row.a = *seen
	if err := scan(b.at[len(t.all)-len(t.moving.columns):]...); err != nil { // They stand last.
		return core.Approval{}, err
	}
	return b.row.a, b.row.a.Check()
}
