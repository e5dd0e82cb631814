package record

import (
	"context"
	"fmt"

	"github.com/saysohq/sayso/core"
)

// Revisions implements core.Watch.
func (s *Store) Revisions(ctx context.Context, ids []string) (map[string]int64, error) {
	if len(ids) > core.MaxRevisions {
		return nil, fmt.Errorf("read revisions: %w", core.Invalid("ids", "must be at most %d", core.MaxRevisions))
	}
	list, err := textsJSON(ids)
	if err != nil {
		return nil, fmt.Errorf("read revisions: %w", err)
	}
	found := make(map[string]int64, len(ids))
	err = s.read(ctx).Each(s.rows.revisions, []any{list}, func(scan Row) error {
		var id string
		var revision int64
		if err := scan(&id, &revision); err != nil {
			return err
		}
		found[id] = revision
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read revisions: %w", err)
	}
	return found, nil
}
