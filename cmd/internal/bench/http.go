package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/api"
)

// http compares decisions of 32 clients through HTTP, the service being a process
// of its own, with 32 callers of the service in this process. The approvals have
// no cards: nothing but the decision is done.
func (b *bench) http(ctx context.Context) (err error) {
	inside, err := b.lab(ctx, "service", 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, inside.close()) }()
	l, s, err := b.served(ctx, "http", 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close(), l.close()) }()
	clients, err := newClients(ctx, s.addr, l, manyCallers)
	if err != nil {
		return err
	}
	defer clients.close()

	ours := &side{callers: manyCallers, guess: 1000, fill: l.fill, commits: l.commits, decide: clients.resolve}
	p, all, err := b.compare(ctx, 20, 300*time.Millisecond, inside.side(manyCallers), ours)
	if err != nil {
		return err
	}
	b.report.add("HTTP, 32 clients, beside the service in process", p.value(), ">= 0.35x, goal 0.5x", p.verdict(0.35))
	b.report.add("  its latency, nobody pausing", all.times.String(), "", told)
	b.report.add("  decisions per commit", fmt.Sprintf("%.1f", float64(all.n)/float64(all.commits)), "", told)
	return b.latency(ctx, ours)
}

// latency is how long a decision takes at a rate that people reach, beside what the disk
// alone takes at the same rate, in turns. Clients that never pause only measure how many
// they are: they wait for each other.
func (b *bench) latency(ctx context.Context, s *side) error {
	for _, rate := range []int{100, 500} {
		if err := b.latencyAt(ctx, s, rate); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) latencyAt(ctx context.Context, s *side, rate int) error {
	const (
		rounds = 8
		turn   = 2 * time.Second
	)
	first := len(b.sync.times)
	var ours, disk [][]time.Duration
	var medians []float64 // Of the disk, by round.
	for range rounds {
		times, err := s.paced(ctx, rate, turn)
		if err != nil {
			return err
		}
		raw, err := b.sync.paced(ctx, rate, turn)
		if err != nil {
			return err
		}
		if err := b.sync.slice(); err != nil {
			return err
		}
		ours, disk = append(ours, times), append(disk, raw)
		medians = append(medians, float64(sorted(raw).at(0.5)))
	}
	all, raw, hot := sorted(ours...), sorted(disk...), b.sync.since(first)
	times := float64(all.at(0.99)) / float64(raw.at(0.99))
	verdict := judge(times <= 4)
	if spreadOf(medians).unsteady() {
		verdict = noisy
	}
	name := fmt.Sprintf("HTTP, 32 clients, %d decisions/s: p99 beside raw fsync p99 at that rate", rate)
	b.report.add(name, fmt.Sprintf("%.1fx (%s beside %s)", times, short(all.at(0.99)), short(raw.at(0.99))), "<= 4x", verdict)
	b.report.add("  its latency", all.String(), "", told)
	b.report.add("  append + fsync at that rate", raw.String(), "", told)
	b.report.add("  fdatasync without a pause", fmt.Sprintf("p99 %s, so %.1fx", short(hot.at(0.99)), float64(all.at(0.99))/float64(hot.at(0.99))), "", told)
	return nil
}

// served prepares a folder and starts the service on it. The lab stays for its
// second connection: it makes rows while the service runs.
func (b *bench) served(ctx context.Context, name string, rows int) (*lab, *server, error) {
	l, err := b.lab(ctx, name, 0)
	if err != nil {
		return nil, nil, err
	}
	if rows > 0 {
		_, err = l.copies(ctx, &l.seed, rows)
	}
	if err = errors.Join(err, l.halt()); err != nil {
		return nil, nil, errors.Join(err, l.close())
	}
	s, err := b.serve(ctx, l.dir, "")
	if err != nil {
		return nil, nil, errors.Join(err, l.close())
	}
	return l, s, nil
}

// clients are kept connections.
type clients struct {
	conns []*conn
	body  []byte
}

func newClients(ctx context.Context, addr string, l *lab, n int) (*clients, error) {
	return dialAll(ctx, addr, slices.Repeat([]string{l.admin.Bearer.Reveal()}, n), &l.seed)
}

// dialAll connects with each of the bearers, to answer approvals like the seed.
func dialAll(ctx context.Context, addr string, bearers []string, seed *core.Approval) (*clients, error) {
	body, err := json.Marshal(api.Resolve{
		Kind: core.KindPlugin, Decision: core.DecisionAllowOnce,
		OperationID: seed.Operation.ID, ArgumentsHash: seed.ArgumentsHash,
	})
	if err != nil {
		return nil, fmt.Errorf("encode answer: %w", err)
	}
	c := &clients{body: body}
	for _, bearer := range bearers {
		one, err := dial(ctx, addr, bearer)
		if err != nil {
			c.close()
			return nil, err
		}
		c.conns = append(c.conns, one)
	}
	return c, nil
}

var applied = []byte(`"applied":true`)

// resolve answers over the caller's own connection.
func (c *clients) resolve(_ context.Context, caller int, id string) error {
	status, answer, err := c.conns[caller].call(http.MethodPost, "/v1/approvals/"+id+"/resolve", c.body)
	if err != nil {
		return err
	}
	if status != http.StatusOK || !slices.Equal(answer[1:1+len(applied)], applied) {
		return fmt.Errorf("the service answered %d: %.300s", status, answer)
	}
	return nil
}

func (c *clients) close() {
	for _, one := range c.conns {
		one.close()
	}
}

// deny answers over the caller's own connection an approval of any content.
func (c *clients) deny(caller int, id string) error {
	status, answer, err := c.conns[caller].call(http.MethodPost, "/v1/approvals/"+id+"/resolve", []byte(`{"kind":"plugin","decision":"deny"}`))
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("the service answered %d: %.300s", status, answer)
	}
	return err
}
