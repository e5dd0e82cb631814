package e2e_test

import (
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// terminal opens a pseudo terminal: the end that a program gets, and ours.
func terminal(t *testing.T) (theirs, ours *os.File) {
	t.Helper()
	ours, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	require.NoError(t, err)
	require.NoError(t, unix.IoctlSetPointerInt(int(ours.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(ours.Fd()), unix.TIOCGPTN)
	require.NoError(t, err)
	theirs, err = os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	require.NoError(t, err)
	require.NoError(t, unix.IoctlSetWinsize(int(ours.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80}))
	return theirs, ours
}

// typed starts a command on a terminal of its own.
func (w *world) typed(args ...string) *process {
	w.t.Helper()
	theirs, ours := terminal(w.t)
	p := w.command(w.env, args...)
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = theirs, theirs, theirs
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Pdeathsig: syscall.SIGKILL}
	p.read = make(chan struct{})
	p.start()
	require.NoError(w.t, theirs.Close())
	go func() {
		defer close(p.read)
		_, _ = io.Copy(&p.out, ours) // Ends with an error once nobody has the other end.
	}()
	w.t.Cleanup(func() {
		p.kill()
		require.NoError(w.t, ours.Close())
	})
	return p
}

// On a terminal a waiting command says how long it has waited, how long is left and
// where the question is; the line is wiped before the result.
func TestTerminal(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{})
	page := w.alice()
	ask := w.typed("ask", secretWord+" typed", "--expires", "10m")
	card := w.message(aliceChat, secretWord+" typed", "Deny")
	ask.prints("on the page, telegram (1)")
	require.Regexp(t, `\rwaiting \d+s, (10m00s|9m\d\ds) left; on the page`, ask.out.String())
	page.decide(w.idOf(secretWord+" typed"), "allow-once")
	ask.ends(0)
	said := ask.prints("allowed by Alice (page)\r\n")
	require.True(t, strings.HasSuffix(said, " \rallowed by Alice (page)\r\n"), "the line is wiped: %q", said)
	w.becomes(card, "Resolved elsewhere")

	// Ctrl-C ends the waiting, not the question.
	ask = w.typed("ask", secretWord+" left", "--key", "left")
	ask.prints("on the page, telegram (1)")
	ask.signal(syscall.SIGINT)
	ask.ends(13)
	ask.prints("the question stands")

	// A link for a phone comes with a code to be photographed.
	pair := w.typed("pair")
	pair.ends(0)
	require.Contains(t, pair.prints("█"), "/signin#code=")
}

// The first sign-in link stands on the terminal of whoever starts the service, and
// then in no file.
func TestServeOnTerminal(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{noBots: true})
	w.stop()
	require.NoError(t, os.Remove(w.folder+"/first-sign-in"))
	w.service = w.typed("serve", "--listen", "127.0.0.1:0")
	said := w.service.prints("Run it as a user of its own")
	require.Regexp(t, `1\. Sign in as the first admin \(once, within 15 minutes\):\r\n   http://127\.0\.0\.1:\d+/signin#code=[\w-]+`, said)
	require.NoFileExists(t, w.folder+"/first-sign-in")
	w.stop()
}
