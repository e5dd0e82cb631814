package bench

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/store/postgres"
)

// pgSettings are those of the server that is measured, beside fsync and
// synchronous_commit, which are on: room for what is measured in memory, no
// checkpoint or cleaning that would come in the middle of a slice (both are done
// between the measures), and figures that are exact as soon as they are asked for.
func pgSettings() []string {
	return []string{
		"shared_buffers=1GB", "max_wal_size=16GB", "checkpoint_timeout=1h", "autovacuum=off", "synchronous_commit=on",
		"jit=off", "shared_preload_libraries=pg_stat_statements", "pg_stat_statements.track=none",
	}
}

// pgLab is a database of a private server with our store on it, in this process.
type pgLab struct {
	server Postgres
	dsn    string
	store  *postgres.Store
	wire   *wireCount
	pool   *pgxpool.Pool // For what is not measured.
	seed   core.Approval
	people []core.Principal
	pid    string // Of the server's first process.
	next   int64  // Number of the next row.

	bearers  []string // Of sessions, one of each of the people.
	token    string   // Of a machine.
	replicas int      // Started so far.
}

// openPG starts a server and opens the store, with so many people and one pending
// approval, shown in so many chats.
func (b *bench) openPG(ctx context.Context, name string, cards int) (*pgLab, error) {
	b.printf("%s ...\n", name)
	server, err := b.Postgres(ctx, filepath.Dir(b.Dir), pgSettings())
	if err != nil {
		return nil, err
	}
	l := &pgLab{server: server, next: 1}
	if err := l.prepare(ctx, cards); err != nil {
		return nil, errors.Join(err, l.close())
	}
	return l, nil
}

func (l *pgLab) prepare(ctx context.Context, cards int) error {
	if err := l.server.Create(ctx, "sayso", ""); err != nil {
		return err
	}
	l.dsn = l.server.DSN("sayso")
	if err := l.open(ctx, true); err != nil {
		return err
	}
	var err error
	if l.pool, err = pgxpool.New(ctx, l.dsn); err != nil {
		return fmt.Errorf("open pool: %w", err)
	}
	if l.pid, err = l.postmaster(ctx); err != nil {
		return err
	}
	for i := range manyCallers {
		p, err := l.store.AddPrincipal(ctx, core.Principal{ID: newID(), Name: "Ann " + strconv.Itoa(i), Role: core.RoleAdmin})
		if err != nil {
			return err
		}
		l.people = append(l.people, p)
	}
	made, err := l.store.Create(ctx, pgDraft(newID(), cards))
	l.seed = made.Approval
	return err
}

// open opens the store as a service does, with as many connections as pgbench has.
func (l *pgLab) open(ctx context.Context, migrate bool) (err error) {
	l.wire = &wireCount{}
	l.store, err = postgres.Open(ctx, postgres.Config{
		DSN: l.dsn, Migrate: migrate, Dial: l.wire.dial, MaxConns: manyCallers, Log: slog.New(slog.NewJSONHandler(nowhere{}, nil)),
	})
	return err
}

func (l *pgLab) close() error {
	var err error
	if l.store != nil {
		err = l.store.Close()
	}
	if l.pool != nil {
		l.pool.Close()
	}
	if err = errors.Join(err, l.server.Close()); err != nil {
		return fmt.Errorf("close lab: %w", err)
	}
	return nil
}

// pgDraft is a request as the service writes it.
func pgDraft(id string, cards int) core.NewApproval {
	arguments, action := core.HashOf([]byte("arguments")), core.HashOf([]byte("action"))
	c := core.NewApproval{
		Approval: core.Approval{
			ID: id, Ref: core.ResolutionRef(core.KindPlugin, id), Kind: core.KindPlugin, Origin: core.OriginAsk, Runtime: runtimeName,
			RequestHash: core.HashOf([]byte("request")), Operation: core.Operation{ID: "call-1", Type: "tool.call", Tool: "mail", Name: "send"},
			ArgumentsHash: arguments, ActionHash: action, Fingerprint: core.Fingerprint(action), Class: core.ClassSend, ClassSource: "default",
			Presentation: core.Presentation{Kind: core.KindPlugin, Title: "Builder wants to send a message"},
			Offered:      []core.Decision{core.DecisionAllowOnce, core.DecisionDeny},
			Continuation: core.ContinuationDurable, Agent: "builder", SessionKey: "session-1", Status: core.StatusPending,
			Grant: core.Grant{Execution: core.ExecutionNone},
		},
		ExpiresIn: core.MaxExpiry,
	}
	for i := range cards {
		chat := strconv.Itoa(100_000 + i)
		c.Deliveries = append(c.Deliveries, core.PlannedDelivery{
			ID: newID(), Channel: core.SurfaceTelegram, Account: "1", Destination: "chat:" + chat, Address: chat,
		})
	}
	return c
}

// Ids of copied rows: as long as those that the service makes, ascending like them,
// and told apart by a number.
const (
	pgIDPrefix   = "01890000-0000-7000-8000-"
	pgCardPrefix = "01890000-0000-7000-9000-"
	pgDigits     = 12
)

func pgID(n int64) string { return fmt.Sprintf("%s%0*d", pgIDPrefix, pgDigits, n) }

// changes are expressions for columns of copied rows, by table: over g.n, the number of
// the copy, and t, the row that is copied.
type changes map[string]map[string]string

// copies makes n pending rows like the seed, with its deliveries and its event, and
// returns the number of the first. What is measured later is never how they came to
// be.
func (l *pgLab) copies(ctx context.Context, n int64) (first int64, err error) {
	first = l.next
	l.next += n
	return first, l.copyRows(ctx, l.pool, l.seed.ID, first, n, nil)
}

// querier is a connection, a pool of them or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}

// copyRows copies a row and what belongs to it under the numbers from first on.
func (l *pgLab) copyRows(ctx context.Context, q querier, of string, first, n int64, more changes) error {
	id := "'" + pgIDPrefix + "' || lpad(g.n::text, " + strconv.Itoa(pgDigits) + ", '0')"
	ref := `translate(rtrim(encode(sha256(convert_to('plugin', 'UTF8') || '\x00'::bytea || convert_to(` + id + `, 'UTF8')), 'base64'), '='), '+/', '-_')`
	card := "'" + pgCardPrefix + "' || lpad((g.n * 4 + row_number() OVER (PARTITION BY g.n ORDER BY t.id))::text, " + strconv.Itoa(pgDigits) + ", '0')"
	for _, table := range []struct {
		name, key string
		as        map[string]string
	}{
		{"approvals", "id", map[string]string{"id": id, "ref": ref}},
		{"deliveries", "approval_id", map[string]string{"id": card, "approval_id": id}},
		{"events", "approval_id", map[string]string{"seq": "NULL", "approval_id": id}},
	} {
		maps.Copy(table.as, more[table.name])
		if err := copyNumbered(ctx, q, table.name, table.key, table.as, of, first, n); err != nil {
			return fmt.Errorf("copy %s: %w", table.name, err)
		}
	}
	return nil
}

func copyNumbered(ctx context.Context, q querier, table, key string, as map[string]string, of string, first, n int64) error {
	rows, err := q.Query(ctx, `SELECT column_name::text FROM information_schema.columns WHERE table_name = $1 ORDER BY ordinal_position`, table)
	if err != nil {
		return err
	}
	columns, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	values := make([]string, len(columns))
	for i, c := range columns {
		if values[i] = as[c]; values[i] == "" {
			values[i] = "t." + c
		}
	}
	_, err = q.Exec(ctx, fmt.Sprintf("INSERT INTO %s (%s) SELECT %s FROM generate_series($1::bigint, $2::bigint) AS g (n), %s t WHERE t.%s = $3",
		table, strings.Join(columns, ", "), strings.Join(values, ", "), table, key), first, first+n-1, of)
	return err
}

// tidy leaves nothing of what was prepared for the measured slices to do.
func (l *pgLab) tidy(ctx context.Context) error {
	for _, q := range []string{"VACUUM ANALYZE", "CHECKPOINT"} {
		if _, err := l.pool.Exec(ctx, q); err != nil {
			return fmt.Errorf("tidy up: %w", err)
		}
	}
	return nil
}

// decision is what the service hands to the store: an answer to a row that was read.
func (l *pgLab) decision(caller int, id string) core.Decide {
	seen, p := l.seed, &l.people[caller%len(l.people)]
	seen.ID, seen.Ref = id, core.ResolutionRef(seen.Kind, id)
	return core.Decide{
		ID: id, AttemptID: newID(), Guard: core.Guard{PersonID: p.ID, PersonRevision: p.Revision}, Seen: &seen,
		To: core.Terminal{
			Status: core.StatusAllowed, Decision: core.DecisionAllowOnce, Reason: core.ReasonUser,
			ResolverKind: core.ResolverHuman, ResolverID: p.ID, ResolverName: p.Name, Surface: core.SurfacePage,
		},
	}
}

func (l *pgLab) decide(ctx context.Context, caller int, id string) error {
	done, err := l.store.Decide(ctx, l.decision(caller, id))
	if err == nil && !done.Applied {
		err = errors.New("the decision was not applied")
	}
	return err
}

// create asks as the service does.
func (l *pgLab) create(ctx context.Context, cards int) error {
	made, err := l.store.Create(ctx, pgDraft(newID(), cards))
	if err == nil && made.Existing {
		err = errors.New("the question was not new")
	}
	return err
}
