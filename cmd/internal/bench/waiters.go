package bench

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/saysohq/sayso/core/gateway"
)

const (
	waiting      = 10_000
	waiterTarget = 24 << 10
	streamTarget = 32 << 10
	wakeTarget   = 500 * time.Millisecond
	dialers      = 64 // Connections made at a time: a listener's backlog is short.
	releaseFor   = 4 * time.Second
)

// parked are waiting connections, one per approval.
type parked struct {
	ids   []string
	conns []*conn
	bytes float64 // Resident memory that each took, in the service.
}

func (p *parked) close() {
	for _, c := range p.conns {
		if c != nil {
			c.close()
		}
	}
}

// park opens a connection for each of n approvals and sends one request on each.
func (b *bench) park(ctx context.Context, l *lab, s *server, n int, open func(id string) (*conn, error)) (*parked, error) {
	p := &parked{conns: make([]*conn, n)}
	var err error
	if p.ids, err = l.copies(ctx, &l.seed, n); err != nil {
		return nil, err
	}
	if err := s.settle(ctx); err != nil {
		return nil, err
	}
	before, err := s.resident()
	if err != nil {
		return nil, err
	}
	errs := make(chan error, dialers)
	var wg sync.WaitGroup
	for d := range dialers {
		wg.Go(func() {
			for i := d; i < n; i += dialers {
				if p.conns[i], err = open(p.ids[i]); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	wg.Wait()
	select {
	case err := <-errs:
		p.close()
		return nil, err
	default:
	}
	if err := s.settle(ctx); err != nil {
		return nil, err
	}
	select { // The service gives back what it needed only to get here.
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(releaseFor):
	}
	after, err := s.resident()
	p.bytes = (after - before) / float64(n)
	return p, err
}

// waiters measures 10,000 callers that wait in long polls, each for its own
// approval, and how soon each hears of its decision.
func (b *bench) waiters(ctx context.Context) (err error) {
	l, s, err := b.served(ctx, "waiters", 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close(), l.close()) }()
	p, err := b.park(ctx, l, s, waiting, func(id string) (*conn, error) {
		c, err := dial(ctx, s.addr, l.token.Bearer.Reveal())
		if err != nil {
			return nil, err
		}
		return c, c.send(http.MethodGet, "/v1/approvals/"+id+"?wait=60s", nil)
	})
	if err != nil {
		return err
	}
	defer p.close()
	b.report.add("10,000 long polls, resident each", fmt.Sprintf("%.1f KiB", p.bytes/1024), "<= 24 KiB", judge(p.bytes <= waiterTarget))

	woken, took, err := b.wake(ctx, l, s, p)
	if err != nil {
		return err
	}
	b.report.add("  decision sent to waiter's answer, all 10,000 decided at once by 32 clients",
		fmt.Sprintf("%s; all in %s", woken, short(took)), "max <= 500ms", judge(woken.at(1) <= wakeTarget))
	return nil
}

// wake decides everything and returns how long each waiter waited from the moment
// when its decision was sent.
func (b *bench) wake(ctx context.Context, l *lab, s *server, p *parked) (latencies, time.Duration, error) {
	c, err := newClients(ctx, s.addr, l, manyCallers)
	if err != nil {
		return nil, 0, err
	}
	defer c.close()
	sent, heard := make([]time.Time, len(p.ids)), make([]time.Time, len(p.ids))
	errs := make(chan error, len(p.ids)+manyCallers)
	var deciders, listeners sync.WaitGroup
	for i, one := range p.conns {
		listeners.Go(func() {
			answer, err := one.first(make([]byte, 512))
			heard[i] = time.Now()
			if err == nil && !strings.HasPrefix(answer, "HTTP/1.1 200") {
				err = fmt.Errorf("a waiter was answered %.200s", answer)
			}
			if err != nil {
				errs <- err
			}
		})
	}
	began := time.Now()
	for k := range manyCallers {
		deciders.Go(func() {
			for i := k; i < len(p.ids); i += manyCallers {
				sent[i] = time.Now()
				if err := c.resolve(ctx, k, p.ids[i]); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	deciders.Wait()
	if len(errs) > 0 {
		p.close() // Nobody else will be woken.
	}
	listeners.Wait()
	took := time.Since(began)
	if len(errs) > 0 {
		return nil, 0, <-errs
	}
	times := make([]time.Duration, len(sent))
	for i := range sent {
		if times[i] = heard[i].Sub(sent[i]); times[i] < 0 {
			return nil, 0, errors.New("a waiter was answered before its decision")
		}
	}
	return sorted(times), took, nil
}

// streams measures as many open pages, each with its stream of events.
func (b *bench) streams(ctx context.Context) (err error) {
	l, s, err := b.served(ctx, "streams", 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close(), l.close()) }()
	page := gateway.PageConfig{Deployment: l.deployment}
	p, err := b.park(ctx, l, s, waiting, func(id string) (*conn, error) {
		c, err := dial(ctx, s.addr, "")
		if err != nil {
			return nil, err
		}
		c.header = "Cookie: " + page.CookieName() + "=" + l.admin.Bearer.Reveal() + "\r\nAccept: text/event-stream\r\n"
		if err := c.send(http.MethodGet, "/approve/"+id+"/events", nil); err != nil {
			return nil, err
		}
		answer, err := c.first(make([]byte, 2048))
		if err == nil && !strings.HasPrefix(answer, "HTTP/1.1 200") {
			err = fmt.Errorf("a stream was answered %.200s", answer)
		}
		return c, err
	})
	if err != nil {
		return err
	}
	defer p.close()
	b.report.add("10,000 streams of the page, resident each", fmt.Sprintf("%.1f KiB", p.bytes/1024), "<= 32 KiB", judge(p.bytes <= streamTarget))
	return nil
}
