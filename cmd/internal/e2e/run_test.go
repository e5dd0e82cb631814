//go:build unix

package e2e_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/api"
	"github.com/saysohq/sayso/core/client"
	"github.com/saysohq/sayso/core/redact"
)

// probed is where a probe leaves its traces.
type probed struct {
	w    *world
	path string
}

func (w *world) probe() *probed {
	return &probed{w: w, path: filepath.Join(w.t.TempDir(), "probe")}
}

// run starts `sayso run` around the probe.
func (p *probed) run(env []string, flags []string, argv ...string) *process {
	p.w.t.Helper()
	args := append(append([]string{"run"}, flags...), "--")
	return p.w.with(append(env, probeLog+"="+p.path), append(args, argv...)...)
}

// starts lists what was started.
func (p *probed) starts() []started {
	p.w.t.Helper()
	text, err := os.ReadFile(p.path)
	if os.IsNotExist(err) {
		return nil
	}
	require.NoError(p.w.t, err)
	var all []started
	for line := range strings.Lines(string(text)) {
		var s started
		require.NoError(p.w.t, json.Unmarshal([]byte(line), &s))
		all = append(all, s)
	}
	return all
}

// started waits for the first start.
func (p *probed) started() {
	p.w.t.Helper()
	require.Eventually(p.w.t, func() bool { return len(p.starts()) > 0 }, afterRestart, 20*time.Millisecond)
}

// itself is the probe's program: this test binary.
func itself(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	require.NoError(t, err)
	path, err = filepath.EvalSymlinks(path)
	require.NoError(t, err)
	return path
}

// TestRun: what was approved runs, exactly that, once.
func TestRun(t *testing.T) {
	t.Parallel()
	t.Run("world", func(t *testing.T) {
		w := newWorld(t, setup{})
		page := w.alice()
		stories := map[string]func(t *testing.T, w *world, page *reader){
			"exactly what was approved": runsExactly,
			"exit code":                 runsAndFails,
			"denied":                    runsNot,
			"ended by a signal":         runsUntilSignal,
			"the waiting is stopped":    runStopped,
		}
		t.Run("stories", func(t *testing.T) {
			for name, story := range stories {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					mine, r := w.story(t, page)
					story(t, mine, r)
				})
			}
		})
	})
}

func runsExactly(t *testing.T, w *world, _ *reader) {
	probe := w.probe()
	// A link is followed before anybody is asked: what it points at later is nobody's approval.
	require.NoError(t, os.Symlink(itself(t), filepath.Join(w.work, "tool")))
	argv := []string{
		"./tool", "with space", `"quoted" 'twice'`, "two\nlines", "ünïcødé 漢字 🦓", "$HOME `id` $(id)",
		"*", ";rm -rf /", "--title=not-ours", "", "-x",
	}
	run := probe.run(nil, []string{"--title", secretWord + " exactly"}, argv...)
	card := w.message(aliceChat, secretWord+" exactly", "Allow once")
	require.NoError(t, os.Remove(filepath.Join(w.work, "tool")))
	require.NoError(t, os.Symlink("/bin/false", filepath.Join(w.work, "tool")))
	w.press(aliceChat, card, "Allow once")
	require.Empty(t, run.ends(0), "nothing but the command writes")

	folder, err := filepath.EvalSymlinks(w.work)
	require.NoError(t, err)
	require.Equal(t, []started{{Argv: argv, Folder: folder, Executable: itself(t)}}, probe.starts())
	a := w.record(w.idOf(secretWord + " exactly"))
	require.Equal(t, core.KindExec, a.Kind)
	require.Equal(t, core.ExecutionSucceeded, a.Execution)
	w.refusesSecondClaim(a, argv, folder)
}

// refusesSecondClaim claims a used grant once more, with the right hash.
func (w *world) refusesSecondClaim(a api.Approval, argv []string, folder string) {
	w.t.Helper()
	arguments, err := json.Marshal(map[string]any{"argv": argv, "folder": folder, "executable": itself(w.t)})
	require.NoError(w.t, err)
	hash, err := redact.ArgumentsHash(arguments)
	require.NoError(w.t, err)
	require.Equal(w.t, a.ArgumentsHash, hash, "the hash covers arguments, folder and program")
	_, err = w.api().Claim(w.ctx, a.ID, api.Claim{
		ActionHash: redact.ActionHash(hash, core.KindExec, "run", ""), Token: client.NewClaimToken(),
	})
	require.ErrorIs(w.t, err, core.ErrAlreadyClaimed)
}

func runsAndFails(t *testing.T, w *world, page *reader) {
	probe := w.probe()
	run := probe.run([]string{probeExit + "=7"}, []string{"--title", secretWord + " fails"}, itself(t))
	w.message(aliceChat, secretWord+" fails", "Allow once")
	id := w.idOf(secretWord + " fails")
	page.decide(id, "allow-once")
	run.ends(7)
	require.Len(t, probe.starts(), 1)
	a := w.record(id)
	require.Equal(t, core.ExecutionFailed, a.Execution)
	require.Equal(t, "exit code 7", a.OutcomeError)
}

func runsNot(t *testing.T, w *world, page *reader) {
	probe := w.probe()
	run := probe.run(nil, []string{"--title", secretWord + " not"}, itself(t))
	w.message(aliceChat, secretWord+" not", "Deny")
	page.decide(w.idOf(secretWord+" not"), "deny")
	require.Equal(t, "denied by Alice (page)\n", run.ends(10))
	require.Empty(t, probe.starts())
}

func runsUntilSignal(t *testing.T, w *world, page *reader) {
	probe := w.probe()
	run := probe.run([]string{probeHold + "=1"}, []string{"--title", secretWord + " stays"}, itself(t))
	w.message(aliceChat, secretWord+" stays", "Allow once")
	id := w.idOf(secretWord + " stays")
	page.decide(id, "allow-once")
	probe.started()
	run.signal(syscall.SIGTERM)
	run.ends(128 + int(syscall.SIGTERM))
	a := w.record(id)
	require.Equal(t, core.ExecutionFailed, a.Execution)
	require.Equal(t, "ended by signal 15", a.OutcomeError)
}

func runStopped(t *testing.T, w *world, page *reader) {
	probe := w.probe()
	run := probe.run(nil, []string{"--title", secretWord + " stopped", "--key", "stopped"}, itself(t))
	w.message(aliceChat, secretWord+" stopped", "Allow once")
	run.signal(syscall.SIGINT)
	run.ends(13)
	id := w.idOf(secretWord + " stopped")
	require.Contains(t, run.err.String(), id, "it says what still stands")
	// Whoever allows it afterwards allows it for the next one who asks the same.
	page.decide(id, "allow-once")
	require.Empty(t, probe.starts())
	probe.run(nil, []string{"--title", secretWord + " stopped", "--key", "stopped"}, itself(t)).ends(0)
	require.Len(t, probe.starts(), 1)
	// The key is the question: its grant is used up.
	again := probe.run(nil, []string{"--title", secretWord + " stopped", "--key", "stopped"}, itself(t))
	again.ends(1)
	require.Contains(t, again.err.String(), "the grant was already claimed")
	require.Len(t, probe.starts(), 1, "nothing runs twice")
}
