package record

import "github.com/saysohq/sayso/core"

// MovingNames lists the columns that change after a row was made, qualified with
// "a.", in the order of ScanMoving. All others are written once: whoever has read a
// row need not read them again.
func (t *Table) MovingNames() string { return t.moving }

// ScanMoving reads one row of MovingNames into a copy of the row as it was read
// before, and checks what comes of it. Errors: those of Scan.
func (t *Table) ScanMoving(scan Row, seen *core.Approval) (core.Approval, error) {
	b, done := t.buffer()
	defer done()
	b.row.a = *seen
	if err := scan(b.at[t.fixed:]...); err != nil { // They stand last.
		return core.Approval{}, err
	}
	if err := b.row.decodeMoving(); err != nil {
		return b.row.a, err
	}
	return b.row.a, b.row.a.Check()
}
