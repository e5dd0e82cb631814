package postgres

import (
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/saysohq/sayso/core"
)

// CheckDSN reports whether a connection string can be read; it connects to nothing.
// Errors: core.ErrInvalid, which never repeats the string.
func CheckDSN(dsn string) error {
	if _, err := pgxpool.ParseConfig(dsn); dsn == "" || err != nil { // Its text may hold the password.
		return core.Invalid("dsn", "must be a PostgreSQL connection string")
	}
	return nil
}
