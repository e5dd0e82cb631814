//go:build unix

package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// A variant is the binary under test with one file of its source replaced or added, by
// the toolchain's own overlay: nothing of it is in the product.

// nextVersion adds a migration that no version has. It only adds to the schema, as every
// step within one major version does.
func nextVersion(_ context.Context, module string) (path string, text []byte, err error) {
	return filepath.Join(module, "migrations", "postgres", "09999_test_only.sql"), []byte(`-- +goose Up
ALTER TABLE approvals ADD COLUMN test_only text NOT NULL DEFAULT '';
ALTER TABLE deliveries ADD COLUMN test_only bigint;
CREATE TABLE test_only (id bigint PRIMARY KEY);
CREATE INDEX approvals_test_only ON approvals (test_only) WHERE test_only <> '';
-- +goose Down
DROP TABLE test_only;
ALTER TABLE deliveries DROP COLUMN test_only;
ALTER TABLE approvals DROP COLUMN test_only;
`), nil
}

// clockVariable says how many seconds the clock of a wrongClock is off.
const clockVariable = "FAULTS_CLOCK_OFF"

// wrongClock makes the whole process believe in another time, its libraries too, as one
// does on a machine whose clock is wrong: durations are right, and the wall clock is off.
func wrongClock(ctx context.Context, _ string) (path string, text []byte, err error) {
	root, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return "", nil, fmt.Errorf("find the toolchain: %w", err)
	}
	path = filepath.Join(strings.TrimSpace(string(root)), "src", "time", "time.go")
	if text, err = os.ReadFile(path); err != nil {
		return "", nil, fmt.Errorf("read package time: %w", err)
	}
	for _, edit := range [][2]string{
		{"import (\n", "import (\n\t\"syscall\"\n"},
		{"func Now() Time {\n\tsec, nsec, mono := runtimeNow()\n", "func Now() Time {\n\tsec, nsec, mono := runtimeNow()\n\tsec += clockOff\n"},
	} {
		if bytes.Count(text, []byte(edit[0])) != 1 {
			return "", nil, fmt.Errorf("%w: package time of this toolchain looks otherwise", errNotHere)
		}
		text = bytes.Replace(text, []byte(edit[0]), []byte(edit[1]), 1)
	}
	return path, append(text, `
var clockOff = func() int64 {
	text, _ := syscall.Getenv("`+clockVariable+`")
	off, _ := atoi(text)
	return int64(off)
}()
`...), nil
}

// variant is the need for a binary whose one file is as source says.
func variant(source func(ctx context.Context, module string) (path string, text []byte, err error)) func(context.Context, *campaign) (needs, error) {
	return func(ctx context.Context, c *campaign) (needs, error) {
		if c.o.Module == "" {
			return needs{}, fmt.Errorf("%w: there is no source to build from", errNotHere)
		}
		module, err := filepath.Abs(c.o.Module)
		if err != nil {
			return needs{}, fmt.Errorf("find source: %w", err)
		}
		path, text, err := source(ctx, module)
		if err != nil {
			return needs{}, err
		}
		c.variant = filepath.Join(c.folder, "variant")
		return needs{}, c.build(ctx, module, path, text)
	}
}

// build builds the variant.
func (c *campaign) build(ctx context.Context, module, path string, text []byte) error {
	file, overlay := filepath.Join(c.folder, filepath.Base(path)), filepath.Join(c.folder, "overlay.json")
	list, err := json.Marshal(map[string]any{"Replace": map[string]string{path: file}})
	if err != nil {
		return fmt.Errorf("write overlay: %w", err)
	}
	if err := errors.Join(os.WriteFile(file, text, 0o600), os.WriteFile(overlay, list, 0o600)); err != nil {
		return fmt.Errorf("write overlay: %w", err)
	}
	build := exec.CommandContext(ctx, "go", "build", "-overlay", overlay, "-o", c.variant, "./cmd/sayso")
	build.Dir, build.Env = module, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build a variant: %w\n%s", err, out)
	}
	return nil
}
