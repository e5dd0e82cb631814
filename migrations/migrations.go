package migrations

import "embed"

// SQLite is the folder "sqlite" of the embedded-database store.
//
//go:embed sqlite/*.sql
var SQLite embed.FS
