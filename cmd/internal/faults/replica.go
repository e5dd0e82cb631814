//go:build unix

package faults

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	startLimit = 90 * time.Second // A race detector on a busy machine.
	upLimit    = 2 * startLimit   // Of all starts until one stands.
	stopLimit  = 45 * time.Second
	pollEvery  = 25 * time.Millisecond
)

// replica is one process of the fleet with a data folder of its own, which keeps its
// address over all starts.
type replica struct {
	name     string
	data     string
	log      string // Path of what it writes to standard error.
	address  string
	config   string
	env      []string
	database *line
	redis    *line

	program []string // How it is started: the binary and its arguments before the flags.
	cmd     *exec.Cmd
	gone    chan struct{}
	starts  int
	exit    error // Of the last end; read after gone is closed.
}

// start starts the process; ready waits for it.
func (r *replica) start() error {
	log, err := os.OpenFile(r.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open log of %s: %w", r.name, err)
	}
	defer log.Close()
	args := append(append([]string{}, r.program[1:]...), "--config", r.config, "--listen", r.address)
	cmd := exec.Command(r.program[0], args...) //nolint:noctx // It is ended by a signal, not by a context.
	cmd.Env, cmd.Stderr, cmd.SysProcAttr = r.env, log, ownGroup()
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", r.name, err)
	}
	gone := make(chan struct{})
	r.cmd, r.gone = cmd, gone
	r.starts++
	go func() {
		r.exit = cmd.Wait()
		close(gone)
	}()
	return nil
}

// ready waits until it says so. Errors: errEnded where it ended first.
func (r *replica) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: healthTimeout}
	for !answers(ctx, c, r.address) {
		select {
		case <-r.gone:
			return fmt.Errorf("%s: %w", r.name, errors.Join(errEnded, r.exit))
		case <-ctx.Done():
			return fmt.Errorf("%s does not become ready: %w", r.name, ctx.Err())
		case <-time.After(pollEvery): // A real process: there is no signal to wait for.
		}
	}
	return nil
}

var errEnded = errors.New("the process ended")

// up starts it, unless it runs, and waits until it is ready. One that ends while it
// starts, because what it needs is not there, is started again.
func (r *replica) up(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, upLimit)
	defer cancel()
	for {
		if !r.runs() {
			if err := r.start(); err != nil {
				return err
			}
		}
		err := r.ready(ctx)
		if err == nil || !errors.Is(err, errEnded) {
			return err
		}
		if pause(ctx, healthEvery) != nil {
			return err
		}
	}
}

func (r *replica) runs() bool {
	if r.cmd == nil {
		return false
	}
	select {
	case <-r.gone:
		return false
	default:
		return true
	}
}

func (r *replica) signal(s syscall.Signal) error {
	if err := r.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("signal %s: %w", r.name, err)
	}
	return nil
}

// kill is kill -9, with everything that the process started.
func (r *replica) kill() {
	if r.cmd == nil {
		return
	}
	_ = syscall.Kill(-r.cmd.Process.Pid, syscall.SIGKILL) // It may have ended before.
	<-r.gone
}

// stop ends it in good order. Errors: an exit code other than 0.
func (r *replica) stop() error {
	if !r.runs() {
		return nil
	}
	if err := r.signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-r.gone:
		if r.exit != nil {
			return fmt.Errorf("stop %s: %w", r.name, r.exit)
		}
		return nil
	case <-time.After(stopLimit):
		r.kill()
		return fmt.Errorf("%s does not stop", r.name)
	}
}

// told reads a file in the data folder.
func (r *replica) told(name string) (string, error) {
	text, err := os.ReadFile(filepath.Join(r.data, name))
	if err != nil {
		return "", fmt.Errorf("read what %s told: %w", r.name, err)
	}
	return strings.TrimSpace(string(text)), nil
}

// get asks the replica itself, past the front.
func (r *replica) get(ctx context.Context, path string) (http.Header, string, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+r.address+path, nil)
	if err != nil {
		return nil, "", fmt.Errorf("ask %s: %w", r.name, err)
	}
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		return nil, "", fmt.Errorf("ask %s: %w", r.name, err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, "", fmt.Errorf("ask %s: %w", r.name, err)
	}
	return resp.Header, string(text), nil
}

// metrics are what it shows of itself.
func (r *replica) metrics(ctx context.Context) (string, error) {
	_, text, err := r.get(ctx, "/metrics")
	return text, err
}

// date is the time that it believes to be.
func (r *replica) date(ctx context.Context) (time.Time, error) {
	header, _, err := r.get(ctx, "/healthz")
	if err != nil {
		return time.Time{}, err
	}
	date, err := http.ParseTime(header.Get("Date"))
	if err != nil {
		return time.Time{}, fmt.Errorf("read the date of %s: %w", r.name, err)
	}
	return date, nil
}

func freeAddress(ctx context.Context) (string, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	return l.Addr().String(), l.Close()
}

// pause waits, or returns why not.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
