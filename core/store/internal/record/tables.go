package record

import (
	"context"
	"fmt"

	"github.com/saysohq/sayso/core"
)

const (
	sqlTablesInForce = `SELECT digest, number, put_by, created_at FROM policy_tables WHERE number = ` + sqlNewestTables
	sqlNewestTables  = `(SELECT max(number) FROM policy_tables)`
	sqlTablesSeen    = `SELECT coalesce(max(number), 0) FROM policy_tables WHERE digest = ?`
	sqlPutTables     = `INSERT INTO policy_tables (number, digest, put_by, created_at) VALUES (?, ?, ?, ?)`
	sqlForgetTables  = `DELETE FROM policy_tables WHERE number <= ?`
)

func tablesInForce(q Querier) (core.TablesInForce, error) {
	var is core.TablesInForce
	err := q.One(sqlTablesInForce, nil, &is.Digest, &is.Number, &is.By, (*int64)(&is.At))
	return is, ignoreNotFound(err)
}

// TablesInForce implements core.PolicyTables.
func (s *Store) TablesInForce(ctx context.Context) (core.TablesInForce, error) {
	is, err := tablesInForce(s.read(ctx))
	if err != nil {
		return core.TablesInForce{}, fmt.Errorf("read tables in force: %w", err)
	}
	return is, nil
}

// PutTables implements core.PolicyTables.
func (s *Store) PutTables(ctx context.Context, c core.PutTables) (core.TablesInForce, error) {
	is, err := write(ctx, s, Foreground, func(t *tx) (core.TablesInForce, error) { return t.putTables(c) })
	if err != nil {
		return core.TablesInForce{}, fmt.Errorf("put tables in force: %w", err)
	}
	return is, nil
}

func (t *tx) putTables(c core.PutTables) (core.TablesInForce, error) {
	if !core.ValidHash(c.Digest) || len(c.By) > core.MaxShortText {
		return core.TablesInForce{}, core.Invalid("tables", "need a digest, and a name of at most %d bytes", core.MaxShortText)
	}
	if err := t.holdName(Update, "policy tables"); err != nil {
		return core.TablesInForce{}, err
	}
	is, err := tablesInForce(t)
	if err != nil || is.Digest == c.Digest {
		return is, err
	}
	var seen int64
	if err := t.One(sqlTablesSeen, []any{c.Digest}, &seen); err != nil {
		return is, err
	}
	if seen > c.Since && !c.Forced { // Others have been there, and went on.
		return is, nil
	}
	put := core.TablesInForce{Digest: c.Digest, Number: is.Number + 1, By: c.By, At: t.now}
	if _, err := t.Exec(sqlPutTables, put.Number, put.Digest, put.By, int64(put.At)); err != nil {
		return is, err
	}
	_, err = t.Exec(sqlForgetTables, put.Number-core.MaxTablesKept)
	return put, err
}
