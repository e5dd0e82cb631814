package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	wakeRate   = 500 // Decisions a second.
	wakeWaits  = 4_000
	wakeOut    = 1_500 // With Redis gone.
	wakeCalls  = 32
	wakeP50    = 2 * time.Millisecond
	wakeP99    = 20 * time.Millisecond
	wakeOutP99 = 1200 * time.Millisecond
)

// pgWake measures how soon a caller who waits at one replica hears of a decision that
// was made at another: with Redis, and after Redis was killed.
func (b *bench) pgWake(ctx context.Context) (err error) {
	if b.Redis == nil {
		return nil
	}
	l, err := b.openPG(ctx, "postgres-wake", 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	if err := l.signIn(ctx); err != nil {
		return err
	}
	redis, err := b.Redis(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, redis.Close()) }()
	var at [2]*server
	for i := range at {
		if at[i], err = b.replica(ctx, l, redis.URL()); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, at[i].close()) }()
	}
	w, err := l.wakeAt(ctx, at[0], at[1], wakeWaits)
	if err != nil {
		return err
	}
	b.report.add(fmt.Sprintf("decision at one replica, %d/s, to its waiter's answer at another: since the time in the record", wakeRate),
		w.sinceRecord.String(), "p50 <= commit + 2ms, p99 <= commit + 20ms", w.verdict())
	b.report.add("  since the answer to whoever decided", w.sinceAnswer.String(), "", told)
	b.report.add("  the decision itself, from its call to its answer", w.call.String(), "", told)
	if err := redis.Kill(); err != nil {
		return err
	}
	if w, err = l.wakeAt(ctx, at[0], at[1], wakeOut); err != nil {
		return err
	}
	b.report.add("  the same without Redis", w.sinceRecord.String(), "p99 <= 1.2s", judge(w.sinceRecord.at(0.99) <= wakeOutP99))
	return nil
}

// woken are the times of waiters.
type woken struct{ sinceRecord, sinceAnswer, call latencies }

// verdict judges by both bounds: the time in the record is from before the commit's way
// to the disk, the answer to whoever decided comes some time after it.
func (w *woken) verdict() string {
	good := func(l latencies) bool { return l.at(0.5) <= wakeP50 && l.at(0.99) <= wakeP99 }
	switch {
	case good(w.sinceRecord):
		return ok
	case good(w.sinceAnswer):
		return "ok since the answer, missed since the record: the commit is between them"
	}
	return missed
}

// wakeAt lets n callers wait at one replica and decides what they wait for at another.
func (l *pgLab) wakeAt(ctx context.Context, deciding, waiting *server, n int) (w woken, err error) {
	first, err := l.ready(ctx, int64(n))
	if err != nil {
		return w, err
	}
	conns, err := l.waitAt(ctx, waiting.addr, first, n)
	defer closeAll(conns)
	if err != nil {
		return w, err
	}
	if err := waiting.settle(ctx); err != nil {
		return w, err
	}
	return l.wakeAcross(ctx, deciding, conns, first)
}

// wakeAcross decides at a replica what callers wait for elsewhere, in the rhythm of the
// rate.
func (l *pgLab) wakeAcross(ctx context.Context, deciding *server, conns []*conn, first int64) (w woken, err error) {
	n := len(conns)
	c, err := l.answering(ctx, deciding.addr)
	if err != nil {
		return w, err
	}
	defer c.close()
	heard, answered, recorded, sent := make([]time.Time, n), make([]time.Time, n), make([]time.Time, n), make([]time.Time, n)
	errs := make(chan error, n+wakeCalls)
	var all sync.WaitGroup
	for i, one := range conns {
		all.Go(func() {
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
	for k := range wakeCalls {
		all.Go(func() {
			for i := k; i < n; i += wakeCalls {
				time.Sleep(time.Until(began.Add(time.Duration(i) * time.Second / wakeRate))) //nolint:forbidigo // The rhythm.
				sent[i] = time.Now()
				at, err := c.resolveAt(k, pgID(first+int64(i)))
				if answered[i], recorded[i] = time.Now(), at; err != nil {
					errs <- err
					return
				}
			}
		})
	}
	all.Wait()
	if len(errs) > 0 {
		return w, <-errs
	}
	since := func(from []time.Time, to []time.Time) latencies {
		times := make([]time.Duration, n)
		for i := range times {
			times[i] = max(to[i].Sub(from[i]), 0)
		}
		return sorted(times)
	}
	return woken{since(recorded, heard), since(answered, heard), since(sent, answered)}, nil
}

// waitAt opens a long poll for each of the rows.
func (l *pgLab) waitAt(ctx context.Context, addr string, first int64, n int) ([]*conn, error) {
	conns := make([]*conn, 0, n)
	for i := range n {
		c, err := dial(ctx, addr, l.token)
		if err != nil {
			return conns, err
		}
		conns = append(conns, c)
		if err := c.send(http.MethodGet, "/v1/approvals/"+pgID(first+int64(i))+"?wait=60s", nil); err != nil {
			return conns, err
		}
	}
	return conns, nil
}

var resolvedAt = []byte(`"resolved_at":`)

// resolveAt is resolve that tells the time in the record.
func (c *clients) resolveAt(caller int, id string) (time.Time, error) {
	status, answer, err := c.conns[caller].call(http.MethodPost, "/v1/approvals/"+id+"/resolve", c.body)
	if err != nil {
		return time.Time{}, err
	}
	_, rest, found := bytes.Cut(answer, resolvedAt)
	if status != http.StatusOK || !found {
		return time.Time{}, fmt.Errorf("the service answered %d: %.300s", status, answer)
	}
	digits, _, _ := bytes.Cut(rest, []byte(","))
	ms, err := strconv.ParseInt(string(bytes.TrimRight(digits, "}")), 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("read time of the decision: %w", err)
	}
	return time.UnixMilli(ms), nil
}
