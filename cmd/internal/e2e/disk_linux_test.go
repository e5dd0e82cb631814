package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/api"
	"github.com/saysohq/sayso/core/client"
	"github.com/saysohq/sayso/presentation"
)

// nobody is the user to whom a folder's mode applies where the tests run as root.
const nobody = 65534

// A data folder that cannot be written is said to be just that, and is left alone.
func TestReadOnlyFolder(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{noBots: true})
	id := w.ask(secretWord)
	w.stop()
	w.owner = nobody
	for _, above := range []string{filepath.Dir(w.folder), filepath.Dir(filepath.Dir(w.folder))} {
		require.NoError(t, os.Chmod(above, 0o755)) // The other user has to get there.
	}
	require.NoError(t, filepath.WalkDir(w.folder, func(path string, _ os.DirEntry, err error) error {
		if err != nil || os.Geteuid() != 0 {
			return err
		}
		return os.Lchown(path, nobody, nobody)
	}))
	unreadable := w.cli("serve", "--config", w.config)
	if os.Geteuid() == 0 { // The configuration is still root's alone.
		unreadable.ends(64)
		require.Contains(t, unreadable.err.String(), "configuration file: permission denied")
		require.NoError(t, os.Lchown(w.config, nobody, nobody))
	}
	unreadable.kill()
	require.NoError(t, os.Chmod(w.folder, 0o500)) // A folder needs its x.
	for _, args := range [][]string{{"serve", "--listen", "127.0.0.1:0"}, {"migrate"}} {
		p := w.cli(args...)
		p.ends(69)
		require.Contains(t, p.err.String(), "the data folder cannot be written")
		require.Empty(t, p.out.String())
	}
	require.NoError(t, os.Chmod(w.folder, 0o700)) // A folder needs its x.
	w.start()
	require.Equal(t, core.StatusPending, w.record(id).Status)
}

// smallDisk is a disk of 3 MiB where the tests may mount one, and otherwise a limit
// on the files of the service, which fails its writes as a broken disk does.
type smallDisk struct {
	w       *world
	ballast string // "" for a limit.
}

const ballastBytes = 1 << 20

func newSmallDisk(t *testing.T) (*smallDisk, string) {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "disk")
	require.NoError(t, os.Mkdir(folder, 0o700))
	if err := unix.Mount("tmpfs", folder, "tmpfs", 0, "size=3m,mode=0700"); err != nil {
		return &smallDisk{}, folder
	}
	t.Cleanup(func() { require.NoError(t, unix.Unmount(folder, unix.MNT_DETACH)) })
	d := &smallDisk{ballast: filepath.Join(folder, "ballast")}
	require.NoError(t, os.WriteFile(d.ballast, make([]byte, ballastBytes), 0o600))
	return d, folder
}

// limit bounds the files of the running service, in bytes.
func (d *smallDisk) limit(most uint64) {
	d.w.t.Helper()
	l := unix.Rlimit{Cur: most, Max: unix.RLIM_INFINITY}
	require.NoError(d.w.t, unix.Prlimit(d.w.service.cmd.Process.Pid, unix.RLIMIT_FSIZE, &l, nil))
}

func (d *smallDisk) shrink() {
	if d.ballast == "" {
		d.limit(ballastBytes)
	}
}

func (d *smallDisk) grow() {
	d.w.t.Helper()
	if d.ballast == "" {
		d.limit(unix.RLIM_INFINITY)
		return
	}
	require.NoError(d.w.t, os.Remove(d.ballast))
}

// With no room left nothing is half recorded: whoever asks and whoever answers is
// told so, what was recorded stands, and with room again all goes on.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	disk, folder := newSmallDisk(t)
	w := newWorld(t, setup{folder: filepath.Join(folder, "data")})
	disk.w = w
	page := w.alice()
	const spare = 5 // Questions: a denial may fit where even a small question does not.
	var open []string
	for i := range spare {
		open = append(open, w.ask(fmt.Sprint(secretWord, " question ", i)))
		w.message(aliceChat, fmt.Sprint(secretWord, " question ", i), "Deny")
		w.converges(open[i])
	}
	disk.shrink()

	c := w.api()
	recorded := spare
	fill := func() (failed error) {
		for _, size := range []int{60_000, 1} { // To the last page: a small question may fit where a large one does not.
			failed = nil
			for range 200 {
				_, failed = c.Ask(w.ctx, api.Ask{
					Kind: core.KindPlugin, Title: secretWord + " fills", Reviewers: []string{},
					Operation: api.AskOperation{Tool: "fill", Arguments: fmt.Appendf(nil, "%q", long(size))},
				}, time.Nanosecond)
				if failed != nil {
					break
				}
				recorded++
			}
			require.Error(t, failed, "the disk is full by now")
		}
		return failed
	}
	failed := fill()
	ask := w.cli("ask", secretWord+" too late")
	ask.ends(69)
	if disk.ballast != "" {
		require.ErrorIs(t, failed, core.ErrStorageFull)
		require.Contains(t, ask.err.String(), "the disk is full: nothing was recorded")
	}
	first, card := open[0], w.message(aliceChat, secretWord+" question 0", "Deny")
	if disk.ballast != "" {
		for w.press(aliceChat, card, "Deny") != presentation.AnswerStorageFull {
			open = open[1:]
			require.NotEmpty(t, open, "denials are recorded on a full disk for ever")
			_ = fill()
			first, card = open[0], w.message(aliceChat, fmt.Sprint(secretWord, " question ", spare-len(open)), "Deny")
		}
	}
	all, err := c.List(w.ctx, client.Filter{}, "")
	require.NoError(t, err, "reading goes on")
	require.Len(t, all.Approvals, recorded, "what was refused left nothing")
	require.Equal(t, core.StatusPending, w.record(first).Status)

	disk.grow()
	page.decide(first, "deny")
	w.becomes(card, "Resolved elsewhere: denied by you on the page")
	w.service.signal(syscall.SIGTERM)
	<-w.service.gone
	w.start()
	require.Equal(t, core.StatusDenied, w.record(first).Status)
}
