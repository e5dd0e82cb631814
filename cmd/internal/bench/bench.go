package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/saysohq/sayso/core"
)

// Options say what is measured and where.
type Options struct {
	Sayso string    // Path of the binary that is run as the service; required.
	Dir   string    // Folder on the disk to be measured; "" takes the system's for temporary files.
	Only  string    // Part of the name of the measures to be run; "" runs all.
	Out   io.Writer // Progress and the report.
	// Messenger starts a messenger for the figures of clicks and edits; nil leaves
	// them out.
	Messenger func() (Messenger, error)
	// Strict starts a messenger of a kind that keeps its platform's limits, so many times
	// as fast as documented, for the figures of bursts; nil leaves them out.
	Strict func(on core.Surface, faster int) (Strict, error)
	// Postgres starts a private PostgreSQL server with further settings, its data in a
	// folder on the disk to be measured; nil leaves out the figures of a fleet.
	Postgres func(ctx context.Context, dir string, settings []string) (Postgres, error)
	// Redis starts a private Redis server; nil leaves out the figures of replicas that
	// tell each other.
	Redis func(ctx context.Context) (Redis, error)
	// Parker is a command that runs a Park in a process of its own; nil leaves out the
	// figures of more callers than one process can be.
	Parker func(ctx context.Context, p Park) *exec.Cmd
	// Rows are the retained approvals up to which a fleet's database is grown; less than
	// 1,000,000 means that.
	Rows int
}

// Messenger is a messenger's server with the people on it, as a bench needs them.
type Messenger interface {
	// API is where the service finds it: address and token.
	API() (url, token string)
	// Open makes a person who has started the bot, and groups that the bot is in.
	Open(user int64, groups ...int64)
	// Press presses the first button of a message and returns the id of the press.
	Press(user int64, message string) (press string, err error)
	// AwaitReply waits until a press is acknowledged.
	AwaitReply(ctx context.Context, press string) error
	// WatchEdits calls seen once for every message that was edited and has lost its
	// buttons, with the time when that was asked for, until seen returns true.
	WatchEdits(ctx context.Context, seen func(message string, at time.Time) (done bool)) error
}

// bench is one run.
type bench struct {
	Options
	report report
	sync   *yardstick
}

// measure is one measure of a run.
type measure struct {
	name string
	run  func(b *bench, ctx context.Context) error
}

// measures in their order: the ones that need a quiet disk first.
var measures = [...]measure{
	{"resolve", (*bench).resolve},
	{"single", (*bench).single},
	{"http", (*bench).http},
	{"start", (*bench).start},
	{"privacy", (*bench).privacy},
	{"policy", (*bench).policy},
	{"waiters", (*bench).waiters},
	{"streams", (*bench).streams},
	{"clicks", (*bench).clicks},
	{"edits", (*bench).edits},
	{"ten", (*bench).ten},
	{"burst-telegram", burstOn(core.SurfaceTelegram)},
	{"burst-slack", burstOn(core.SurfaceSlack)},
	{"burst-discord", burstOn(core.SurfaceDiscord)},
}

// chosen reports whether a measure is to be run: the one of that name, or else all
// whose names contain it.
func chosen(name, only string) bool {
	for _, m := range measures {
		if m.name == only {
			return name == only
		}
	}
	return strings.Contains(name, only)
}

// Run measures and prints the report. It returns an error when something could
// not be measured, not when a target was missed: the report says that.
func Run(ctx context.Context, o Options) error {
	if _, err := os.Stat(o.Sayso); err != nil {
		return fmt.Errorf("find the service's binary: %w", err)
	}
	root, err := os.MkdirTemp(o.Dir, "sayso-bench-")
	if err != nil {
		return fmt.Errorf("make folder: %w", err)
	}
	defer func() { _ = os.RemoveAll(root) }() // Only throw-away databases are in it.
	o.Dir = root
	b := &bench{Options: o}
	if b.sync, err = newYardstick(filepath.Join(root, "yardstick")); err != nil {
		return err
	}
	defer b.sync.close()
	began := time.Now()
	b.printf("sayso bench: %d CPU, %s/%s, %s; durable: WAL, synchronous=FULL\n\n", runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version())
	var faults []error
	for _, m := range slices.Concat(measures[:], pgMeasures[:]) {
		if !chosen(m.name, o.Only) {
			continue
		}
		if err := m.run(b, ctx); err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", m.name, err))
			b.printf("%s: not measured: %v\n", m.name, err)
		}
		if ctx.Err() != nil {
			break
		}
	}
	b.sync.print(b)
	b.report.print(o.Out)
	b.printf("\ntook %s\n", time.Since(began).Round(time.Second))
	return errors.Join(faults...)
}

func (b *bench) printf(format string, args ...any) { fmt.Fprintf(b.Out, format, args...) }

// folder makes a data folder for one measure.
func (b *bench) folder(name string) (string, error) {
	path := filepath.Join(b.Dir, name)
	if err := os.Mkdir(path, 0o700); err != nil {
		return "", fmt.Errorf("make folder: %w", err)
	}
	return path, nil
}
