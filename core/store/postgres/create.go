package postgres

import (
	"context"
	"fmt"
	"slices"
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
	// sqlAddEvent records the event. The deadline is the database's to say: it stands
	// between the halves of the body.
	sqlAddEvent = `INSERT INTO events (approval_id, revision, type, runtime, caused_by, created_at, payload)
		SELECT a.id, a.revision, $2::text, a.runtime, a.caused_by, a.created_at, ($3::text || a.expires_at || $4::text)::json
		FROM approvals a WHERE ` + byUs
	// sqlAddCards does the same and writes the planned cards.
	sqlAddCards = `WITH a AS MATERIALIZED (SELECT a.id, a.revision, a.runtime, a.caused_by, a.created_at, a.expires_at
			FROM approvals a WHERE ` + byUs + `),
		cards AS (INSERT INTO deliveries (id, approval_id, channel, account, destination, person_id, address,
			state, due_at, give_up_at, created_at, updated_at)
		SELECT p.id, a.id, p.channel, p.account, p.destination, p.person_id, nullif(p.address, ''), 'planned',
			a.created_at + p.after, least(a.expires_at, a.created_at + p.after + $12::bigint), a.created_at, a.created_at
		FROM a, unnest($5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::bigint[])
			AS p (id, channel, account, destination, person_id, address, after))
		INSERT INTO events (approval_id, revision, type, runtime, caused_by, created_at, payload)
		SELECT a.id, a.revision, $2::text, a.runtime, a.caused_by, a.created_at, ($3::text || a.expires_at || $4::text)::json FROM a`
)

// newCreate writes the statement that makes a row out of values whose times count
// from the moment of writing. Behind the columns come the limit, the channels,
// accounts and addresses of the planned cards, the floor of the clock, whether nobody
// else asks for the runtime meanwhile, and what the evaluation relied on.
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
		withinLimit(at["runtime"], more(1, "bigint"), more(6, "boolean")),
		reliesOn(at["runtime"], at["agent"], more(7, "bigint"), more(8, "text")),
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
	d, open, err := s.request(c)
	if err != nil || !open {
		return core.Created{}, err
	}
	at := core.Millis(0)
	for _, alone := range s.ways(limitOf(&c)) {
		if at, err = s.insert(ctx, d, alone); err != nil {
			return core.Created{}, err
		}
		if at != 0 {
			break
		}
	}
	if at == 0 {
		return core.Created{}, nil
	}
	if err := record.Stamp(&d.a, c, at); err != nil {
		return core.Created{}, err
	}
	if d.a.Status.Terminal() {
		s.Ended(d.a)
	}
	return core.Created{Approval: d.a}, nil
}

// request is a request in the words of the statements.
type request struct {
	core.NewApproval
	a     core.Approval
	row   []any
	cards planned
	// before and after are the event's body around the deadline, which is the database's
	// to say.
	before, after string
}

// request prepares a request; open is false where the short way cannot be taken.
func (s *Store) request(c core.NewApproval) (d *request, open bool, err error) {
	d = &request{NewApproval: c, a: c.Approval, cards: plannedColumns(c.Deliveries)}
	if d.a.IdempotencyKey != "" {
		d.a.KeyGeneration = 1
	}
	if c.OnlyExisting || d.a.Supersedes != "" || d.a.StickyOf != "" || d.cards.repeats || record.Bounded(&c) != nil || record.Stamp(&d.a, c, provisional) != nil {
		return nil, false, nil
	}
	if d.row, err = s.countFromNow(&d.a); err != nil {
		return nil, false, err
	}
	d.row = append(d.row, int64(limitOf(&c)), d.cards.channels, d.cards.accounts, d.cards.addresses)
	told := d.a
	told.ExpiresAt = 0
	body, err := record.EventBody(&told)
	if err != nil {
		return nil, false, err
	}
	// Everything before the deadline in the body is quoted: its first zero is its own.
	d.before, d.after, _ = strings.Cut(body, `"expires_at":0`)
	d.before += `"expires_at":`
	return d, true, nil
}

// insert writes a request in one batch and returns when; 0 means that nothing was
// written, because something stands in the way.
func (s *Store) insert(ctx context.Context, d *request, alone bool) (at core.Millis, err error) {
	err = s.retry(ctx, func() error {
		at = 0
		b := &pgx.Batch{}
		s.queueParents(b, d, alone)
		generation, rule := reliedOn(d.Policy)
		b.Queue(s.sql.insert, append(slices.Clip(d.row), s.floor.get(), alone, generation, rule)...).Query(func(rows pgx.Rows) error {
			return each(rows, func(scan record.Row) error { return scan((*int64)(&at)) })
		})
		if d.Detail.Text != "" || d.Detail.Omitted > 0 {
			b.Queue(sqlAddDetail, d.a.ID, d.Detail.Text, d.Detail.Omitted)
		}
		if rule != "" {
			b.Queue(sqlCountUse, d.a.ID, rule)
		}
		query, args := sqlAddEvent, []any{d.a.ID, string(core.EventOf(d.a.Status, d.a.Origin)), d.before, d.after}
		if p := &d.cards; d.a.Status == core.StatusPending && len(d.Deliveries) > 0 {
			query = sqlAddCards
			args = append(args, p.ids, p.channels, p.accounts, p.destinations, p.people, p.addresses, p.after, int64(core.GiveUpAfter))
		}
		b.Queue(query, args...)
		if err := s.queueBeside(b, &d.a, core.EventOf(d.a.Status, d.a.Origin)); err != nil {
			return err
		}
		return s.sendAll(ctx, b)
	})
	s.floor.raise(int64(at))
	return at, err
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

// queueParents locks what the row relies on: the policy, the instance, the run, then
// the number of open questions.
func (s *Store) queueParents(b *pgx.Batch, d *request, alone bool) {
	a := &d.a
	if s.pooled {
		b.Queue(sqlDurable)
	}
	if d.Policy != nil {
		b.Queue(sqlSharePolicy, record.PolicyName(a.Runtime, a.Agent))
	}
	if a.Instance != "" {
		b.Queue(sqlHoldInstance, record.LockName("instance", a.Runtime, a.Instance))
	}
	if a.RunID != "" {
		b.Queue(s.sql.insertRun, a.Runtime, a.RunID, s.floor.get())
		b.Queue(sqlHoldRun, a.Runtime, a.RunID)
	}
	if limitOf(&d.NewApproval) > 0 {
		b.Queue(holdPending(alone), record.PendingName(a.Runtime))
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
