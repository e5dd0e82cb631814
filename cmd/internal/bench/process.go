package bench

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// server is the service as a process of its own.
type server struct {
	addr  string
	pid   int
	ready time.Duration // From its start until it answered /readyz with 200.

	stop context.CancelFunc
	done chan error
}

const (
	startLimit = 20 * time.Second
	stopLimit  = 15 * time.Second
	pollEvery  = time.Millisecond
)

// settings are those of a service that nobody configured, but for the limits that
// keep one runtime from asking too much: here one runtime stands for many.
const settings = "limits: {pending: 1000000, requests_per_s: 1000000, requests_burst: 1000000}\n"

// serve starts the service on a data folder that no lab runs on.
func (b *bench) serve(ctx context.Context, dir, more string) (*server, error) {
	addr, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "bench.yaml")
	if err := os.WriteFile(file, []byte(settings+more), 0o600); err != nil {
		return nil, fmt.Errorf("write settings: %w", err)
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	cmd := exec.CommandContext(running, b.Sayso, "serve", "--config", file, "--data", dir, "--listen", addr)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = stopLimit
	began := time.Now()
	if err := cmd.Start(); err != nil {
		stop()
		return nil, fmt.Errorf("start service: %w", err)
	}
	s := &server{addr: addr, pid: cmd.Process.Pid, stop: stop, done: make(chan error, 1)}
	go func() { s.done <- cmd.Wait() }()
	if err := s.awaitReady(ctx); err != nil {
		return nil, errors.Join(err, s.close())
	}
	s.ready = time.Since(began)
	return s, nil
}

func freeAddress(ctx context.Context) (string, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	return l.Addr().String(), l.Close()
}

func (s *server) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		if c, err := dial(ctx, s.addr, ""); err == nil {
			status, _, err := c.call(http.MethodGet, "/readyz", nil)
			c.close()
			if err == nil && status == http.StatusOK {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return errors.New("the service did not become ready")
		case err := <-s.done:
			s.done <- err
			return fmt.Errorf("the service ended: %w", err)
		case <-tick.C:
		}
	}
}

func (s *server) close() error {
	s.stop()
	if err := <-s.done; err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("stop service: %w", err)
	}
	return nil
}

// resident is the memory that the service has in use, in bytes.
func (s *server) resident() (float64, error) {
	pages, err := s.stat("statm", 1)
	return pages * float64(os.Getpagesize()), err
}

// cpu is the processor time that the service has used, in ticks of 10 ms.
func (s *server) cpu() (float64, error) {
	user, err := s.stat("stat", 13)
	if err != nil {
		return 0, err
	}
	system, err := s.stat("stat", 14)
	return user + system, err
}

func (s *server) stat(file string, field int) (float64, error) {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(s.pid), file))
	if err != nil {
		return 0, fmt.Errorf("read figures of the process (Linux only): %w", err)
	}
	fields := strings.Fields(string(text))
	if len(fields) <= field {
		return 0, errors.New("read figures of the process: unknown format")
	}
	return strconv.ParseFloat(fields[field], 64)
}

const (
	quietFor  = 500 * time.Millisecond
	quietMost = 2 // Ticks in quietFor: the service sweeps every second.
	settleMax = 20 * time.Second
)

// settle waits until the service has nothing to do.
func (s *server) settle(ctx context.Context) error {
	tick := time.NewTicker(quietFor)
	defer tick.Stop()
	last, err := s.cpu()
	for deadline := time.Now().Add(settleMax); err == nil && time.Now().Before(deadline); {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		var now float64
		if now, err = s.cpu(); err == nil && now-last <= quietMost {
			return nil
		}
		last = now
	}
	return err
}
