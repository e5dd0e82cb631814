package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// processor is processor time used: by the database server, and by whoever calls it.
type processor struct{ server, client time.Duration }

func (p processor) plus(q processor) processor {
	return processor{p.server + q.server, p.client + q.client}
}

func (p processor) minus(q processor) processor {
	return processor{p.server - q.server, p.client - q.client}
}

// each is the time of one of n operations in words.
func (p processor) each(n int) string {
	one := func(d time.Duration) float64 { return float64(d.Microseconds()) / float64(max(n, 1)) }
	return fmt.Sprintf("%.0f µs (server %.0f, caller %.0f)", one(p.server+p.client), one(p.server), one(p.client))
}

// tick is the unit of the times that the kernel tells.
const tick = 10 * time.Millisecond

// postmaster is the process that all others of the server are children of.
func (l *pgLab) postmaster(ctx context.Context) (pid string, err error) {
	var text string
	if err := l.pool.QueryRow(ctx, "SELECT pg_read_file('postmaster.pid')").Scan(&text); err != nil {
		return "", fmt.Errorf("find the server's process: %w", err)
	}
	pid, _, _ = strings.Cut(text, "\n")
	return pid, nil
}

// serverTime is the processor time that the server's processes have used, those that
// have ended included.
func (l *pgLab) serverTime() (time.Duration, error) {
	sum, err := ticks(l.pid, 14, 15, 16, 17)
	if err != nil {
		return 0, err
	}
	all, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0, fmt.Errorf("list processes: %w", err)
	}
	for _, path := range all {
		pid := filepath.Base(filepath.Dir(path))
		if parent, err := ticks(pid, 4); err != nil || strconv.FormatInt(parent, 10) != l.pid {
			continue // Somebody else's, or it has just ended.
		}
		own, _ := ticks(pid, 14, 15) // Zero for one that has just ended.
		sum += own
	}
	return time.Duration(sum) * tick, nil
}

// used is what the server and this process have used.
func (l *pgLab) used() (p processor, err error) {
	if p.server, err = l.serverTime(); err != nil {
		return p, err
	}
	own, err := ticks("self", 14, 15)
	p.client = time.Duration(own) * tick
	return p, err
}

// ticks adds up fields of /proc/<pid>/stat, counted from 1 as proc(5) does.
func ticks(pid string, fields ...int) (sum int64, err error) {
	text, err := os.ReadFile(filepath.Join("/proc", pid, "stat"))
	if err != nil {
		return 0, fmt.Errorf("read figures of a process (Linux only): %w", err)
	}
	_, rest, _ := strings.Cut(string(text), ") ") // The name may hold spaces.
	all := strings.Fields(rest)
	for _, f := range fields {
		n, err := strconv.ParseInt(all[f-3], 10, 64)
		if err != nil {
			return 0, fmt.Errorf("read figures of a process: %w", err)
		}
		sum += n
	}
	return sum, nil
}
