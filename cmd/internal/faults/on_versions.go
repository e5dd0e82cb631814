//go:build unix

package faults

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// step is a migration that no version has: it only adds, as every step within one
// major version does.
const step = `-- +goose Up
ALTER TABLE approvals ADD COLUMN test_only text NOT NULL DEFAULT '';
ALTER TABLE deliveries ADD COLUMN test_only bigint;
CREATE TABLE test_only (id bigint PRIMARY KEY);
CREATE INDEX approvals_test_only ON approvals (test_only) WHERE test_only <> '';
-- +goose Down
DROP TABLE test_only;
ALTER TABLE deliveries DROP COLUMN test_only;
ALTER TABLE approvals DROP COLUMN test_only;
`

const stepName = "09999_test_only.sql"

// upgradable needs the source, to build the version after this one.
func upgradable(c *campaign) (needs, func() error, error) {
	if c.o.Module == "" {
		return needs{}, nil, fmt.Errorf("%w: there is no source to build the next version from", errNotHere)
	}
	return needs{}, func() error { return nil }, nil
}

// buildNext builds a version that knows one migration more.
func (c *campaign) buildNext(ctx context.Context) (string, error) {
	module, err := filepath.Abs(c.o.Module)
	if err != nil {
		return "", fmt.Errorf("find source: %w", err)
	}
	file, overlay := filepath.Join(c.town.folder, stepName), filepath.Join(c.town.folder, "overlay.json")
	text, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(module, "migrations", "postgres", stepName): file}})
	if err != nil {
		return "", fmt.Errorf("write overlay: %w", err)
	}
	if err := errors.Join(os.WriteFile(file, []byte(step), 0o600), os.WriteFile(overlay, text, 0o600)); err != nil {
		return "", fmt.Errorf("write overlay: %w", err)
	}
	next := filepath.Join(c.town.folder, "next")
	build := exec.CommandContext(ctx, "go", "build", "-overlay", overlay, "-o", next, "./cmd/sayso")
	build.Dir = module
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the next version: %w\n%s", err, out)
	}
	return next, nil
}

// upgraded takes the fleet to the next version, one replica after the other, the way
// that the guide says, with a crash in the middle of it.
func upgraded(ctx context.Context, c *campaign) error {
	ctx = context.WithoutCancel(ctx) // A round that has begun is finished.
	next, err := c.buildNext(ctx)
	if err != nil {
		return err
	}
	first, second := c.town.replicas[0], c.town.replicas[1]
	migrate := exec.CommandContext(ctx, next, "migrate", "--config", first.config)
	migrate.Env = first.env
	if out, err := migrate.CombinedOutput(); err != nil {
		return fmt.Errorf("migrate: %w\n%s", err, out)
	}
	c.note("migrated while both replicas of the old version ran, after %d questions", c.done.Load())
	if err := pause(ctx, 3*time.Second); err != nil { // They go on.
		return err
	}
	if err := first.stop(); err != nil {
		return err
	}
	first.program = []string{next, "serve"}
	if err := first.up(ctx); err != nil {
		return err
	}
	c.note("old and new side by side after %d questions", c.done.Load())
	second.kill()
	if err := c.refuses(ctx, second); err != nil {
		return err
	}
	second.program = []string{next, "serve"}
	if err := second.up(ctx); err != nil {
		return err
	}
	c.note("all new after %d questions", c.done.Load())
	return nil
}

// refuses lets a replica of the old version start on the new schema: it must not.
func (c *campaign) refuses(ctx context.Context, r *replica) error {
	if err := r.start(); err != nil {
		return err
	}
	if err := r.ready(ctx); !errors.Is(err, errEnded) {
		c.wrong("the old version serves on the schema of the next: %v", err)
		r.kill()
		return nil
	}
	c.note("the old version refused to start on the new schema")
	return nil
}
