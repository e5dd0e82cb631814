package bench

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	manyCallers = 32
	cards       = 3 // Chats in which a measured approval is shown.
)

// resolve compares decisions of 32 callers through the service with plain SQL. Turns are
// so short that what either side decides in one still is in its cache.
func (b *bench) resolve(ctx context.Context) error {
	return b.againstSQL(ctx, sqlRound{
		name: "resolve", title: "32 callers, service beside one commit per write", target: ">= 5x, goal 8x",
		callers: manyCallers, rounds: 48, turn: 100 * time.Millisecond, least: 5,
	})
}

// single does the same with one caller, for whom nothing can be grouped.
func (b *bench) single(ctx context.Context) error {
	return b.againstSQL(ctx, sqlRound{
		name: "single", title: "1 caller, service beside one commit per write", target: ">= 0.8x",
		callers: 1, rounds: 24, turn: 250 * time.Millisecond, least: 0.8,
	})
}

// sqlRound is one comparison with the baseline.
type sqlRound struct {
	name, title, target string
	callers, rounds     int
	turn                time.Duration
	least               float64
}

func (b *bench) againstSQL(ctx context.Context, r sqlRound) (err error) {
	ours, err := b.lab(ctx, r.name, cards)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ours.close()) }()
	l, err := b.lab(ctx, r.name+"-raw", cards)
	if err != nil {
		return err
	}
	raw, err := openBaseline(ctx, l)
	if err != nil {
		return errors.Join(err, l.close())
	}
	defer func() { err = errors.Join(err, raw.close()) }()

	rawSide := &side{
		callers: 1, guess: 2000, fill: raw.fill,
		decide: func(ctx context.Context, _ int, id string) error { return raw.resolve(ctx, id) },
	}
	p, all, err := b.compare(ctx, r.rounds, r.turn, rawSide, ours.side(r.callers))
	if err != nil {
		return err
	}
	b.report.add(r.title, p.value(), r.target, p.verdict(r.least))
	b.report.add("  its latency", all.times.String(), "", told)
	b.report.add("  decisions per commit", fmt.Sprintf("%.1f (%d decisions, %d commits)", float64(all.n)/float64(all.commits), all.n, all.commits), "", told)
	return nil
}

// lab opens a lab in a folder of its own.
func (b *bench) lab(ctx context.Context, name string, cards int) (*lab, error) {
	b.printf("%s ...\n", name)
	dir, err := b.folder(name)
	if err != nil {
		return nil, err
	}
	return openLab(ctx, dir, cards)
}

func (l *lab) fill(ctx context.Context, n int) ([]string, error) { return l.copies(ctx, &l.seed, n) }

// side is the service of the lab, called as a surface of this process calls it.
func (l *lab) side(callers int) *side {
	return &side{
		callers: callers, guess: 2000, fill: l.asked, commits: l.commits,
		decide: func(ctx context.Context, _ int, id string) error { return l.resolve(ctx, id) },
	}
}
