package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/saysohq/sayso/cmd/internal/config"
	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/deliveries"
)

// Strict is a messenger's server that keeps what its platform documents of limits,
// with a person and some shared chats on it.
type Strict interface {
	// Settle makes the person and so many shared chats, adds the account to a service's
	// configuration, and returns how the person is known there.
	Settle(cfg *config.Config, shared int) core.Identity
	// Refuse answers the next edit in a chat (0 is the person's own, then come the shared
	// ones) with "too many requests" and how long to stay away.
	Refuse(chat int, wait time.Duration)
	// Traffic reports what was seen.
	Traffic() Traffic
	// Close stops the server.
	Close()
}

// Traffic is what a Strict has seen of posts and edits.
type Traffic struct {
	Requests int
	Refused  int       // With "too many requests", of its own accord.
	Early    int       // Before the time that a refusal had told.
	LastEdit time.Time // Of the last edit that was taken.
}

const (
	burstLasts   = 10 * time.Second // At least, by the budgets.
	burstRefused = time.Second
	soakRefused  = 10 * time.Second

	stormShared = 9 // Chats beside the person's: ten messages for each approval.
	stormFresh  = 5 // Approvals asked and decided meanwhile.
	stormTarget = 1.2

	answerTarget = time.Second
)

// storms are a burst on each platform, which the budgets stretch to a time at least.
// Scaled ones have the rates of the budgets and of the platforms' limits so many times
// as fast that minutes become seconds and one machine makes all the calls, 20 to 50 a
// second. Bursts, and how long a platform asks to stay away, stay as they are.
func storms(scaled bool, lasts, refused time.Duration) []*storm {
	all := []*storm{
		{on: core.SurfaceTelegram, name: "Telegram", budget: deliveries.TelegramBudget(), faster: 20, refusals: 2},
		// One refused edit closes the whole workspace to edits: one is enough.
		{on: core.SurfaceSlack, name: "Slack", budget: deliveries.SlackBudget(), faster: 30, refusals: 1},
		{on: core.SurfaceDiscord, name: "Discord", budget: deliveries.DiscordBudget(), faster: 5, refusals: 2},
	}
	for _, s := range all {
		if !scaled {
			s.faster = 1
		}
		s.refused, s.budget = refused, quicker(s.budget, s.faster)
		for s.decisions = 1; s.least() < lasts; {
			s.decisions++
		}
		s.every = s.least() / (stormFresh + 2)
	}
	return all
}

// burstOn decides many approvals in many chats of a platform at once.
func burstOn(on core.Surface) func(*bench, context.Context) error {
	return func(b *bench, ctx context.Context) error {
		all := storms(true, burstLasts, burstRefused)
		s := all[slices.IndexFunc(all, func(s *storm) bool { return s.on == on })]
		if b.Strict == nil {
			b.report.add(s.title(), "not measured here: make bench has fake messengers", s.target(), told)
			return nil
		}
		r, err := b.brew(ctx, s)
		if err != nil {
			return err
		}
		if err = errors.Join(r.pass(ctx), r.close()); err == nil {
			r.tell(&b.report)
		}
		return err
	}
}

// Soak is the burst with the budgets as they are shipped, on all platforms side by
// side, each stretched by its budgets to a time at least. As long again passes before,
// until all cards are out. Options.Only picks platforms. It returns an error when
// something could not be measured, not when a target was missed: the report says that.
func Soak(ctx context.Context, o Options, lasts time.Duration) (err error) {
	root, err := os.MkdirTemp(o.Dir, "sayso-soak-")
	if err != nil {
		return fmt.Errorf("make folder: %w", err)
	}
	defer func() { _ = os.RemoveAll(root) }() // Only throw-away databases are in it.
	o.Dir = root
	b, began := &bench{Options: o}, time.Now()
	var runs []*stormRun
	defer func() {
		for _, r := range runs {
			err = errors.Join(err, r.close())
		}
	}()
	for _, s := range storms(false, lasts, soakRefused) {
		if !strings.Contains(string(s.on), o.Only) {
			continue
		}
		r, err := b.brew(ctx, s)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		runs = append(runs, r)
		b.printf("%s: at least %s, once the cards are out\n", s.title(), s.least().Round(time.Second))
	}
	faults := make([]error, len(runs))
	var wg sync.WaitGroup
	for i, r := range runs {
		wg.Go(func() { faults[i] = r.pass(ctx) })
	}
	wg.Wait()
	for i, r := range runs {
		if faults[i] != nil {
			faults[i] = fmt.Errorf("%s: %w", r.name, faults[i])
			continue
		}
		r.tell(&b.report)
	}
	b.report.print(o.Out)
	b.printf("\ntook %s\n", time.Since(began).Round(time.Second))
	return errors.Join(faults...)
}

// tell reports what a storm showed.
func (r *stormRun) tell(to *report) {
	least := r.least()
	ratio := r.took.Seconds() / least.Seconds()
	to.add(r.title(), fmt.Sprintf("%s beside %s: %.2fx", short(r.took), short(least), ratio), r.target(), judge(ratio <= stormTarget))
	t := r.strict.Traffic()
	to.add("  requests before their retry_after", fmt.Sprintf("%d (%d refusals were scripted, for %s)", t.Early, r.refusals, r.refused), "0", judge(t.Early == 0))
	to.add("  refused by the platform's limits", fmt.Sprintf("%d of %d", t.Refused, t.Requests), "0", judge(t.Refused == 0))
	cards, most := sorted(r.cards), r.cardTarget()
	to.add(fmt.Sprintf("  asking to the last of %d new cards, meanwhile", 1+stormShared), cards.String(), "max <= "+short(most), judge(cards.at(1) <= most))
	answers := sorted(r.answers)
	to.add("  answer to a new decision, meanwhile", answers.String(), "max <= 1s", judge(answers.at(1) <= answerTarget))
}
