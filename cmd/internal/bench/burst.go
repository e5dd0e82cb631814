package bench

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/deliveries"
)

const (
	// budgetFactor scales the rates of the budgets, so that minutes become seconds.
	// Bursts and the platform's delays stay as they are.
	budgetFactor = 20

	floodDecisions = 25 // All at once.
	floodFresh     = 5  // Asked meanwhile, one a second, and decided when their cards are out.
	floodGroups    = 9
	floodTarget    = 1.2
	freshTarget    = 2 * time.Second
	refusedFor     = 2 * time.Second

	// What Telegram documents for a group, in a minute.
	groupWindow = time.Minute
	groupMost   = 20
)

func faster(r deliveries.Rate) deliveries.Rate {
	r.Events *= budgetFactor
	return r
}

// scaled is Telegram's budget, budgetFactor times as fast.
func scaled() deliveries.Budget {
	b := deliveries.TelegramBudget()
	return deliveries.Budget{Account: faster(b.Account), Direct: faster(b.Direct), Group: faster(b.Group)}
}

// least is the time that a budget needs at least for n calls of which all are there at
// once, its burst saved up; share is the part of the budget that they may use.
func least(r deliveries.Rate, n int, share float64) time.Duration {
	spare := max(1, int(share*float64(r.Burst)))
	return time.Duration(float64(max(0, n-spare)) * float64(r.Per) / (share * float64(r.Events)))
}

// flood is what a burst of decisions showed.
type flood struct {
	took    time.Duration   // From the first decision to the last edited message.
	cards   []time.Duration // From asking to the last card, of those asked meanwhile.
	answers []time.Duration // Of the decisions on those.
	began   time.Time
}

// burst decides many approvals in many chats at once, within the platform's budgets.
func (b *bench) burst(ctx context.Context) (err error) {
	measure := fmt.Sprintf("burst within Telegram's budgets x%d: %d+%d decisions, %d chats", budgetFactor, floodDecisions, floodFresh, 1+floodGroups)
	const target = "<= 1.2x of the least that final answers' share allows"
	if b.without(measure, target) {
		return nil
	}
	budget := scaled()
	c, err := b.connect(ctx, "burst", floodDecisions, map[core.Surface]deliveries.Budget{core.SurfaceTelegram: budget}, groups(floodGroups)...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	strict, ok := c.messenger.(Strict)
	if !ok {
		return errors.New("the messenger keeps no account of requests")
	}
	select { // Until the budgets are whole again.
	case <-time.After(2 * time.Second):
	case <-ctx.Done():
		return ctx.Err()
	}
	strict.Refuse(person, refusedFor)
	f, err := c.flood(ctx)
	if err != nil {
		return err
	}
	n := floodDecisions + floodFresh
	share, whole := least(budget.Group, n, 0.75), least(budget.Group, n+floodFresh, 1)
	ratio := f.took.Seconds() / share.Seconds()
	b.report.add(measure, fmt.Sprintf("%s beside %s: %.2fx; %.2fx of the least with nothing kept for new cards",
		short(f.took), short(share), ratio, f.took.Seconds()/whole.Seconds()), target, judge(ratio <= floodTarget))
	cards := sorted(f.cards)
	b.report.add("  asking to the last of 10 new cards, meanwhile", cards.String(), "max <= 2s", judge(cards.at(1) <= freshTarget))
	b.report.add("  answer to a new decision, meanwhile", sorted(f.answers).String(), "", told)
	b.judgeRequests(strict.Requests(), f.began)
	return nil
}

// judgeRequests looks at when the requests came, as the platform does.
func (b *bench) judgeRequests(all []Request, began time.Time) {
	chats := map[string][]Request{}
	for _, r := range all {
		chats[r.Chat] = append(chats[r.Chat], r)
	}
	most := 0
	for chat, requests := range chats {
		if chat == strconv.Itoa(person) {
			continue
		}
		first := 0
		for i, r := range requests {
			for r.At.Sub(requests[first].At) >= groupWindow/budgetFactor {
				first++
			}
			most = max(most, i-first+1)
		}
	}
	b.report.add("  most requests to one group in a scaled minute", strconv.Itoa(most), fmt.Sprintf("<= %d", groupMost), judge(most <= groupMost))

	// The first edit of the burst was refused; a chat takes one call at a time.
	var refused time.Time
	for _, r := range chats[strconv.Itoa(person)] {
		switch {
		case refused.IsZero() && r.Edit && r.At.After(began):
			refused = r.At
		case !refused.IsZero():
			b.report.add("  next request to a chat that refused for 2s", short(r.At.Sub(refused)), ">= 2s", judge(r.At.Sub(refused) >= refusedFor))
			return
		}
	}
	b.report.add("  next request to a chat that refused for 2s", "none came", ">= 2s", missed)
}

// flood decides all at once, goes on asking meanwhile, and waits for the last edit.
func (c *chats) flood(ctx context.Context) (f flood, err error) {
	ctx, cancel := context.WithTimeout(ctx, awaitFor)
	defer cancel()
	left := (floodDecisions + floodFresh) * (1 + floodGroups)
	watched := make(chan error, 1)
	var last time.Time
	go func() {
		watched <- c.messenger.WatchEdits(ctx, func(_ string, at time.Time) bool {
			last = at
			left--
			return left == 0
		})
	}()
	clients, err := newClients(ctx, c.server.addr, c.lab, floodDecisions)
	if err != nil {
		return f, err
	}
	defer clients.close()
	errs := make(chan error, floodDecisions+1)
	var wg sync.WaitGroup
	f.began = time.Now()
	for i, id := range c.ids[:floodDecisions] {
		wg.Go(func() { errs <- clients.deny(i, id) })
	}
	wg.Go(func() { errs <- c.fresh(ctx, &f) })
	wg.Wait()
	close(errs)
	for one := range errs {
		err = errors.Join(err, one)
	}
	if err != nil {
		return f, err
	}
	if err := <-watched; err != nil {
		return f, fmt.Errorf("watch edits: %w", err)
	}
	f.took = last.Sub(f.began)
	return f, nil
}

// fresh asks, waits for the cards and decides, once a second.
func (c *chats) fresh(ctx context.Context, f *flood) error {
	for i := range floodFresh {
		select {
		case <-time.After(time.Until(f.began.Add(time.Duration(i+1) * time.Second))):
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := c.freshOne(ctx, f, i); err != nil {
			return err
		}
	}
	return nil
}

func (c *chats) freshOne(ctx context.Context, f *flood, i int) error {
	runtime, err := dial(ctx, c.server.addr, c.token.Bearer.Reveal())
	if err != nil {
		return err
	}
	defer runtime.close()
	asked := time.Now()
	id, err := askOne(runtime, floodDecisions+i)
	if err != nil {
		return err
	}
	if err := c.awaitOpen(ctx, id, 1+floodGroups); err != nil {
		return err
	}
	f.cards = append(f.cards, time.Since(asked))
	clients, err := newClients(ctx, c.server.addr, c.lab, 1)
	if err != nil {
		return err
	}
	defer clients.close()
	sent := time.Now()
	err = clients.deny(0, id)
	f.answers = append(f.answers, time.Since(sent))
	return err
}

// awaitOpen waits until so many cards of one approval are out.
func (c *chats) awaitOpen(ctx context.Context, id string, n int) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		var open int
		if err := c.raw.QueryRowContext(ctx,
			`SELECT count(*) FROM deliveries WHERE approval_id = ? AND state = 'open' AND locator <> ''`, id).Scan(&open); err != nil {
			return err
		}
		if open >= n {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d of %d new cards are out: %w", open, n, ctx.Err())
		case <-tick.C:
		}
	}
}
