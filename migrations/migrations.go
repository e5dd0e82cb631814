// Package migrations holds the schema of the store as numbered goose files, one
// folder per database, embedded in the binary.
//
// The folders carry the same numbers with the same names, so that a version means
// the same everywhere. A released file is never edited: a change is a new file.
// The package runs nothing; stores hand the files to a goose Provider.
package migrations

import "embed"

// SQLite is the folder "sqlite" of the embedded-database store.
//
//go:embed sqlite/*.sql
var SQLite embed.FS
