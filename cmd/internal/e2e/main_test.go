//go:build unix

package e2e_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

// Variables that turn this test binary into the probe: the program that the
// stories let `sayso run` start.
const (
	probeLog  = "SAYSO_E2E_PROBE"      // File that gets one line per start.
	probeExit = "SAYSO_E2E_PROBE_EXIT" // Exit code.
	probeHold = "SAYSO_E2E_PROBE_HOLD" // Stay until killed.
)

// saysoVariable hands the path of the built binary from TestMain to the tests.
const saysoVariable = "SAYSO_E2E_BINARY"

func TestMain(m *testing.M) {
	if os.Getenv(probeLog) != "" {
		os.Exit(probe())
	}
	// The stories wait for other processes far more than they compute. A number on
	// the command line outranks this one.
	if err := flag.Set("test.parallel", "6"); err != nil {
		panic(err)
	}
	os.Exit(withBinary(m))
}

// withBinary builds the binary once, with the race detector where the tests have
// it too.
func withBinary(m *testing.M) int {
	folder, err := os.MkdirTemp("", "sayso-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		return 1
	}
	defer func() { _ = os.RemoveAll(folder) }()     // A temporary folder left behind fails no test.
	if err := os.Chmod(folder, 0o755); err != nil { // One story runs it as another user.
		fmt.Fprintln(os.Stderr, "e2e:", err)
		return 1
	}
	path := filepath.Join(folder, "sayso")
	args := []string{"build", "-o", path}
	if raceEnabled {
		args = append(args, "-race")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	build := exec.CommandContext(ctx, "go", append(args, "github.com/saysohq/sayso/cmd/sayso")...)
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "e2e: build sayso: %v\n%s", err, out)
		return 1
	}
	if err := os.Setenv(saysoVariable, path); err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		return 1
	}
	code := m.Run()
	if err := databases.Close(); err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		return 1
	}
	return code
}

// started is what the probe saw of its own start.
type started struct {
	Argv       []string
	Folder     string
	Executable string
}

func probe() int {
	folder, err := os.Getwd()
	if err != nil {
		return 98
	}
	executable, err := os.Executable()
	if err != nil {
		return 98
	}
	line, err := json.Marshal(started{Argv: os.Args, Folder: folder, Executable: executable})
	if err != nil {
		return 98
	}
	f, err := os.OpenFile(os.Getenv(probeLog), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return 98
	}
	if _, err := f.Write(append(line, '\n')); err != nil {
		return 98
	}
	if err := f.Close(); err != nil {
		return 98
	}
	if os.Getenv(probeHold) != "" {
		held := make(chan os.Signal, 1)
		signal.Notify(held, syscall.SIGUSR1)
		<-held
	}
	code, err := strconv.Atoi(os.Getenv(probeExit))
	if err != nil {
		return 0
	}
	return code
}
