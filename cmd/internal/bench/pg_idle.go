package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

const (
	idleWaits = 10_000 // At each of two replicas; a process may have 20,000 files at most.
	idleWoken = 1_000  // Of those at one replica, decided at the other.
)

// pgIdle lets 20,000 callers wait, half of them at each of two replicas and from a
// process of its own, and decides some.
func (b *bench) pgIdle(ctx context.Context) (err error) {
	if b.Redis == nil || b.Parker == nil {
		return nil
	}
	l, err := b.openPG(ctx, "postgres-idle", 0)
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
	var before [2]float64
	for i := range at {
		if at[i], err = b.replica(ctx, l, redis.URL()); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, at[i].close()) }()
		if before[i], err = at[i].resident(); err != nil {
			return err
		}
	}
	first, err := l.ready(ctx, 2*idleWaits)
	if err != nil {
		return err
	}
	ours, err := l.waitAt(ctx, at[0].addr, first, idleWaits)
	defer closeAll(ours)
	if err != nil {
		return err
	}
	others, err := b.startParker(ctx, Park{Addr: at[1].addr, Token: l.token, First: first + idleWaits, Count: idleWaits})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, others.close()) }()
	return b.pgIdleFigures(ctx, l, at, before, ours, first)
}

func (b *bench) pgIdleFigures(ctx context.Context, l *pgLab, at [2]*server, before [2]float64, ours []*conn, first int64) error {
	var each [2]float64
	for i, s := range at {
		if err := s.settle(ctx); err != nil {
			return err
		}
		after, err := s.resident()
		if err != nil {
			return err
		}
		each[i] = (after - before[i]) / idleWaits
	}
	b.report.add(fmt.Sprintf("%d callers wait, half of them at each of two replicas: resident each", 2*idleWaits),
		fmt.Sprintf("%.1f KiB and %.1f KiB", each[0]/1024, each[1]/1024), "all wait", ok)
	w, err := l.wakeAcross(ctx, at[1], ours[:idleWoken], first)
	if err != nil {
		return err
	}
	b.report.add(fmt.Sprintf("  meanwhile %d decided at the other replica, %d/s: to the waiter's answer since the time in the record", idleWoken, wakeRate),
		w.sinceRecord.String(), "", told)
	return nil
}

// Park is what a process of waiting callers does: it opens a long poll for each of the
// rows of a measure.
type Park struct {
	Addr, Token string
	First       int64 // Number of the first row,
	Count       int   // and how many.
}

// allWait is the line.
const allWait = "all wait"

// Run waits with all of them until in ends, having written a line to out once they all
// wait. It returns an error if one of them could not, or heard something.
func (p Park) Run(ctx context.Context, in io.Reader, out io.Writer) error {
	conns, err := (&pgLab{token: p.Token}).waitAt(ctx, p.Addr, p.First, p.Count)
	defer closeAll(conns)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(out, allWait); err != nil {
		return fmt.Errorf("tell parent: %w", err)
	}
	if _, err := io.Copy(io.Discard, in); err != nil {
		return fmt.Errorf("await parent: %w", err)
	}
	for _, c := range conns { // Nobody decided these: a connection that has something to read was let go.
		if err := c.SetReadDeadline(time.Now()); err != nil {
			return fmt.Errorf("look at a waiter: %w", err)
		}
		if answer, err := c.first(make([]byte, 64)); !errors.Is(err, os.ErrDeadlineExceeded) {
			return fmt.Errorf("a waiter was let go: %.64s: %w", answer, err)
		}
	}
	return nil
}

// Strings are the arguments of the command that runs it; the token is not among them.
func (p Park) Strings() []string {
	return []string{p.Addr, strconv.FormatInt(p.First, 10), strconv.Itoa(p.Count)}
}

// ParkOf reads Strings.
func ParkOf(args []string, token string) (Park, error) {
	if len(args) != 3 {
		return Park{}, errors.New("needs an address, the first row and a count")
	}
	first, err := strconv.ParseInt(args[1], 10, 64)
	if err != nil {
		return Park{}, fmt.Errorf("read first row: %w", err)
	}
	count, err := strconv.Atoi(args[2])
	if err != nil {
		return Park{}, fmt.Errorf("read count: %w", err)
	}
	return Park{Addr: args[0], Token: token, First: first, Count: count}, nil
}

// parker is a process that runs a Park.
type parker struct {
	cmd   *exec.Cmd
	leash io.Closer
	told  *strings.Builder
}

func (b *bench) startParker(ctx context.Context, p Park) (*parker, error) {
	k := &parker{cmd: b.Parker(ctx, p), told: &strings.Builder{}}
	k.cmd.Stderr = k.told
	leash, err := k.cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start waiting callers: %w", err)
	}
	k.leash = leash
	said, err := k.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start waiting callers: %w", err)
	}
	if err := k.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start waiting callers: %w", err)
	}
	line, err := bufio.NewReader(said).ReadString('\n')
	if err != nil || strings.TrimSpace(line) != allWait {
		return nil, errors.Join(errors.New("the waiting callers did not get to wait"), k.close())
	}
	return k, nil
}

func (k *parker) close() error {
	_ = k.leash.Close() // It ends by that, or has ended.
	if err := k.cmd.Wait(); err != nil {
		return fmt.Errorf("waiting callers: %w: %.300s", err, k.told.String())
	}
	return nil
}

func closeAll(conns []*conn) {
	for _, c := range conns {
		c.close()
	}
}
