package bench

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// pgbench is the raw side: PostgreSQL's own load generator runs a script, prepared.
// The script finds the row of each transaction in :row, counted over all clients, and
// an id that nobody had in the same way.
type pgbench struct {
	*pgLab
	program, script string
	callers         int
	guess           float64
	// fill prepares n rows and returns the number of the first.
	fill func(ctx context.Context, n int64) (int64, error)
	// check counts what the transactions did to the rows [from, to).
	check string
}

// newPgbench writes the script into dir.
func (l *pgLab) newPgbench(dir, name, statement string) (*pgbench, error) {
	program, err := l.server.Program("pgbench")
	if err != nil {
		return nil, err
	}
	script := filepath.Join(dir, name+".sql")
	text := fmt.Sprintf("\\set n :n + 1\n\\set row :first + :n * %d + :client_id\n%s\n", manyCallers, statement)
	if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
		return nil, fmt.Errorf("write script: %w", err)
	}
	return &pgbench{pgLab: l, program: program, script: script, callers: manyCallers, guess: 4000}, nil
}

// scriptLiteral is an SQL literal in the words of a script, in which a colon may begin
// a variable.
func scriptLiteral(quoted string) string {
	if !strings.Contains(quoted, ":") {
		return quoted
	}
	if !strings.HasPrefix(quoted, "E") { // It has no backslash yet.
		quoted = "E" + quoted
	}
	return strings.ReplaceAll(quoted, ":", `\072`)
}

// Clients of pgbench are unequally fast: each has this many rows more than its share.
const pgSlack = 100

// pgbenchWarm is how long a slice of either side runs before it counts. Connections that
// are new know neither tables nor statements yet, and those of the store have to plan
// theirs anew after the cleaning between the slices; the first changes of pages after a
// checkpoint write all of them to the log.
const pgbenchWarm = time.Second

// pgbenchGone is how long the server may take to notice that pgbench has left.
const pgbenchGone = 200 * time.Millisecond

var (
	pgbenchWarmed = regexp.MustCompile(`progress: ([0-9.]+) s, ([0-9.]+) tps`)
	pgbenchSays   = regexp.MustCompile(`actually processed: (\d+)`)
)

// errRanOut is a slice that was faster than the one before it promised.
var errRanOut = errors.New("pgbench ran out of rows")

// turn implements turner. Slices of pgbench are whole seconds.
func (p *pgbench) turn(ctx context.Context, d time.Duration) (slice, error) {
	for {
		s, err := p.try(ctx, d)
		if !errors.Is(err, errRanOut) {
			return s, err
		}
		p.guess *= 2
	}
}

func (p *pgbench) try(ctx context.Context, d time.Duration) (slice, error) {
	whole := pgbenchWarm + d
	n := int64(1.5*p.guess*whole.Seconds()) + int64(p.callers*pgSlack)
	first, err := p.fill(ctx, n)
	if err != nil {
		return slice{}, err
	}
	cmd := exec.CommandContext(ctx, p.program, "-n", "-M", "prepared", "-c", strconv.Itoa(p.callers), "-j", "2",
		"-T", strconv.Itoa(int(whole.Seconds())), "-P", strconv.Itoa(int(pgbenchWarm.Seconds())), "-f", p.script,
		"-D", "n=-1", "-D", "first="+strconv.FormatInt(first, 10), p.dsn)
	cmd.Env = append(os.Environ(), "PGOPTIONS=-c plan_cache_mode=force_generic_plan") // As the store has it.
	s, total, err := p.run(cmd)
	if err != nil {
		return slice{}, fmt.Errorf("run pgbench: %w", err)
	}
	var done int
	if err := p.pool.QueryRow(ctx, p.check, pgID(first), pgID(first+n)).Scan(&done); err != nil {
		return slice{}, fmt.Errorf("count what pgbench did: %w", err)
	}
	if done != total {
		return slice{}, errRanOut
	}
	p.guess = s.rate
	return s, nil
}

// run lets pgbench run, and counts from the moment when it is warm.
func (p *pgbench) run(cmd *exec.Cmd) (s slice, total int, err error) {
	var said bytes.Buffer
	cmd.Stdout = &said
	progress, err := cmd.StderrPipe()
	if err != nil {
		return s, 0, err
	}
	if err := cmd.Start(); err != nil {
		return s, 0, err
	}
	var began time.Time
	var used processor
	warmed := 0
	var other strings.Builder
	for lines := bufio.NewScanner(progress); lines.Scan(); {
		tps := pgbenchWarmed.FindStringSubmatch(lines.Text())
		if tps == nil {
			other.WriteString(lines.Text() + "\n")
		} else if began.IsZero() {
			seconds, _ := strconv.ParseFloat(tps[1], 64) // The expression knows what a number is.
			rate, _ := strconv.ParseFloat(tps[2], 64)
			began, warmed = time.Now(), int(rate*seconds)
			used, err = p.usedBy(cmd.Process.Pid)
		}
	}
	if failed := cmd.Wait(); failed != nil || err != nil {
		return s, 0, fmt.Errorf("%w: %.300s", errors.Join(failed, err), other.String())
	}
	took := time.Since(began)
	found := pgbenchSays.FindSubmatch(said.Bytes())
	if found == nil || began.IsZero() {
		return s, 0, fmt.Errorf("it said %.300s", said.String())
	}
	// A process that has just ended is counted once its parent knows.
	time.Sleep(pgbenchGone) //nolint:forbidigo // Nobody tells.
	until, err := p.serverTime()
	if err != nil {
		return s, 0, err
	}
	total, _ = strconv.Atoi(string(found[1])) // As above.
	s.n = total - warmed
	s.cpu = processor{until, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}.minus(used)
	s.rate = float64(s.n) / took.Seconds()
	return s, total, nil
}

// usedBy is what the server and a process that calls it have used.
func (p *pgbench) usedBy(pid int) (processor, error) {
	server, err := p.serverTime()
	if err != nil {
		return processor{}, err
	}
	own, err := ticks(strconv.Itoa(pid), 14, 15)
	return processor{server, time.Duration(own) * tick}, err
}
