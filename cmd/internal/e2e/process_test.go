//go:build unix

package e2e_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/channels/fakes"
)

// output collects what a process writes, and lets tests wait for it.
type output struct {
	signal fakes.Signal
	mu     sync.Mutex
	buf    bytes.Buffer
}

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	defer o.signal.Notify()
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// process is something that a test started and that ends with it.
type process struct {
	t    *testing.T
	ctx  context.Context
	cmd  *exec.Cmd
	out  output
	err  output
	gone chan struct{} // Closed once it has ended and all that it wrote is here.
	read chan struct{} // Closed once its terminal has nothing more; nil without one.
}

// command prepares a start of sayso.
func (w *world) command(env []string, args ...string) *process {
	p := &process{t: w.t, ctx: w.ctx, gone: make(chan struct{})}
	p.cmd = exec.Command(os.Getenv(saysoVariable), args...) // It is ended by its group, not by a context.
	p.cmd.Env, p.cmd.Dir, p.cmd.WaitDelay = env, w.work, 5*time.Second
	return p
}

// launch starts sayso in a process group of its own.
func (w *world) launch(env []string, args ...string) *process {
	w.t.Helper()
	p := w.command(env, args...)
	p.cmd.SysProcAttr = ownGroup()
	if w.owner != 0 && os.Geteuid() == 0 {
		p.cmd.SysProcAttr.Credential = &syscall.Credential{Uid: w.owner, Gid: w.owner}
	}
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.err
	p.start()
	w.t.Cleanup(p.kill)
	return p
}

// start starts it and notes when it is gone.
func (p *process) start() {
	p.t.Helper()
	require.NoError(p.t, p.cmd.Start())
	go func() {
		_ = p.cmd.Wait() // The exit code is read from the state.
		if p.read != nil {
			<-p.read
		}
		close(p.gone)
		p.out.signal.Notify()
	}()
}

// kill ends the process and everything that it started, with no chance to react.
func (p *process) kill() {
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) // It may have ended before.
	<-p.gone
}

func (p *process) signal(s syscall.Signal) {
	p.t.Helper()
	require.NoError(p.t, p.cmd.Process.Signal(s))
}

// code waits for the end and returns the exit code.
func (p *process) code() int {
	p.t.Helper()
	select {
	case <-p.gone:
	case <-p.ctx.Done():
		require.FailNow(p.t, "the process does not end", "%s\n%s", p.out.String(), p.err.String())
	}
	return p.cmd.ProcessState.ExitCode()
}

// ends requires an exit code, and returns what was printed as the result.
func (p *process) ends(code int) string {
	p.t.Helper()
	require.Equal(p.t, code, p.code(), "%s: %s%s", strings.Join(p.cmd.Args, " "), p.out.String(), p.err.String())
	return p.out.String()
}

// prints waits until the process has written a text.
func (p *process) prints(text string) string {
	p.t.Helper()
	got, err := fakes.Await(p.ctx, &p.out.signal, func() (string, bool) {
		ended := false
		select {
		case <-p.gone:
			ended = true
		default:
		}
		s := p.out.String()
		return s, ended || strings.Contains(s, text)
	})
	require.NoError(p.t, err, "%q is not in\n%s\n%s", text, p.out.String(), p.err.String())
	require.Contains(p.t, got, text, "the process has ended: %s", p.err.String())
	return got
}
