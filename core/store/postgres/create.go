package postgres

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/store/internal/record"
)

// create holds the statements of a new question, which are one round trip and one
// commit where nothing stands in the way: no row with its id or key, no moved chat,
// no aborted run, no newer epoch, no limit reached. Otherwise the first of them
// writes nothing, neither do the others, and the way that looks at each hindrance
// is taken.
type create struct {
	insert, insertRun string
}

const (
	sqlHoldInstance = `SELECT pg_advisory_xact_lock_shared(hashtextextended($1, 0))::text`
	sqlHoldRun      = `SELECT 1 FROM runs WHERE runtime = $1 AND id = $2 FOR SHARE`

	sqlAddDetail = `INSERT INTO approval_details (approval_id, text, omitted)
		SELECT a.id, $2::text, $3::bigint FROM approvals a WHERE ` + byUs
	sqlAddDeliveries = `INSERT INTO deliveries (id, approval_id, channel, account, destination, person_id, address,
			state, due_at, give_up_at, created_at, updated_at)
		SELECT p.id, a.id, p.channel, p.account, p.destination, p.person_id, nullif(p.address, ''), 'planned',
			a.created_at + p.after, least(a.expires_at, a.created_at + p.after + $9::bigint), a.created_at, a.created_at
		FROM approvals a, unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::bigint[])
			AS p (id, channel, account, destination, person_id, address, after)
		WHERE ` + byUs
	// The deadline is the database's to say: it stands between the halves of the body.
	sqlAddEvent = `INSERT INTO events (approval_id, revision, type, runtime, caused_by, created_at, payload)
		SELECT a.id, a.revision, $2::text, a.runtime, a.caused_by, a.created_at, ($3::text || a.expires_at || $4::text)::json
		FROM approvals a WHERE ` + byUs
)

// newCreate writes the statement that makes a row out of values whose times count
// from the moment of writing. Behind the columns come the limit, the channels,
// accounts and addresses of the planned cards, and the floor of the clock.
func newCreate(clock string, t *record.Table) create {
	names, types := t.Columns()
	at := make(map[string]string, len(names))
	list := make([]string, len(names))
	for i, name := range names {
		p := "$" + strconv.Itoa(i+1) + "::" + types[i]
		at[name] = p
		switch name {
		case "created_at", "updated_at", "expires_at":
			p = "c.now + " + p
		case "resolved_at", "claim_by": // Negative where there is none.
			p = "CASE WHEN " + p + " < 0 THEN 0 ELSE c.now + " + p + " END"
		}
		list[i] = p
	}
	more := func(n int, kind string) string { return "$" + strconv.Itoa(len(names)+n) + "::" + kind }
	// Conditions that do not concern a request hold by their first half.
	conditions := []string{
		"NOT EXISTS (SELECT 1 FROM approvals o WHERE o.id = " + at["id"] + ")",
		"NOT EXISTS (SELECT 1 FROM spent_ids o WHERE o.id = " + at["id"] + ")",
		"(" + at["idempotency_key"] + " = '' OR NOT EXISTS (SELECT 1 FROM approvals o WHERE o.idempotency_key <> '' AND o.runtime = " +
			at["runtime"] + " AND o.idempotency_key = " + at["idempotency_key"] + "))",
		"(" + at["run_id"] + " = '' OR EXISTS (SELECT 1 FROM runs r WHERE r.runtime = " + at["runtime"] + " AND r.id = " +
			at["run_id"] + " AND r.aborted_at = 0))",
		"(" + at["instance"] + " = '' OR " + at["epoch"] + " = (SELECT coalesce(max(i.epoch), 0) FROM instances i WHERE i.runtime = " +
			at["runtime"] + " AND i.name = " + at["instance"] + "))",
		"(" + more(1, "bigint") + " <= 0 OR (SELECT count(*) FROM approvals o WHERE o.status = 'pending' AND o.runtime = " + at["runtime"] +
			" AND o.expires_at > c.now) < " + more(1, "bigint") + ")",
		"(cardinality(" + more(4, "text[]") + ") = 0 OR NOT EXISTS (SELECT 1 FROM chat_aliases m JOIN unnest(" + more(2, "text[]") + ", " +
			more(3, "text[]") + ", " + more(4, "text[]") + ") AS p (channel, account, address)" +
			" ON m.channel = p.channel AND m.account = p.account AND m.address = p.address))",
	}
	return create{
		insert: "WITH c AS MATERIALIZED (SELECT greatest(" + clock + ", " + more(5, "bigint") + ") AS now) INSERT INTO approvals (" + strings.Join(names, ", ") +
			") SELECT " + strings.Join(list, ", ") + " FROM c WHERE " + strings.Join(conditions, " AND ") +
			" ON CONFLICT DO NOTHING RETURNING created_at",
		insertRun: "INSERT INTO runs (runtime, id, created_at) VALUES ($1, $2, greatest(" + clock + ", $3::bigint)) ON CONFLICT DO NOTHING",
	}
}

// Create writes the approval, its detail, its event and its planned deliveries,
// all or nothing, in one round trip where nothing stands in the way. See
// core.Approvals for its answers.
func (s *Store) Create(ctx context.Context, c core.NewApproval) (core.Created, error) {
	if err := ctx.Err(); err != nil {
		return core.Created{}, fmt.Errorf("create approval: %w", translate(err))
	}
	made, err := s.createOnce(ctx, c)
	if err != nil {
		return core.Created{}, fmt.Errorf("create approval: %w", err)
	}
	if made.Approval.ID == "" {
		return s.Store.Create(ctx, c)
	}
	return made, nil
}

// createOnce tries the short way; the zero answer means that it is not open.
func (s *Store) createOnce(ctx context.Context, c core.NewApproval) (core.Created, error) {
	p := plannedColumns(c.Deliveries)
	a := c.Approval
	if a.IdempotencyKey != "" {
		a.KeyGeneration = 1
	}
	if c.OnlyExisting || a.Supersedes != "" || p.repeats || record.Bounded(&c) != nil || record.Stamp(&a, c, provisional) != nil {
		return core.Created{}, nil
	}
	row, err := s.countFromNow(&a)
	if err != nil {
		return core.Created{}, err
	}
	row = append(row, int64(limitOf(&c)), p.channels, p.accounts, p.addresses, s.floor.get())
	a.ExpiresAt = 0
	body, err := record.EventBody(&a)
	if err != nil {
		return core.Created{}, err
	}
	// Everything before the deadline in the body is quoted: its first zero is its own.
	before, after, _ := strings.Cut(body, `"expires_at":0`)
	var at int64
	err = s.retry(ctx, func() error {
		at = 0
		b := &pgx.Batch{}
		s.queueParents(b, &a)
		b.Queue(s.sql.insert, row...).Query(func(rows pgx.Rows) error {
			return each(rows, func(scan record.Row) error { return scan(&at) })
		})
		if c.Detail.Text != "" || c.Detail.Omitted > 0 {
			b.Queue(sqlAddDetail, a.ID, c.Detail.Text, c.Detail.Omitted)
		}
		if a.Status == core.StatusPending && len(c.Deliveries) > 0 {
			b.Queue(sqlAddDeliveries, a.ID, p.ids, p.channels, p.accounts, p.destinations, p.people, p.addresses, p.after, int64(core.GiveUpAfter))
		}
		b.Queue(sqlAddEvent, a.ID, string(core.EventOf(a.Status, a.Origin)), before+`"expires_at":`, after)
		return s.sendAll(ctx, b)
	})
	if err != nil || at == 0 {
		return core.Created{}, err
	}
	s.floor.raise(at)
	if err := record.Stamp(&a, c, core.Millis(at)); err != nil {
		return core.Created{}, err
	}
	if a.Status.Terminal() {
		s.Ended(a)
	}
	return core.Created{Approval: a}, nil
}

// provisional stands for the time of writing until it is known.
const provisional core.Millis = 1

// countFromNow is the row with times that count from the moment of writing.
func (s *Store) countFromNow(a *core.Approval) ([]any, error) {
	from := *a
	from.CreatedAt, from.UpdatedAt, from.ExpiresAt = 0, 0, a.ExpiresAt-provisional
	for _, t := range []*core.Millis{&from.ResolvedAt, &from.ClaimBy} {
		if *t -= provisional; *t < 0 {
			*t = -1
		}
	}
	return s.Table().Values(&from)
}

// queueParents locks what the row relies on: the instance, then the run.
func (s *Store) queueParents(b *pgx.Batch, a *core.Approval) {
	if s.pooled {
		b.Queue(sqlDurable)
	}
	if a.Instance != "" {
		b.Queue(sqlHoldInstance, record.LockName("instance", a.Runtime, a.Instance))
	}
	if a.RunID != "" {
		b.Queue(s.sql.insertRun, a.Runtime, a.RunID, s.floor.get())
		b.Queue(sqlHoldRun, a.Runtime, a.RunID)
	}
}

// sendAll sends a batch that is a transaction of its own.
func (s *Store) sendAll(ctx context.Context, b *pgx.Batch) error {
	c, err := s.acquire(ctx)
	if err != nil {
		return err
	}
	defer c.Release()
	own, end := s.own(ctx)
	defer end()
	return batchError(c.SendBatch(own, b).Close())
}

func limitOf(c *core.NewApproval) int {
	if c.Approval.Status != core.StatusPending {
		return 0
	}
	return c.MaxPending
}

// planned are the cards of a request, column by column.
type planned struct {
	ids, channels, accounts, destinations, people, addresses []string
	after                                                    []int64
	repeats                                                  bool // Two of them go to one address.
}

func plannedColumns(list []core.PlannedDelivery) planned {
	type place struct{ channel, account, address string }
	p := planned{channels: []string{}, accounts: []string{}, addresses: []string{}}
	seen := map[place]bool{}
	for _, d := range list {
		at := place{string(d.Channel), d.Account, d.Address}
		p.repeats = p.repeats || d.Address != "" && seen[at]
		seen[at] = true
		p.ids, p.channels, p.accounts = append(p.ids, d.ID), append(p.channels, string(d.Channel)), append(p.accounts, d.Account)
		p.destinations, p.people = append(p.destinations, d.Destination), append(p.people, d.PersonID)
		p.addresses = append(p.addresses, d.Address)
		p.after = append(p.after, int64(min(max(d.After, 0), core.MaxExpiry)))
	}
	return p
}
