package config_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/cmd/internal/config"
)

const (
	dsn      = "postgres://sayso:AAAA@db.example.com/sayso"
	redisURL = "redis://:AAAA@cache.example.com:6379/1"
)

func TestWithoutPostgresTheDatabaseIsEmbedded(t *testing.T) {
	t.Parallel()
	cfg, err := config.Load("", []string{"HOME=/h"}, nil)
	require.NoError(t, err)
	require.False(t, cfg.Shared())
	require.Equal(t, config.Redis{Prefix: "sayso"}, cfg.Redis)
}

func TestAFleetFromAFile(t *testing.T) {
	t.Parallel()
	cfg, err := config.Load(write(t, "postgres: {dsn: '"+dsn+"', migrate_dsn: '"+dsn+"?sslmode=require', pooler: transaction, max_conns: 40}\n"+
		"redis: {url: '"+redisURL+"', prefix: team-a}\n"), []string{"HOME=/h"}, nil)
	require.NoError(t, err)
	require.True(t, cfg.Shared())
	require.Equal(t, config.Postgres{
		DSN: dsn, MigrateDSN: dsn + "?sslmode=require", Pooler: config.PoolerTransaction, MaxConns: 40,
	}, cfg.Postgres)
	require.Equal(t, config.Redis{URL: redisURL, Prefix: "team-a"}, cfg.Redis)
	b, err := json.Marshal(cfg)
	require.NoError(t, err)
	for _, text := range []string{fmt.Sprintf("%+v", cfg), fmt.Sprintf("%#v", cfg), string(b)} {
		require.NotContains(t, text, "AAAA")
		require.NotContains(t, text, "example.com")
	}
}

func TestAFleetFromTheEnvironment(t *testing.T) {
	t.Parallel()
	secret := filepath.Join(t.TempDir(), "redis")
	require.NoError(t, os.WriteFile(secret, []byte(redisURL+"\n"), 0o600))
	cfg, err := config.Load("", []string{
		"HOME=/h", "SAYSO_POSTGRES__DSN=" + dsn, "SAYSO_POSTGRES__MAX_CONNS=8", "SAYSO_POSTGRES__POOLER=session",
		"SAYSO_REDIS__URL_FILE=" + secret,
	}, nil)
	require.NoError(t, err)
	require.Equal(t, config.Postgres{DSN: dsn, Pooler: config.PoolerSession, MaxConns: 8}, cfg.Postgres)
	require.Equal(t, redisURL, cfg.Redis.URL.Reveal())
}

// A secret in the environment outranks the file's, whichever form either has; two
// forms in one place are a mistake.
func TestEnvironmentOutranksASecretOfTheFile(t *testing.T) {
	t.Parallel()
	other := "postgres://other@db/other"
	path := filepath.Join(t.TempDir(), "dsn")
	require.NoError(t, os.WriteFile(path, []byte(dsn), 0o600))
	for _, test := range []struct{ file, environment, want string }{
		{"postgres: {dsn: '" + other + "'}", "SAYSO_POSTGRES__DSN=" + dsn, dsn},
		{"postgres: {dsn: '" + other + "'}", "SAYSO_POSTGRES__DSN_FILE=" + path, dsn},
		{"postgres: {dsn_file: /does/not/exist}", "SAYSO_POSTGRES__DSN=" + dsn, dsn},
		{"postgres: {dsn_file: " + path + "}", "SAYSO_POSTGRES__POOLER=transaction", dsn},
	} {
		cfg, err := config.Load(write(t, test.file), []string{"HOME=/h", test.environment}, nil)
		require.NoError(t, err, test.environment)
		require.Equal(t, test.want, cfg.Postgres.DSN.Reveal(), test.environment)
	}
	_, err := config.Load("", []string{"HOME=/h", "SAYSO_POSTGRES__DSN=" + dsn, "SAYSO_POSTGRES__DSN_FILE=" + path}, nil)
	require.ErrorContains(t, err, "postgres.dsn and postgres.dsn_file: give only one of the two")
}

// A variable that is empty is a mistake of whoever sets it, and not a wish for a
// database of one's own; a flag may stand in for it.
func TestEmptyVariablesAreRefused(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "dsn")
	require.NoError(t, os.WriteFile(path, []byte(dsn), 0o600))
	for _, name := range []string{"SAYSO_POSTGRES__DSN", "SAYSO_POSTGRES__DSN_FILE"} {
		environ := []string{"HOME=/h", name + "="}
		_, err := config.Load(write(t, "postgres: {dsn: '"+dsn+"'}"), environ, nil)
		require.ErrorContains(t, err, "postgres.dsn: is required", name)
		cfg, err := config.Load("", environ, func(c *config.Config) { c.Postgres.DSNFile = path })
		require.NoError(t, err, name)
		require.Equal(t, dsn, cfg.Postgres.DSN.Reveal())
	}
	_, err := config.Load("", []string{"HOME=/h", "SAYSO_POSTGRES__DSN=" + dsn, "SAYSO_REDIS__URL="}, nil)
	require.ErrorContains(t, err, "redis.url: is required")
}

func TestFaultsOfAFleet(t *testing.T) {
	t.Parallel()
	with := "postgres: {dsn: '" + dsn + "'}\n"
	for text, want := range map[string]string{
		"postgres: {host: db}":                         "unknown keys",
		"postgres: {pooler: transaction}":              "postgres.dsn: is required",
		"postgres: {}":                                 "postgres.dsn: is required",
		"postgres:":                                    "postgres.dsn: is required",
		"postgres: {dsn: ''}":                          "postgres.dsn: is required",
		with + "redis:":                                "redis.url: is required",
		with + "redis: {prefix: a}":                    "redis.url: is required",
		"postgres: {max_conns: 4}":                     "postgres.dsn: is required",
		"postgres: {dsn: 'AAAA :// AAAA'}":             "postgres.dsn: must be a PostgreSQL connection string",
		"postgres: {dsn: 'postgres://u:AAAA@h:port/'}": "postgres.dsn: must be a PostgreSQL connection string",
		"postgres: {dsn: '" + dsn + "', migrate_dsn: 'postgres://u:AAAA@h:port/'}": "postgres.migrate_dsn: must be",
		"postgres: {dsn: '" + dsn + "', pooler: statement}":                        "postgres.pooler: must be session or transaction",
		"postgres: {dsn: '" + dsn + "', max_conns: -1}":                            "postgres.max_conns",
		"postgres: {dsn: '" + dsn + "', max_conns: 100000}":                        "postgres.max_conns",
		"postgres: {dsn: '" + dsn + "', dsn_file: /x}":                             "give only one of the two",
		"postgres: {dsn_file: /does/not/exist}":                                    "postgres.dsn_file: the file cannot be read",
		"redis: {url: '" + redisURL + "'}":                                         "redis: needs postgres",
		"redis: {url_file: /does/not/exist}":                                       "redis: needs postgres",
		"replicas: 0":                                                              "replicas: must be 1 to 100",
		"replicas: 1000":                                                           "replicas: must be 1 to 100",
		with + "redis: {address: cache}":                                           "unknown keys",
		with + "redis: {url: 'cache:6379'}":                                        "redis.url: must be redis://",
		with + "redis: {url: 'http://:AAAA@cache'}":                                "redis.url: must be redis://",
		with + "redis: {url: '" + redisURL + "', prefix: '{a}'}":                   "redis.prefix",
		with + "redis: {url: '" + redisURL + "', prefix: ''}":                      "redis.prefix",
	} {
		_, err := config.Load(write(t, text), []string{"HOME=/h"}, nil)
		require.ErrorContains(t, err, want, text)
		require.NotContains(t, err.Error(), "AAAA", text)
	}
}
