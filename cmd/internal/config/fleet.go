package config

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/saysohq/sayso/core/store/postgres"
)

// Postgres is the database that the replicas of a fleet share. Without a DSN the
// database is the embedded one, in the data folder of this process alone.
type Postgres struct {
	// DSN is a connection string, as a URL or in key=value form. It holds a password
	// as a rule, and so it is a secret.
	DSN     Secret `koanf:"dsn"`
	DSNFile string `koanf:"dsn_file"`
	// MigrateDSN is a direct connection to the same database for migrations, whose
	// lock is one of the session; "" takes DSN.
	MigrateDSN     Secret `koanf:"migrate_dsn"`
	MigrateDSNFile string `koanf:"migrate_dsn_file"`
	// Pooler says how the connections of DSN behave: PoolerSession (also "") or
	// PoolerTransaction.
	Pooler string `koanf:"pooler"`
	// MaxConns is how many connections this process opens at most; 1 to 1000, and 0
	// takes the store's default (16).
	MaxConns int32 `koanf:"max_conns"`
	// AfterFailover says what a replica does when the server is another one than at the
	// last start, and may have lost answers: FailoverRefuse (also "") or
	// FailoverContinue.
	AfterFailover string `koanf:"after_failover"`
}

// What a replica does after a failover.
const (
	FailoverRefuse   = "refuse"   // It does not serve before somebody has said what was lost.
	FailoverContinue = "continue" // It serves on: standbys are synchronous, and nothing is ever lost.
)

// What stands between the service and PostgreSQL.
const (
	PoolerSession     = "session"     // Nothing, or a pooler that keeps a session for each connection.
	PoolerTransaction = "transaction" // A pooler that keeps nothing from one transaction to the next.
)

// maxReplicas leaves each replica a share of the budgets that is worth something.
const maxReplicas = 100

// maxConns is far above what a server bears for one process; a larger figure is a
// slip of the finger.
const maxConns = 1000

// Redis carries hints and shares send budgets between the replicas of a fleet. It
// holds nothing that matters: without it they find changes by polling.
type Redis struct {
	// URL is redis://, rediss:// or unix://, with user, password and database.
	URL     Secret `koanf:"url"`
	URLFile string `koanf:"url_file"`
	// Prefix stands before every key and channel, so that deployments can share a
	// server; default "sayso".
	Prefix string `koanf:"prefix"`
}

// Shared reports whether the record is in a database that other replicas use too.
func (c *Config) Shared() bool { return c.Postgres.DSN != "" }

// redisPrefix is what reads well in a key, and holds none of the characters that
// patterns and cluster slots give a meaning.
var redisPrefix = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:-]{0,63}$`)

func (c *Config) validateFleet() error {
	var fault error
	if c.Replicas < 1 || c.Replicas > maxReplicas {
		fault = fmt.Errorf("replicas: must be 1 to %d", maxReplicas)
	}
	return errors.Join(c.validatePostgres(), c.validateRedis(), fault)
}

func (c *Config) validatePostgres() error {
	var faults []error
	p := &c.Postgres
	faults = append(faults, checkDSN("dsn", p.DSN), checkDSN("migrate_dsn", p.MigrateDSN))
	switch p.Pooler {
	case "", PoolerSession, PoolerTransaction:
	default:
		faults = append(faults, errors.New("postgres.pooler: must be session or transaction"))
	}
	switch p.AfterFailover {
	case "", FailoverRefuse, FailoverContinue:
	default:
		faults = append(faults, errors.New("postgres.after_failover: must be refuse or continue"))
	}
	if p.MaxConns < 0 || p.MaxConns > maxConns {
		faults = append(faults, fmt.Errorf("postgres.max_conns: must be 1 to %d, or 0 for the default", maxConns))
	}
	return errors.Join(faults...)
}

func checkDSN(key string, dsn Secret) error {
	if dsn == "" || postgres.CheckDSN(dsn.Reveal()) == nil {
		return nil
	}
	return fmt.Errorf("postgres.%s: must be a PostgreSQL connection string such as postgres://user:password@host/database", key)
}

func (c *Config) validateRedis() error {
	var faults []error
	r := &c.Redis
	given := r.URL != "" || r.URLFile != ""
	if given && c.Postgres.DSN == "" && c.Postgres.DSNFile == "" {
		// Whoever writes this wants replicas, and would get two that know nothing of
		// each other.
		faults = append(faults, errors.New("redis: needs postgres: one process with its embedded database has nobody to tell"))
	}
	if r.URL != "" && !redisURL(r.URL.Reveal()) {
		faults = append(faults, errors.New("redis.url: must be redis://, rediss:// or unix://"))
	}
	if !redisPrefix.MatchString(r.Prefix) {
		faults = append(faults, errors.New("redis.prefix: must be 1-64 of A-Z a-z 0-9 . _ : -, beginning with a letter or digit"))
	}
	return errors.Join(faults...)
}

func redisURL(text string) bool {
	u, err := url.Parse(text)
	if err != nil {
		return false
	}
	switch strings.ToLower(u.Scheme) {
	case "redis", "rediss":
		return u.Host != ""
	case "unix":
		return u.Path != ""
	}
	return false
}
