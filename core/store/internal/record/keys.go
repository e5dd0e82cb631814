package record

import (
	"context"
	"fmt"

	"github.com/saysohq/sayso/core"
)

// Statements about the deployment's row and its sealed keys. Keys of a purpose that
// are made in one millisecond are dated one after the other.
const (
	sqlDeployment = "SELECT id, incarnation, sealed, sealed_as, created_at FROM deployment WHERE singleton = 1"
	sqlSealedKeys = `SELECT id, purpose, sealed, created_at FROM sealed_keys WHERE purpose = ?
		ORDER BY created_at DESC`
	sqlNewestKey    = `SELECT coalesce(max(created_at), 0) FROM sealed_keys WHERE purpose = ?`
	sqlAddSealedKey = `INSERT INTO sealed_keys (id, purpose, sealed, created_at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING`
)

// Deployment implements core.Keys.
func (s *Store) Deployment(ctx context.Context) (core.Deployment, error) {
	var d core.Deployment
	if err := s.read(ctx).One(sqlDeployment, nil, &d.ID, &d.Incarnation, &d.Sealed, (*string)(&d.Seal), (*int64)(&d.CreatedAt)); err != nil {
		return core.Deployment{}, fmt.Errorf("read deployment: %w", err)
	}
	return d, nil
}

// SealedKeys implements core.Keys.
func (s *Store) SealedKeys(ctx context.Context, purpose string) ([]core.SealedKey, error) {
	var list []core.SealedKey
	err := s.read(ctx).Each(sqlSealedKeys, []any{purpose}, func(scan Row) error {
		var k core.SealedKey
		if err := scan(&k.ID, &k.Purpose, &k.Sealed, (*int64)(&k.CreatedAt)); err != nil {
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
	_, err := write(ctx, s, Foreground, func(t *tx) (int64, error) {
		if err := t.holdName(Update, "keys", k.Purpose); err != nil {
			return 0, err
		}
		var newest core.Millis
		if err := t.One(sqlNewestKey, []any{k.Purpose}, (*int64)(&newest)); err != nil {
			return 0, err
		}
		return t.Exec(sqlAddSealedKey, k.ID, k.Purpose, k.Sealed, int64(max(t.now, newest+1)))
	})
	if err != nil {
		return fmt.Errorf("add key: %w", err)
	}
	return nil
}
