package bench

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/saysohq/sayso/core"
)

const (
	pgFew      = 10_000    // Retained rows at first,
	pgMany     = 1_000_000 // and in the end, unless more are asked for.
	pgPending  = 20_000    // Open questions beside them: most of all rows, at first.
	pgChunk    = 50_000    // Rows that one statement loads.
	pgLoaders  = 2
	pgListed   = 50
	pgClaimed  = 20
	pgSwept    = 100
	pgRepeated = 5 // Reads and background work are counted over so many times.
)

// pgSize is what everything costs at one size of the database.
type pgSize struct {
	rows                           int64
	ask, decide                    pgCounts
	claim, sweep, pending, history float64 // Buffers.
}

// pgGrowth compares what work costs with few and with many retained rows. Nothing in it
// is a timing: log and buffers are counted.
func (b *bench) pgGrowth(ctx context.Context) (err error) {
	l, err := b.openPG(ctx, "postgres-growth", pgCards)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	old, err := l.retire(ctx)
	if err != nil {
		return err
	}
	many := int64(max(b.Rows, pgMany))
	began := time.Now()
	few, err := l.grown(ctx, old, pgFew, true)
	if err != nil {
		return err
	}
	b.printf("  loading %d rows ...\n", many)
	grown, err := l.grown(ctx, old, many-pgFew, false)
	if err != nil {
		return err
	}
	few.rows, grown.rows = pgFew, many
	b.reportGrowth(few, grown, time.Since(began))
	return nil
}

func (b *bench) reportGrowth(few, many pgSize, took time.Duration) {
	b.report.add(fmt.Sprintf("PostgreSQL: %d to %d retained rows, %d pending", few.rows, many.rows, pgPending), "loaded and measured in "+short(took), "", told)
	wal := func(name string, before, after pgCounts) {
		b.report.add("  WAL per "+name, fmt.Sprintf("%.0f B, %.0f B (page images beside it: %.0f B, %.0f B)", before.wal, after.wal, before.images, after.images),
			"within 10 %", judge(after.wal <= 1.1*before.wal && after.wal >= 0.9*before.wal))
	}
	wal("question", few.ask, many.ask)
	wal("decision", few.decide, many.decide)
	buffers := func(name string, before, after float64) {
		b.report.add("  buffers: "+name, fmt.Sprintf("%.0f, %.0f", before, after), "<= 1.5x", judge(after <= 1.5*before))
	}
	buffers("question", few.ask.buffers, many.ask.buffers)
	buffers("decision", few.decide.buffers, many.decide.buffers)
	buffers("claim of "+strconv.Itoa(pgClaimed), few.claim, many.claim)
	buffers("sweep of "+strconv.Itoa(pgSwept), few.sweep, many.sweep)
	list := func(name string, before, after float64) {
		b.report.add(fmt.Sprintf("  buffers: list of %d, %s", pgListed, name), fmt.Sprintf("%.0f, %.0f", before, after), "<= 100", judge(max(before, after) <= 100))
	}
	list("pending", few.pending, many.pending)
	list("all", few.history, many.history)
}

// retire makes the approval that retained ones are copies of: decided, its card edited
// and closed.
func (l *pgLab) retire(ctx context.Context) (id string, err error) {
	made, err := l.store.Create(ctx, pgDraft(newID(), 1))
	if err != nil {
		return "", err
	}
	d := l.decision(0, made.Approval.ID)
	if _, err := l.store.Decide(ctx, d); err != nil {
		return "", err
	}
	_, err = l.pool.Exec(ctx, `UPDATE deliveries SET state = 'closed', outcome = 'replaced', due_at = NULL, stale_since = 0, shown_revision = 2,
		locator = '100000:1' WHERE approval_id = $1`, made.Approval.ID)
	if err != nil {
		return "", fmt.Errorf("close card: %w", err)
	}
	_, err = l.pool.Exec(ctx, `UPDATE approvals SET execution = 'claimed', claim_token = 'x', consumed_at = resolved_at, outcome_by = resolved_at + 2000000000
		WHERE id = $1`, made.Approval.ID)
	if err != nil {
		return "", fmt.Errorf("claim grant: %w", err)
	}
	return made.Approval.ID, l.seedIsShown(ctx)
}

// seedIsShown makes the copies of the seed questions whose cards are out.
func (l *pgLab) seedIsShown(ctx context.Context) error {
	_, err := l.pool.Exec(ctx, `UPDATE deliveries SET state = 'open', due_at = NULL, shown_revision = 1, locator = 'shown:' || id WHERE approval_id = $1`, l.seed.ID)
	if err != nil {
		return fmt.Errorf("show card: %w", err)
	}
	return nil
}

// shownCards gives each copy of a card a message of its own.
func shownCards() changes {
	return changes{"deliveries": {"locator": "g.n || ':' || row_number() OVER (PARTITION BY g.n ORDER BY t.id)"}}
}

// grown loads retained rows, and open questions if asked to, and measures.
func (l *pgLab) grown(ctx context.Context, old string, rows int64, pending bool) (s pgSize, err error) {
	if err := l.load(ctx, old, rows); err != nil {
		return s, err
	}
	if pending {
		first := l.next
		l.next += pgPending
		if err := l.copyRows(ctx, l.pool, l.seed.ID, first, pgPending, shownCards()); err != nil {
			return s, err
		}
	}
	if err := l.tidy(ctx); err != nil {
		return s, err
	}
	if s.ask, err = l.counts(ctx, l.asking); err != nil {
		return s, err
	}
	if s.decide, err = l.counts(ctx, l.deciding); err != nil {
		return s, err
	}
	return s, l.countReads(ctx, &s)
}

// load copies a retained approval, spread over ten days before it, by several
// connections.
func (l *pgLab) load(ctx context.Context, old string, rows int64) error {
	first := l.next
	l.next += rows
	earlier := func(c string) string {
		return fmt.Sprintf("t.%s - (%d - g.n) * 864000000 / %d", c, first+rows, rows)
	}
	times := map[string]string{"created_at": earlier("created_at"), "updated_at": earlier("updated_at")}
	more := shownCards()
	more["deliveries"]["created_at"], more["deliveries"]["updated_at"] = times["created_at"], times["updated_at"]
	more["approvals"] = map[string]string{
		"created_at": times["created_at"], "updated_at": times["updated_at"], "expires_at": earlier("expires_at"),
		"resolved_at": earlier("resolved_at"), "claim_by": earlier("claim_by"), "consumed_at": earlier("consumed_at"),
	}
	more["events"] = map[string]string{"seq": "g.n * 2 + t.revision", "created_at": times["created_at"]}
	var next sync.Mutex
	at, errs := first, make([]error, pgLoaders)
	var all sync.WaitGroup
	for k := range pgLoaders {
		all.Go(func() {
			for errs[k] == nil {
				next.Lock()
				from := at
				at += pgChunk
				next.Unlock()
				if from >= first+rows {
					return
				}
				errs[k] = l.loadChunk(ctx, old, from, min(pgChunk, first+rows-from), more)
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// loadChunk loads without the care that only what is measured needs.
func (l *pgLab) loadChunk(ctx context.Context, old string, first, n int64, more changes) error {
	tx, err := l.pool.Begin(ctx)
	if err != nil {
		return fmt.Errorf("load rows: %w", err)
	}
	defer func() { _ = tx.Rollback(ctx) }() // Does nothing after the commit.
	if _, err := tx.Exec(ctx, "SET LOCAL session_replication_role = replica; SET LOCAL synchronous_commit = off"); err != nil {
		return fmt.Errorf("load rows: %w", err)
	}
	if err := l.copyRows(ctx, tx, old, first, n, more); err != nil {
		return err
	}
	return tx.Commit(ctx)
}

// countReads counts what lists and background work touch.
func (l *pgLab) countReads(ctx context.Context, s *pgSize) error {
	accounts := []core.AccountRef{{Channel: core.SurfaceTelegram, Account: "1"}}
	// What was counted before left cards behind: a backlog of its own size at each size.
	_, err := l.pool.Exec(ctx, `UPDATE deliveries SET due_at = NULL, state = 'open' WHERE due_at IS NOT NULL`)
	if err = errors.Join(err, l.tidy(ctx)); err != nil {
		return fmt.Errorf("clear backlog: %w", err)
	}
	for _, m := range []struct {
		into  *float64
		ready string // Makes work for each time.
		do    func() error
	}{
		{&s.pending, "", func() error { return l.listed(ctx, core.StatusPending) }},
		{&s.history, "", func() error { return l.listed(ctx, "") }},
		{&s.claim, `UPDATE deliveries SET due_at = 1, lease_holder = '', lease_until = 0 WHERE id IN
			(SELECT d.id FROM deliveries d WHERE d.state = 'open' AND d.due_at IS NULL ORDER BY d.id DESC LIMIT 20)`, func() error {
			works, _, err := l.store.ClaimDue(ctx, core.ClaimDue{Worker: "bench", Accounts: accounts, Limit: pgClaimed, Lease: 60_000})
			return whole(len(works), pgClaimed, err)
		}},
		{&s.sweep, `UPDATE approvals SET created_at = 1, expires_at = 2 WHERE id IN (SELECT id FROM approvals WHERE status = 'pending' ORDER BY id LIMIT 100)`, func() error {
			hints, err := l.store.Sweep(ctx, pgSwept)
			return whole(len(hints), pgSwept, err)
		}},
	} {
		var sum float64
		for i := range pgRepeated + 1 {
			if m.ready != "" {
				if _, err := l.pool.Exec(ctx, m.ready); err != nil {
					return fmt.Errorf("make work: %w", err)
				}
			}
			c, err := l.cost(ctx, 1, func(int) error { return m.do() })
			if err != nil {
				return err
			}
			if i > 0 { // The first time a session also reads the catalogue.
				sum += c.buffers
			}
		}
		*m.into = sum / pgRepeated
	}
	return nil
}

func (l *pgLab) listed(ctx context.Context, status core.Status) error {
	page, err := l.store.List(ctx, core.ListQuery{Status: status, Limit: pgListed})
	return whole(len(page.Approvals), pgListed, err)
}

// whole is the error of work that came short of what was to be measured.
func whole(got, want int, err error) error {
	if err == nil && got != want {
		err = fmt.Errorf("%d rows instead of %d", got, want)
	}
	return err
}
