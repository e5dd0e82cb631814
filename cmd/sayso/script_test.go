//go:build unix

package main

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"sayso": main})
}

// TestScripts runs the stories in testdata/script against the real command line:
// every sayso in them is a process of its own.
//
// Beside the commands of testscript there are
//
//	serve [flag...]        start a service on the data folder $SAYSO_DATA and wait until it is ready
//	stop                   stop it in good order
//	first NAME             make the first admin with the code that serve wrote down
//	exits CODE sayso ...   run a command and require its exit code
//	keep NAME              keep what the last command printed as $NAME
//	sql STATEMENT          change the database of a service that does not run
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("SAYSO_DATA", filepath.Join(env.WorkDir, "data"))
			env.Setenv("HOME", env.WorkDir)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"serve": scriptServe, "stop": scriptStop, "first": scriptFirst,
			"exits": scriptExits, "keep": scriptKeep, "sql": scriptSQL,
		},
	})
}

// running is the service of a script.
type running struct {
	cmd  *exec.Cmd
	out  safeBuffer
	err  safeBuffer
	gone chan struct{}
}

// safeBuffer may be read while a process writes to it.
type safeBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// services are the running services by the data folder of their script.
var services sync.Map

func serviceOf(ts *testscript.TestScript) *running {
	v, ok := services.Load(ts.Getenv("SAYSO_DATA"))
	if !ok {
		ts.Fatalf("no service runs")
	}
	s, _ := v.(*running)
	return s
}

func scriptServe(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("serve cannot be negated: use exits")
	}
	path, err := exec.LookPath("sayso")
	ts.Check(err)
	s := &running{gone: make(chan struct{})}
	s.cmd = exec.Command(path, append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...) // Ended below.
	s.cmd.Env = []string{
		"PATH=" + ts.Getenv("PATH"), "HOME=" + ts.Getenv("HOME"), "SAYSO_DATA=" + ts.Getenv("SAYSO_DATA"),
	}
	s.cmd.Dir, s.cmd.Stdout, s.cmd.Stderr = ts.Getenv("WORK"), &s.out, &s.err
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	ts.Check(s.cmd.Start())
	go func() {
		_ = s.cmd.Wait() // The state says how it ended.
		close(s.gone)
	}()
	ts.Defer(func() {
		_ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL) // It may have been stopped before.
		<-s.gone
		services.CompareAndDelete(ts.Getenv("SAYSO_DATA"), s)
	})
	services.Store(ts.Getenv("SAYSO_DATA"), s)
	if !waitFor(func() bool { return strings.Contains(s.out.String(), "Run it as a user of its own") }, s.gone) {
		ts.Fatalf("the service is not ready:\n%s%s", s.out.String(), s.err.String())
	}
}

// waitFor polls for something that another process does.
func waitFor(done func() bool, gone <-chan struct{}) bool {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	over := time.NewTimer(30 * time.Second)
	defer over.Stop()
	for !done() {
		select {
		case <-gone:
			return done()
		case <-over.C:
			return false
		case <-tick.C:
		}
	}
	return true
}

func scriptStop(ts *testscript.TestScript, _ bool, _ []string) {
	s := serviceOf(ts)
	ts.Check(s.cmd.Process.Signal(syscall.SIGTERM))
	select {
	case <-s.gone:
	case <-time.After(20 * time.Second):
		ts.Fatalf("the service does not stop:\n%s", s.err.String())
	}
	if code := s.cmd.ProcessState.ExitCode(); code != 0 {
		ts.Fatalf("the service ended with %d:\n%s", code, s.err.String())
	}
}

func scriptFirst(ts *testscript.TestScript, _ bool, args []string) {
	link, err := url.Parse(strings.TrimSpace(ts.ReadFile(filepath.Join(ts.Getenv("SAYSO_DATA"), "first-sign-in"))))
	ts.Check(err)
	code, err := url.ParseQuery(link.Fragment)
	ts.Check(err)
	form := url.Values{"code": {code.Get("code")}, "name": {args[0]}}
	link.Fragment = ""
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, link.String(), strings.NewReader(form.Encode()))
	ts.Check(err)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := http.DefaultTransport.RoundTrip(req)
	ts.Check(err)
	_, err = io.Copy(io.Discard, resp.Body)
	ts.Check(errors.Join(err, resp.Body.Close()))
	if resp.StatusCode != http.StatusSeeOther {
		ts.Fatalf("the first sign-in got %d", resp.StatusCode)
	}
}

func scriptExits(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Check(err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("%s: exit code %d, not %d", strings.Join(args[1:], " "), got, want)
	}
}

func scriptKeep(ts *testscript.TestScript, _ bool, args []string) {
	ts.Setenv(args[0], strings.TrimSpace(ts.ReadFile("stdout")))
}

func scriptSQL(ts *testscript.TestScript, _ bool, args []string) {
	db, err := sql.Open("sqlite", fmt.Sprintf("file:%s", filepath.Join(ts.Getenv("SAYSO_DATA"), "sayso.db")))
	ts.Check(err)
	_, err = db.ExecContext(context.Background(), strings.Join(args, " "))
	ts.Check(errors.Join(err, db.Close()))
}
