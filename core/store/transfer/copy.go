package transfer

import (
	"context"
	"fmt"
)

// Progress hears how far a copy is: rows of a table that are done, and how many
// there were when it began. It is called often and must be quick.
type Progress func(step string, done, total int64)

// progressEvery is how many rows pass between two reports.
const progressEvery = 1_000

// content is what a copy has to be alike in, by table.
type content map[string]sum

// copyAndCompare is copyAll, and reads back what the target has then. Errors:
// ErrMismatch.
func copyAndCompare(ctx context.Context, src reader, from []table, dst writer, to []table, tell Progress) (content, error) {
	copied, err := copyAll(ctx, src, from, dst, to, tell)
	if err != nil {
		return nil, err
	}
	return copied, compare(ctx, dst, to, copied, tell)
}

// copyAll empties the tables of a target and fills them from a source. from and to are
// the same tables as the two sides know them, parents first. It returns what was read.
func copyAll(ctx context.Context, src reader, from []table, dst writer, to []table, tell Progress) (content, error) {
	for i := range to { // Children first.
		if err := dst.empty(ctx, to[len(to)-1-i]); err != nil {
			return nil, err
		}
	}
	copied := content{}
	for i, t := range from {
		total, err := src.count(ctx, t)
		if err != nil {
			return nil, err
		}
		var s sum
		if err := dst.write(ctx, to[i], watched(src.read(ctx, t), &s, t.name, total, tell)); err != nil {
			return nil, fmt.Errorf("copy table %s: %w", t.name, err)
		}
		copied[t.name] = s
	}
	return copied, nil
}

// measure reads all tables.
func measure(ctx context.Context, src reader, tables []table, tell Progress) (content, error) {
	found := content{}
	for _, t := range tables {
		total, err := src.count(ctx, t)
		if err != nil {
			return nil, err
		}
		var s sum
		for _, err := range watched(src.read(ctx, t), &s, "verify "+t.name, total, tell) {
			if err != nil {
				return nil, fmt.Errorf("read table %s: %w", t.name, err)
			}
		}
		found[t.name] = s
	}
	return found, nil
}

// compare reads all tables and requires the content. Errors: ErrMismatch.
func compare(ctx context.Context, src reader, tables []table, want content, tell Progress) error {
	got, err := measure(ctx, src, tables, tell)
	if err != nil {
		return err
	}
	for _, t := range tables {
		if got[t.name] != want[t.name] {
			return fmt.Errorf("verify table %s: %w", t.name, ErrMismatch)
		}
	}
	return nil
}

// watched passes rows on, adds them up and tells of the progress.
func watched(in rows, s *sum, step string, total int64, tell Progress) rows {
	return func(yield func([]any, error) bool) {
		for row, err := range in {
			if err == nil {
				err = s.add(row)
			}
			if !yield(row, err) || err != nil {
				return
			}
			if tell != nil && s.rows%progressEvery == 0 {
				tell(step, s.rows, total)
			}
		}
		if tell != nil && total > 0 {
			tell(step, s.rows, total)
		}
	}
}
