package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/api"
)

const (
	clicksPerSecond = 100
	clickCount      = 800
	clickTarget     = 50 * time.Millisecond

	calmDecisions  = 10 // One a second.
	burstDecisions = 100
	editTarget     = time.Second

	tenCallers   = 20  // Each decides once a second.
	tenDecisions = 400 // Some 20 s.
	tenGroups    = 9   // And the person's chat: ten messages for each approval.
	tenTarget    = 3 * time.Second

	person   = 501 // The admin's user id on the messenger.
	awaitFor = 60 * time.Second
	cardsFor = 4 * time.Minute // Until all cards of a measure are out, which is not measured.
)

// groups are ids of so many groups.
func groups(n int) []int64 {
	ids := make([]int64, n)
	for i := range ids {
		ids[i] = -1000000000011 - int64(i)
	}
	return ids
}

// chats is a service connected to a messenger, with approvals shown there.
type chats struct {
	*lab
	server    *server
	messenger Messenger
	ids       []string
	messages  map[string][]string // Of each approval.
}

// connect starts the shipped service with its budgets off and a messenger, asks n
// times and waits until every card is out: one in the person's chat and one in each of
// the groups.
func (b *bench) connect(ctx context.Context, name string, n int, groups ...int64) (c *chats, err error) {
	c = &chats{messages: map[string][]string{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.close())
		}
	}()
	if c.messenger, err = b.Messenger(); err != nil {
		return c, err
	}
	c.messenger.Open(person, groups...)
	url, token := c.messenger.API()
	bot, _, _ := strings.Cut(token, ":")
	if c.lab, err = b.lab(ctx, name, 0); err != nil {
		return c, err
	}
	if err := c.people.LinkIdentity(ctx, core.Caller{Operator: true}, core.Identity{
		Realm: "telegram", ExternalID: strconv.Itoa(person), PrincipalID: c.admin.Person.ID,
		Channel: core.SurfaceTelegram, Account: bot, DirectChat: strconv.Itoa(person),
	}); err != nil {
		return c, err
	}
	if err := c.halt(); err != nil {
		return c, err
	}
	var list []string
	for _, g := range groups {
		list = append(list, strconv.Quote(strconv.FormatInt(g, 10)))
	}
	c.server, err = b.serve(ctx, c.dir, fmt.Sprintf("telegram: [{token: %q, api_url: %q, unpaced: true, chats: [%s]}]\n",
		token, url, strings.Join(list, ", ")))
	if err != nil {
		return c, err
	}
	if err := c.ask(ctx, n); err != nil {
		return c, err
	}
	return c, c.awaitCards(ctx, n*(1+len(groups)))
}

func (c *chats) ask(ctx context.Context, n int) error {
	runtime, err := dial(ctx, c.server.addr, c.token.Bearer.Reveal())
	if err != nil {
		return err
	}
	defer runtime.close()
	for i := range n {
		if _, err := askOne(runtime, i); err != nil {
			return err
		}
	}
	return nil
}

// askOne asks for an approval and returns its id.
func askOne(runtime *conn, i int) (string, error) {
	body := fmt.Appendf(nil, `{"kind":"plugin","title":"Send message %d","agent":"builder","operation":{"id":"call-1","tool":"mail","operation":"send",`+
		`"arguments":{"to":"team@example.com","subject":"Release notes","number":%d}}}`, i, i)
	status, answer, err := runtime.call(http.MethodPost, "/v1/approvals", body)
	if err != nil {
		return "", err
	}
	if status/100 != 2 {
		return "", fmt.Errorf("asking was answered %d: %.300s", status, answer)
	}
	var asked struct {
		Approval api.Approval `json:"approval"`
	}
	if err := json.Unmarshal(answer, &asked); err != nil {
		return "", fmt.Errorf("decode answer: %w", err)
	}
	return asked.Approval.ID, nil
}

// awaitCards waits until so many cards are out, and reads where.
func (c *chats) awaitCards(ctx context.Context, n int) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(cardsFor); ; {
		var open int
		if err := c.raw.QueryRowContext(ctx, `SELECT count(*) FROM deliveries WHERE state = 'open' AND locator <> ''`).Scan(&open); err != nil {
			return err
		}
		if open >= n {
			break
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%d of %d cards are out", open, n)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
	rows, err := c.raw.QueryContext(ctx, `SELECT approval_id, locator FROM deliveries WHERE state = 'open' ORDER BY approval_id`)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var id, message string
		if err := rows.Scan(&id, &message); err != nil {
			return err
		}
		if len(c.messages[id]) == 0 {
			c.ids = append(c.ids, id)
		}
		c.messages[id] = append(c.messages[id], message)
	}
	return errors.Join(rows.Err(), c.server.settle(ctx))
}

func (c *chats) close() error {
	var err error
	if c.server != nil {
		err = c.server.close()
	}
	if c.lab != nil {
		err = errors.Join(err, c.lab.close())
	}
	return err
}

// without notes that there is no messenger to measure.
func (b *bench) without(measure, target string) bool {
	if b.Messenger == nil {
		b.report.add(measure, "not measured here: make bench has a fake Telegram", target, told)
	}
	return b.Messenger == nil
}

// clicks presses a button a hundred times a second, each on a card of its own.
func (b *bench) clicks(ctx context.Context) (err error) {
	const measure, target = "click to acknowledgement, 100 clicks/s", "p99 <= 50ms"
	if b.without(measure, target) {
		return nil
	}
	c, err := b.connect(ctx, "clicks", clickCount)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	ctx, cancel := context.WithTimeout(ctx, awaitFor)
	defer cancel()
	times := make([]time.Duration, len(c.ids))
	errs := make(chan error, len(c.ids))
	var wg sync.WaitGroup
	tick := time.NewTicker(time.Second / clicksPerSecond)
	defer tick.Stop()
	for i, id := range c.ids {
		<-tick.C
		wg.Go(func() {
			pressed := time.Now()
			press, err := c.messenger.Press(person, c.messages[id][0])
			if err == nil {
				err = c.messenger.AwaitReply(ctx, press)
			}
			if times[i] = time.Since(pressed); err != nil {
				errs <- err
			}
		})
	}
	wg.Wait()
	if len(errs) > 0 {
		return <-errs
	}
	l := sorted(times)
	b.report.add(measure, l.String(), target, judge(l.at(0.99) <= clickTarget))
	return nil
}

// edits measures how soon the three messages of a decided approval tell it.
func (b *bench) edits(ctx context.Context) (err error) {
	const measure, target = "decision sent to edited messages, 1 decision/s of 3 messages", "p95 <= 1s"
	if b.without(measure, target) {
		return nil
	}
	c, err := b.connect(ctx, "edits", calmDecisions+burstDecisions, groups(2)...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	calm, _, err := c.timeEdits(ctx, c.ids[:calmDecisions], 1, time.Second)
	if err != nil {
		return err
	}
	burst, _, err := c.timeEdits(ctx, c.ids[calmDecisions:calmDecisions+burstDecisions], manyCallers, 0)
	if err != nil {
		return err
	}
	b.report.add(measure, calm.String(), target, judge(calm.at(0.95) <= editTarget))
	b.report.add("  100 decisions at once by 32 clients, 300 messages", burst.String(), target, judge(burst.at(0.95) <= editTarget))
	return nil
}

// ten measures how soon the last of ten messages of an approval tells its decision,
// at a steady rate.
func (b *bench) ten(ctx context.Context) (err error) {
	const measure, target = "decision sent to last of 10 messages edited, 20 decisions/s", "p95 <= 1s, p99 <= 3s"
	if b.without(measure, target) {
		return nil
	}
	c, err := b.connect(ctx, "ten", tenDecisions, groups(tenGroups)...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	all, last, err := c.timeEdits(ctx, c.ids[:tenDecisions], tenCallers, time.Second)
	if err != nil {
		return err
	}
	b.report.add(measure, last.String(), target, judge(last.at(0.95) <= editTarget && last.at(0.99) <= tenTarget))
	b.report.add("  each of the messages", all.String(), "", told)
	return nil
}

// timeEdits decides approvals, each caller one in every interval, and returns how long
// each message, and the last one of each approval, took from the moment when its
// decision was sent.
func (c *chats) timeEdits(ctx context.Context, ids []string, callers int, every time.Duration) (all, last latencies, err error) {
	ctx, cancel := context.WithTimeout(ctx, awaitFor)
	defer cancel()
	left, edited := map[string]bool{}, map[string]time.Time{}
	for _, id := range ids {
		for _, m := range c.messages[id] {
			left[m] = true
		}
	}
	watched := make(chan error, 1)
	go func() {
		watched <- c.messenger.WatchEdits(ctx, func(message string, at time.Time) bool {
			if left[message] {
				edited[message] = at
				delete(left, message)
			}
			return len(left) == 0
		})
	}()
	clients, err := newClients(ctx, c.server.addr, c.lab, callers) // Fresh: the service closes connections that are silent at first.
	if err != nil {
		return nil, nil, err
	}
	defer clients.close()
	began := time.Now()
	sent := make([]time.Time, len(ids))
	errs := make(chan error, callers)
	var wg sync.WaitGroup
	for k := range callers {
		wg.Go(func() {
			for i := k; i < len(ids); i += callers {
				select { // A late one does not delay those after it.
				case <-time.After(time.Until(began.Add(time.Duration(i) * every / time.Duration(callers)))):
				case <-ctx.Done():
				}
				sent[i] = time.Now()
				if err := clients.deny(k, ids[i]); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	wg.Wait()
	if len(errs) > 0 {
		return nil, nil, <-errs
	}
	if err := <-watched; err != nil {
		return nil, nil, fmt.Errorf("watch edits: %w", err)
	}
	var times, lasts []time.Duration
	for i, id := range ids {
		first := len(times)
		for _, m := range c.messages[id] {
			times = append(times, edited[m].Sub(sent[i]))
		}
		lasts = append(lasts, slices.Max(times[first:]))
	}
	return sorted(times), sorted(lasts), nil
}
