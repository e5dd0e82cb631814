package inforce_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/bus/local"
	"github.com/saysohq/sayso/core/policy"
	"github.com/saysohq/sayso/core/policy/inforce"
	"github.com/saysohq/sayso/core/policy/tables"
	"github.com/saysohq/sayso/core/store/sqlite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Tables with a mode each, so that it can be told which is in force.
const (
	outside    = "version: 1\nmode: before-anything-outside\n"
	everything = "version: 1\nmode: before-everything\n"
	money      = "version: 1\nmode: only-money-and-deletes\n"
	bad        = "version: 1\nmode: hush\n"
)

// fleet is one store and one bus that any number of keepers share.
type fleet struct {
	t     *testing.T
	store core.PolicyTables
	bus   *local.Bus
	logs  *logs
}

type logs struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func newFleet(t *testing.T) *fleet {
	t.Helper()
	s, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "db"), Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-ended)
		require.NoError(t, s.Close())
	})
	return &fleet{t: t, store: s, bus: local.New(), logs: &logs{}}
}

// replica is a keeper with a file of its own.
type replica struct {
	*inforce.Keeper
	t    *testing.T
	path string
}

// slow are paces by which nothing happens by itself.
var slow = inforce.Config{ReadEvery: time.Hour, CompareEvery: time.Hour, Settle: time.Millisecond}

func (f *fleet) replica(cfg inforce.Config, name, table string) *replica {
	f.t.Helper()
	r := &replica{t: f.t, path: filepath.Join(f.t.TempDir(), name+".yaml")}
	r.write(table)
	r.Keeper = inforce.New(cfg, inforce.Deps{
		Files: tables.Files{Operator: []string{r.path}}, Store: f.store, Publisher: f.bus, Hints: f.bus,
		Name: name, Logger: slog.New(slog.NewTextHandler(f.logs, nil)), Now: time.Now,
	})
	return r
}

func (f *fleet) started(cfg inforce.Config, name, table string) *replica {
	f.t.Helper()
	r := f.replica(cfg, name, table)
	require.NoError(f.t, r.Start(f.t.Context()))
	return r
}

// write replaces the file in one step.
func (r *replica) write(table string) {
	r.t.Helper()
	require.NoError(r.t, os.WriteFile(r.path+".new", []byte(table), 0o600))
	require.NoError(r.t, os.Rename(r.path+".new", r.path))
}

func (r *replica) run() {
	r.t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	r.t.Cleanup(func() {
		stop()
		require.ErrorIs(r.t, <-ended, context.Canceled)
	})
}

func (r *replica) mode() policy.Mode { return r.Current().DefaultMode() }

// soon waits for what files, hints or the clock bring.
func (r *replica) soon(m policy.Mode) {
	r.t.Helper()
	require.Eventually(r.t, func() bool { return r.mode() == m }, 10*time.Second, time.Millisecond)
}

func (f *fleet) inForce() core.TablesInForce {
	f.t.Helper()
	is, err := f.store.TablesInForce(f.t.Context())
	require.NoError(f.t, err)
	return is
}

// A bad file refuses the start with all of its faults, and changes nothing in the store.
func TestABadFileStopsTheStart(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	r := f.replica(slow, "a", "version: 1\nmode: hush\nalways_ask: hush\n")
	err := r.Start(t.Context())
	require.ErrorIs(t, err, core.ErrInvalid)
	require.ErrorContains(t, err, "line 2: mode: ")
	require.ErrorContains(t, err, "line 3: always_ask: ")
	require.NotContains(t, err.Error(), "hush")
	require.Nil(t, r.Current())
	require.Error(t, r.Ready(t.Context()))
	require.Zero(t, f.inForce().Number)
}

// New files are read when the file system tells of them, are in force at once, and are
// known to the store by their digest.
func TestFilesAreWatched(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	r := f.started(slow, "a", outside)
	require.Equal(t, core.TablesInForce{Digest: r.Current().Digest(), Number: 1, By: "a", At: f.inForce().At}, f.inForce())
	require.NoError(t, r.Ready(t.Context()))
	r.run()
	r.write(everything)
	r.soon(policy.ModeEverything)
	require.Eventually(t, func() bool { return f.inForce().Number == 2 }, 10*time.Second, time.Millisecond)
	require.NoError(t, r.Ready(t.Context()))
	require.NoError(t, os.WriteFile(r.path, []byte(money), 0o600), "written in place")
	r.soon(policy.ModeMoney)
}

// Where the file system tells nothing, the files are read all the same, and so they are
// on request.
func TestFilesAreReadWithoutAWord(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	target := filepath.Join(t.TempDir(), "elsewhere", "table.yaml")
	require.NoError(t, os.MkdirAll(filepath.Dir(target), 0o700))
	r := f.replica(inforce.Config{ReadEvery: 5 * time.Millisecond, CompareEvery: time.Hour, Settle: time.Millisecond}, "a", outside)
	require.NoError(t, os.WriteFile(target, []byte(outside), 0o600))
	require.NoError(t, os.Remove(r.path))
	require.NoError(t, os.Symlink(filepath.Dir(target), r.path+".d"))
	require.NoError(t, os.Symlink(filepath.Join(r.path+".d", "table.yaml"), r.path))
	require.NoError(t, r.Start(t.Context()))
	r.run()
	// A link on the way leads elsewhere: no folder that is watched has changed.
	other := filepath.Join(t.TempDir(), "table.yaml")
	require.NoError(t, os.WriteFile(other, []byte(money), 0o600))
	require.NoError(t, os.Symlink(filepath.Dir(other), r.path+".e"))
	require.NoError(t, os.Rename(r.path+".e", r.path+".d"))
	r.soon(policy.ModeMoney)

	asked := f.started(slow, "b", money)
	require.NoError(t, os.Chtimes(asked.path, time.Time{}, time.Now()))
	asked.write(everything)
	asked.Look()
	asked.run()
	asked.soon(policy.ModeEverything)
}

// A bad file is refused and told, the tables in force stay, and a good one heals it.
func TestABadFileIsRefused(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	r := f.started(slow, "a", everything)
	r.run()
	r.write(bad)
	require.Eventually(t, func() bool { return r.Status().Refused != nil }, 10*time.Second, time.Millisecond)
	require.ErrorIs(t, r.Status().Refused, core.ErrInvalid)
	require.Equal(t, policy.ModeEverything, r.mode())
	require.NoError(t, r.Ready(t.Context()), "a refused file is no reason not to serve")
	require.True(t, r.Status().Agrees())
	require.Contains(t, f.logs.String(), "policy files refused")
	require.NotContains(t, f.logs.String(), "hush")
	_, err := r.Adopt(t.Context())
	require.ErrorIs(t, err, core.ErrInvalid)
	require.NoError(t, os.Remove(r.path))
	require.Eventually(t, func() bool { return errors.Is(r.Status().Refused, os.ErrNotExist) }, 10*time.Second, time.Millisecond)
	require.Equal(t, policy.ModeEverything, r.mode())
	r.write(money)
	r.soon(policy.ModeMoney)
	require.Eventually(t, func() bool { return r.Status().Refused == nil }, 10*time.Second, time.Millisecond)
}

// Half a list is a good list: what is being written does not count.
func TestAFileThatIsBeingWritten(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	r := f.started(inforce.Config{ReadEvery: time.Hour, CompareEvery: time.Millisecond, Settle: 50 * time.Millisecond}, "a", outside)
	before := r.Current().Digest()
	ctx, stop := context.WithCancel(t.Context())
	seen := make(chan map[string]bool)
	go func() {
		digests := map[string]bool{}
		for ctx.Err() == nil {
			r.Holding(ctx, "sha256:unknown")
			digests[r.Current().Digest()] = true
		}
		seen <- digests
	}()
	file, err := os.OpenFile(r.path, os.O_WRONLY|os.O_TRUNC, 0o600)
	require.NoError(t, err)
	_, err = file.WriteString("version: 1\nmode: only-money-and-deletes\n")
	require.NoError(t, err)
	_, err = file.WriteString("always_ask: [deploy]\n")
	require.NoError(t, err)
	require.NoError(t, file.Close())
	r.soon(policy.ModeMoney)
	require.Eventually(t, func() bool { return f.inForce().Number == 2 }, 10*time.Second, time.Millisecond)
	stop()
	for digest := range <-seen {
		require.Contains(t, []string{before, f.inForce().Digest}, digest, "nothing in between was ever in force")
	}
	v := policy.Evaluate(r.Current(), policy.Request{Kind: core.KindPlugin, Tool: "deploy", Arguments: []byte("{}")}, policy.Inputs{})
	require.Equal(t, policy.Ask, v.Answer)
}

// New files on one replica are in force on all: those that have them take them at once,
// the others are not ready and hold nothing of what is in force.
func TestAFleetAgrees(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	a, b := f.started(slow, "a", outside), f.started(slow, "b", outside)
	require.Equal(t, int64(1), f.inForce().Number)
	a.run()
	b.run()
	a.write(everything)
	a.soon(policy.ModeEverything)
	require.Eventually(t, func() bool { return f.inForce().Number == 2 }, 10*time.Second, time.Millisecond)
	require.ErrorIs(t, b.Ready(t.Context()), inforce.ErrOthersInForce)
	require.Nil(t, b.Holding(t.Context(), f.inForce().Digest))
	require.Eventually(t, func() bool { return !b.Status().Agrees() }, 10*time.Second, time.Millisecond)
	require.Contains(t, f.logs.String(), "other policy tables are in force")
	b.write(everything)
	require.Eventually(t, func() bool { return b.Ready(t.Context()) == nil }, 10*time.Second, time.Millisecond)
	require.Equal(t, int64(2), f.inForce().Number)
	require.Equal(t, "a", f.inForce().By)
}

// An evaluation elsewhere finds the new files by itself, before anything has told of
// them.
func TestHoldingLooksAtTheFiles(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	a, b := f.started(slow, "a", outside), f.started(slow, "b", outside)
	b.write(money)
	a.write(money)
	_, err := a.Adopt(t.Context())
	require.NoError(t, err)
	require.Equal(t, policy.ModeOutside, b.mode())
	require.Equal(t, policy.ModeMoney, b.Holding(t.Context(), f.inForce().Digest).DefaultMode())
	require.NoError(t, b.Ready(t.Context()))
}

// Without hints a replica finds out by looking.
func TestReplicasCompareWithoutHints(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	a := f.started(slow, "a", outside)
	b := f.started(inforce.Config{ReadEvery: time.Hour, CompareEvery: 5 * time.Millisecond, Settle: time.Millisecond}, "b", outside)
	b.run()
	_, err := f.store.PutTables(t.Context(), core.PutTables{Digest: core.HashOf([]byte("c"))})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return !b.Status().Agrees() }, 10*time.Second, time.Millisecond)
	_, err = a.Adopt(t.Context())
	require.NoError(t, err)
	require.Eventually(t, func() bool { return b.Status().Agrees() }, 10*time.Second, time.Millisecond)
}

// Whoever comes back with files of the past does not lead the others back, until a
// person says so; new files win at once.
func TestThePastDoesNotWin(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	a := f.started(slow, "a", outside)
	a.write(everything)
	_, err := a.Adopt(t.Context())
	require.NoError(t, err)

	late := f.started(slow, "late", outside)
	require.ErrorIs(t, late.Ready(t.Context()), inforce.ErrOthersInForce)
	require.NoError(t, a.Ready(t.Context()))
	fresh := f.started(slow, "fresh", money)
	require.NoError(t, fresh.Ready(t.Context()))
	require.ErrorIs(t, a.Ready(t.Context()), inforce.ErrOthersInForce)

	status, err := late.Adopt(t.Context())
	require.NoError(t, err)
	require.True(t, status.Agrees())
	require.Equal(t, "late", f.inForce().By)
	require.NoError(t, late.Ready(t.Context()))
	require.ErrorIs(t, fresh.Ready(t.Context()), inforce.ErrOthersInForce)
}

// Whoever agreed with the newest and gets older files back means it.
func TestARollBackByFiles(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	a := f.started(slow, "a", outside)
	a.run()
	for i, table := range []string{everything, outside, everything} {
		a.write(table)
		require.Eventually(t, func() bool { return f.inForce().Number == int64(i+2) }, 10*time.Second, time.Millisecond)
	}
}

// failing is a store that is away.
type failing struct {
	core.PolicyTables
	mu  sync.Mutex
	err error
}

func (s *failing) set(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

func (s *failing) fault() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

func (s *failing) PutTables(ctx context.Context, c core.PutTables) (core.TablesInForce, error) {
	if err := s.fault(); err != nil {
		return core.TablesInForce{}, err
	}
	return s.PolicyTables.PutTables(ctx, c)
}

// New files that the store could not be told of are told once it is back.
func TestTheStoreIsAway(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	away := &failing{PolicyTables: f.store}
	f.store = away
	r := f.started(inforce.Config{ReadEvery: 5 * time.Millisecond, CompareEvery: time.Hour, Settle: time.Millisecond}, "a", outside)
	away.set(core.ErrUnavailable)
	r.run()
	r.write(money)
	r.soon(policy.ModeMoney)
	require.ErrorIs(t, r.Ready(t.Context()), inforce.ErrOthersInForce)
	_, err := r.Adopt(t.Context())
	require.ErrorIs(t, err, core.ErrUnavailable)
	other := f.replica(slow, "b", everything)
	require.ErrorIs(t, other.Start(t.Context()), core.ErrUnavailable)
	away.set(nil)
	require.Eventually(t, func() bool { return r.Ready(t.Context()) == nil }, 10*time.Second, time.Millisecond)
}
