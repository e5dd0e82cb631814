package main

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/cmd/internal/config"
	"github.com/saysohq/sayso/core/store/transfer"
)

func TestPlaces(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	file := filepath.Join(folder, "sayso.db")
	alone := &config.Config{Data: folder}
	fleet := &config.Config{Data: folder, Postgres: config.Postgres{DSN: "postgres://pooled/x"}}
	direct := &config.Config{Data: folder, Postgres: config.Postgres{DSN: "postgres://pooled/x", MigrateDSN: "postgres://direct/x"}}
	for _, c := range []struct {
		text string
		cfg  *config.Config
		want transfer.Place
	}{
		{"", alone, transfer.Place{Path: file}},
		{"", fleet, transfer.Place{DSN: "postgres://pooled/x"}},
		{"", direct, transfer.Place{DSN: "postgres://direct/x"}},
		{"sqlite", fleet, transfer.Place{Path: file}},
		{"sqlite:" + folder, fleet, transfer.Place{Path: file}},
		{"sqlite:a:b.db", alone, transfer.Place{Path: "a:b.db"}},
		{"postgres", direct, transfer.Place{DSN: "postgres://direct/x"}},
		{"postgresql://other/y", direct, transfer.Place{DSN: "postgresql://other/y"}},
	} {
		got, err := place(c.text, c.cfg)
		require.NoError(t, err, c.text)
		require.Equal(t, c.want, got, c.text)
	}
	for _, text := range []string{"postgres", "mysql", "sqlite:", "postgres://u:hunter2@host:port/x", "./file.db"} {
		_, err := place(text, alone)
		require.Equal(t, exitUsage, faultCode(err), text)
		require.NotContains(t, err.Error(), "hunter2")
	}
}
