//go:build unix

package faults

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/saysohq/sayso/core"
)

// row is what the record says of one question.
type row struct {
	id        string
	status    core.Status
	decision  core.Decision
	surface   core.Surface
	execution core.Execution
	token     string
}

// audit holds the record and the messengers against what everybody was told.
type audit struct {
	town    *town
	stories []*story
	once    bool // No answer is handed over twice.
	c       *pgx.Conn
	rows    map[string]row
	found   []string
	counts  counts
}

func (a *audit) wrong(format string, args ...any) {
	a.found = append(a.found, fmt.Sprintf(format, args...))
}

// run checks all of it and returns what is wrong. Errors are of the checking itself.
func (a *audit) run(ctx context.Context) (err error) {
	if a.c, err = pgx.Connect(ctx, a.town.dsn()); err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer func() { err = errors.Join(err, a.c.Close(context.WithoutCancel(ctx))) }()
	if err := a.converged(ctx); err != nil {
		return err
	}
	if err := a.readRows(ctx); err != nil {
		return err
	}
	for _, s := range a.stories {
		a.decided(s)
		a.executed(s)
		for _, fault := range s.faults {
			a.wrong("%s: %s", s.approval.ID, fault)
		}
	}
	for _, check := range []func(context.Context) error{a.orphans, a.cards, a.events} {
		if err := check(ctx); err != nil {
			return err
		}
	}
	a.obeyed()
	return nil
}

// Statements that count what is left to be done.
const (
	sqlLeft = `SELECT (SELECT count(*) FROM approvals WHERE status = 'pending') AS pending,
		(SELECT count(*) FROM deliveries WHERE state <> 'closed' OR due_at IS NOT NULL) AS cards,
		(SELECT count(*) FROM events WHERE seq IS NULL) AS events`
	sqlLate = `UPDATE deliveries SET lease_until = least(lease_until, created_at), settle_at = least(settle_at, created_at),
		due_at = least(due_at, created_at) WHERE state <> 'closed'`
)

// convergeLimit is how long the last card may take after the last fault: the lease of a
// send that a dead process left, the time in which a late call could still paint, and
// the pauses between attempts.
const convergeLimit = 2*time.Minute + 30*time.Second

// converged waits until nothing is left to be done anywhere.
func (a *audit) converged(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, convergeLimit)
	defer cancel()
	began := time.Now()
	var pending, cards, events int
	for {
		if err := a.c.QueryRow(ctx, sqlLeft).Scan(&pending, &cards, &events); err != nil && ctx.Err() == nil {
			return fmt.Errorf("look for work: %w", err)
		}
		if pending+cards+events == 0 {
			a.counts.converged = time.Since(began)
			return nil
		}
		if pause(ctx, healthEvery) != nil {
			a.wrong("after %s there are left: %d questions, %d cards, %d events without a number", convergeLimit, pending, cards, events)
			return nil
		}
	}
}

func (a *audit) readRows(ctx context.Context) error {
	rows, err := a.c.Query(ctx, `SELECT id, status, decision, surface, execution, claim_token FROM approvals`)
	if err != nil {
		return fmt.Errorf("read record: %w", err)
	}
	a.rows = map[string]row{}
	var r row
	_, err = pgx.ForEachRow(rows, []any{&r.id, &r.status, &r.decision, &r.surface, &r.execution, &r.token}, func() error {
		a.rows[r.id] = r
		return nil
	})
	if err != nil {
		return fmt.Errorf("read record: %w", err)
	}
	if len(a.rows) != len(a.stories) {
		a.wrong("%d questions were asked, and %d are recorded", len(a.stories), len(a.rows))
	}
	return nil
}

// decided holds a question's end against what the people were told who answered it.
func (a *audit) decided(s *story) {
	a.counts.checks++
	r, ok := a.rows[s.approval.ID]
	if !ok {
		a.wrong("%s: it was acknowledged and is not recorded", s.approval.ID)
		return
	}
	if r.status != core.StatusAllowed && r.status != core.StatusDenied {
		a.wrong("%s: nobody's answer ended it: %s", r.id, r.status)
		return
	}
	winners := map[way]bool{}
	surprised, explained := false, false
	for _, at := range s.attempts {
		a.counts.checks++
		a.counts.told[at.told]++
		fits := at.decision == r.decision
		switch at.told {
		case toldWon:
			winners[at.way] = true
			if !fits || at.way.surface() != r.surface {
				a.wrong("%s: %s on the %s was acknowledged, and the record says %s on %s", r.id, at.decision, at.way, r.decision, r.surface)
			}
		case toldSame, toldSettled:
			if !fits {
				a.wrong("%s: %s on the %s was acknowledged, and the record says %s", r.id, at.decision, at.way, r.decision)
			}
		case toldLost:
			if fits && at.way.surface() == r.surface && len(s.attempts) == 1 {
				a.wrong("%s: the only answer there was lost", r.id)
			}
		default: // Nobody was promised anything.
		}
		if fits && at.way.surface() == r.surface {
			surprised = surprised || at.told == toldNothing
			explained = explained || a.mayHaveWon(at)
		}
	}
	if len(winners) > 1 {
		a.wrong("%s: %d answers were told that they had decided", r.id, len(winners))
	}
	if surprised && !explained {
		a.wrong("%s: somebody was told that nothing was recorded, and it is: %v", r.id, s.attempts)
	}
	a.counts.ended[string(r.decision)]++
}

// mayHaveWon reports whether an answer that fits the record may be the one that decided,
// after what was told. Whoever hears that the same had been decided did not, unless the
// answer was taken twice: by a program that asked again, or because a messenger handed
// it over again when a replica died or a job moved.
func (a *audit) mayHaveWon(at attempt) bool {
	if at.told == toldSame {
		return !a.once || at.way == wayAPI
	}
	return at.told != toldNothing && at.told != toldLost
}

// executed holds what ran against the record: nothing without an allow, nothing twice,
// nothing that the record does not know.
func (a *audit) executed(s *story) {
	a.counts.checks++
	r := a.rows[s.approval.ID]
	for range s.runs {
		a.counts.checks++
		a.counts.ran++
		if r.status != core.StatusAllowed {
			a.wrong("%s: it ran without an allow", r.id)
		}
		if r.execution == core.ExecutionNone || r.execution == core.ExecutionUnclaimed || r.execution == core.ExecutionVoided {
			a.wrong("%s: it ran, and its grant is recorded as %s", r.id, r.execution)
		}
	}
	if len(s.runs) == 0 && r.status == core.StatusAllowed {
		a.wrong("%s: it was allowed, and no runner of %d got it: %s", r.id, s.tried, r.execution)
	}
	if s.reported && r.execution != core.ExecutionSucceeded {
		a.wrong("%s: its outcome was acknowledged and is recorded as %s", r.id, r.execution)
	}
}

// orphanLimit is how long a card that nobody knew may take to tell the truth after it
// was pressed.
const orphanLimit = 45 * time.Second

// orphans presses every card that still has buttons, such as one whose sender was
// killed before it could note it: it must answer with the truth, and then show it.
func (a *audit) orphans(ctx context.Context) error {
	pressed := map[core.Surface][]string{}
	for on, list := range a.town.messages() {
		for i := range list {
			m := &list[i]
			if !asks(m) || m.Deleted || titled.FindString(m.Text) == "" {
				continue
			}
			a.counts.checks++
			a.counts.orphans++
			if got := heard(a.town.press(ctx, on, m, core.DecisionDeny)); got != toldLost && got != toldSame {
				a.wrong("a card on %s that nobody knew answers: %s", on, got)
			}
			pressed[on] = append(pressed[on], m.Locator)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, orphanLimit)
	defer cancel()
	for on, list := range pressed {
		for _, locator := range list {
			if again(ctx, func() bool {
				m, ok := a.town.message(on, locator)
				return !ok || !asks(&m)
			}) != nil {
				a.wrong("a card on %s still asks after it was pressed: %s", on, a.known(context.WithoutCancel(ctx), on, locator))
			}
		}
	}
	return nil
}

// known is what the ledger knows of a message, for whoever has to find out why it is wrong.
func (a *audit) known(ctx context.Context, on core.Surface, locator string) string {
	m, ok := a.town.message(on, locator)
	if !ok {
		return locator + ", which is gone"
	}
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	rows, err := a.c.Query(ctx, `SELECT row_to_json(d) FROM deliveries d JOIN approvals a ON a.id = d.approval_id
		WHERE d.channel = $1 AND (d.locator = $2 OR a.presentation ->> 'title' ~ ($3 || '\M'))`, on, locator, titled.FindString(m.Text))
	if err != nil {
		return fmt.Sprintf("%s, and the ledger cannot be read: %v", locator, err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return fmt.Sprintf("%s shows %q; the ledger has %d rows of it %v: %v", locator, m.Text, len(list), err, list)
}

// cards holds the ledger's last word against the messages.
func (a *audit) cards(ctx context.Context) error {
	rows, err := a.c.Query(ctx, `SELECT approval_id, channel, locator, outcome, last_error FROM deliveries`)
	if err != nil {
		return fmt.Errorf("read cards: %w", err)
	}
	var id, locator, class string
	var on core.Surface
	var outcome core.DeliveryOutcome
	_, err = pgx.ForEachRow(rows, []any{&id, &on, &locator, &outcome, &class}, func() error {
		a.counts.checks++
		a.counts.cards[string(outcome)]++
		switch outcome {
		case core.OutcomeReplaced, core.OutcomeRetired:
			if m, ok := a.town.message(on, locator); !ok || asks(&m) {
				a.wrong("%s: its card on %s is recorded as %s and asks", id, on, outcome)
			}
		case core.OutcomeFailed, core.OutcomeUnsupported:
			if class == "" {
				a.wrong("%s: its card on %s is %s for no recorded reason", id, on, outcome)
			}
		case core.OutcomePossibleOrphan, core.OutcomeSkipped:
			if locator != "" {
				a.wrong("%s: its card on %s is recorded as %s, and its message is known", id, on, outcome)
			}
		default: // There is no message that could be wrong.
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("read cards: %w", err)
	}
	return nil
}

// events checks that the numbers have no gap, and that the events of each question are
// in order and linked.
func (a *audit) events(ctx context.Context) error {
	rows, err := a.c.Query(ctx, `SELECT approval_id, revision, type, coalesce(seq, 0), previous FROM events ORDER BY seq, approval_id, revision, type`)
	if err != nil {
		return fmt.Errorf("read events: %w", err)
	}
	type last struct{ revision, seq int64 }
	latest, ends := map[string]last{}, map[string]int{}
	terminal := []string{"approval.granted", "approval.rejected", "approval.expired", "approval.cancelled"}
	var id, kind string
	var revision, seq, previous, next int64
	_, err = pgx.ForEachRow(rows, []any{&id, &revision, &kind, &seq, &previous}, func() error {
		next++
		a.counts.checks++
		before := latest[id]
		if seq != next {
			a.wrong("event %d has the number %d", next, seq)
			next = seq
		}
		beside := strings.HasPrefix(kind, "wait.") // It has the revision of what began or ended the wait.
		if revision < before.revision || revision == before.revision && !beside || previous != before.seq {
			a.wrong("%s: event %d is out of order", id, seq)
		}
		latest[id] = last{revision, seq}
		if slices.Contains(terminal, kind) {
			ends[id]++
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("read events: %w", err)
	}
	for _, s := range a.stories {
		if ends[s.approval.ID] != 1 {
			a.wrong("%s: it has %d ends", s.approval.ID, ends[s.approval.ID])
		}
	}
	a.counts.events = int(next)
	return nil
}

// obeyed reports requests that broke a rule of their platform.
func (a *audit) obeyed() {
	for on, list := range map[core.Surface][]string{
		core.SurfaceTelegram: a.town.telegram.Violations.List(), core.SurfaceSlack: a.town.slack.Violations.List(),
		core.SurfaceDiscord: a.town.discord.Violations.List(),
	} {
		for _, v := range list {
			a.wrong("%s: %s", on, v)
		}
	}
}
