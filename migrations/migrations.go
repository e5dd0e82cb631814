package migrations

import "embed"

// SQLite is the folder "sqlite" of the embedded-database store.
//
//go:embed sqlite/*.sql
var SQLite embed.FS

// Postgres is the folder "postgres" of the fleet's store.
//
//go:embed postgres/*.sql
var Postgres embed.FS
