package bench

import "context"

// Postgres is a PostgreSQL server that is measured and thrown away.
type Postgres interface {
	// DSN is the address of a database.
	DSN(database string) string
	// Create makes a database as a copy of another; "" makes an empty one.
	Create(ctx context.Context, name, template string) error
	// Program is the path of one of the server's own programs.
	Program(name string) (string, error)
	// Close stops the server.
	Close() error
}

// pgMeasures are those of a fleet, in their order.
var pgMeasures = [...]measure{
	{"postgres-decide", onPostgres((*bench).pgResolve)},
	{"postgres-ask", onPostgres((*bench).pgCreate)},
	{"postgres-http", onPostgres((*bench).pgHTTP)},
	{"postgres-redis", onPostgres((*bench).pgRedis)},
	{"postgres-wake", onPostgres((*bench).pgWake)},
	{"postgres-idle", onPostgres((*bench).pgIdle)},
	{"postgres-growth", onPostgres((*bench).pgGrowth)},
}

// onPostgres leaves a measure out where there is no server.
func onPostgres(run func(b *bench, ctx context.Context) error) func(b *bench, ctx context.Context) error {
	return func(b *bench, ctx context.Context) error {
		if b.Postgres == nil {
			return nil
		}
		return run(b, ctx)
	}
}
