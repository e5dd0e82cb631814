package sqlite

import (
	"context"
	"fmt"

	"github.com/saysohq/sayso/core"
)

// Statements about the deployment's row and its sealed keys. The row id breaks ties
// of keys that were made in one millisecond.
const (
	sqlDeployment = "SELECT id, incarnation, sealed, created_at FROM deployment WHERE singleton = 1"
	sqlSealedKeys = `SELECT id, purpose, sealed, created_at FROM sealed_keys WHERE purpose = ?
		ORDER BY created_at DESC, rowid DESC`
	sqlAddSealedKey = `INSERT INTO sealed_keys (id, purpose, sealed, created_at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING`
)

// Deployment implements core.Keys.
func (s *Store) Deployment(ctx context.Context) (core.Deployment, error) {
	var d core.Deployment
	if err := s.read(ctx).one(sqlDeployment, nil, &d.ID, &d.Incarnation, &d.Sealed, &d.CreatedAt); err != nil {
		return core.Deployment{}, fmt.Errorf("read deployment: %w", err)
	}
	return d, nil
}

// SealedKeys implements core.Keys.
func (s *Store) SealedKeys(ctx context.Context, purpose string) ([]core.SealedKey, error) {
	var list []core.SealedKey
	err := s.read(ctx).each(sqlSealedKeys, []any{purpose}, func(scan func(...any) error) error {
		var k core.SealedKey
		if err := scan(&k.ID, &k.Purpose, &k.Sealed, &k.CreatedAt); err != nil {
			return err
		}
		list = append(list, k)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list keys: %w", err)
	}
	return list, nil
}

// AddSealedKey implements core.Keys. The store stamps the time.
func (s *Store) AddSealedKey(ctx context.Context, k core.SealedKey) error {
	_, err := write(ctx, s, foreground, func(t *tx) (int64, error) {
		return t.exec(sqlAddSealedKey, k.ID, k.Purpose, k.Sealed, t.now)
	})
	if err != nil {
		return fmt.Errorf("add key: %w", err)
	}
	return nil
}
