//go:build unix

package e2e_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core/client"
	"github.com/saysohq/sayso/core/store/postgres"
	"github.com/saysohq/sayso/core/store/postgres/postgrestest"
)

// databases is the PostgreSQL server of all fleets, each of which has a database of
// its own on it. It starts with the first of them.
var databases = postgrestest.New(postgrestest.Options{Prepare: postgres.Migrate}) //nolint:gochecknoglobals // TestMain ends it.

// fleet is two replicas on one database, behind a proxy that is their public address.
type fleet struct {
	t     *testing.T
	ctx   context.Context
	dsn   string // Of the database itself.
	front *front
	a, b  *replica
}

// replica is one process of a fleet, with a data folder of its own.
type replica struct {
	*world
	database *cable
}

// newFleet starts a fleet. The messenger, and what else the setup says, is the same for
// both replicas.
func newFleet(t *testing.T, s setup) *fleet {
	t.Helper()
	f := unstarted(t, s)
	f.a.start()
	f.b.start()
	return f
}

// unstarted is a fleet whose replicas have not started.
func unstarted(t *testing.T, s setup) *fleet {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), storyTime)
	t.Cleanup(cancel)
	f := &fleet{t: t, ctx: ctx, front: newFront(t)}
	key := filepath.Join(t.TempDir(), "secret.key")
	require.NoError(t, os.WriteFile(key, bytes.Repeat([]byte{7}, 32), 0o600))
	f.dsn = databases.Database(t)
	f.a, f.b = f.replica(), f.replica()
	s.extra += fmt.Sprintf("public_url: %s\nsecret_key_file: %q\n", f.front.url(), key)
	f.a.configure(s)
	text, err := os.ReadFile(f.a.config)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(f.b.config, text, 0o600))
	f.b.fake = f.a.fake
	return f
}

// empty takes the database back to where nobody has migrated it.
func (f *fleet) empty() {
	f.t.Helper()
	c, err := pgx.Connect(f.ctx, f.dsn)
	require.NoError(f.t, err)
	_, err = c.Exec(f.ctx, "DROP SCHEMA public CASCADE; CREATE SCHEMA public")
	require.NoError(f.t, errors.Join(err, c.Close(f.ctx)))
}

func (f *fleet) replica() *replica {
	f.t.Helper()
	root := f.t.TempDir()
	r := &replica{world: &world{
		t: f.t, ctx: f.ctx, folder: filepath.Join(root, "data"), work: filepath.Join(root, "work"),
		config: filepath.Join(root, "sayso.yaml"), listen: "127.0.0.1:0",
	}}
	require.NoError(f.t, os.Mkdir(r.work, 0o755))
	var dsn string
	r.database, dsn = cablePostgres(f.t, f.dsn)
	r.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + root, "SAYSO_DATA=" + r.folder, "SAYSO_POSTGRES__DSN=" + dsn,
		"GORACE=halt_on_error=1 exitcode=66",
	}
	f.front.add(r)
	return r
}

// outside is the environment of a program that knows the public address alone, with
// the bearer of a replica's machine: every replica knows it.
func (f *fleet) outside() []string {
	f.t.Helper()
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + f.t.TempDir(), "SAYSO_URL=" + f.front.url(), "SAYSO_TOKEN=" + f.bearer(),
	}
}

func (f *fleet) bearer() string {
	f.t.Helper()
	token, err := os.ReadFile(filepath.Join(f.a.folder, "local-token"))
	require.NoError(f.t, err)
	return strings.TrimSpace(string(token))
}

// client calls the public address.
func (f *fleet) client() *client.Client {
	f.t.Helper()
	c, err := client.New(client.Config{BaseURL: f.front.url(), Bearer: f.bearer(), Patience: storyTime})
	require.NoError(f.t, err)
	f.t.Cleanup(c.Close)
	return c
}

// at is the same person's browser, at the address of one replica.
func (r *reader) at(w *replica) *reader { return &reader{w: w.world, http: r.http} }

// probe asks for one of the words of a replica and returns the status.
func (r *replica) probe(path string) int {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.ctx, http.MethodGet, r.url+path, nil)
	require.NoError(r.t, err)
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	require.NoError(r.t, err)
	require.NoError(r.t, resp.Body.Close())
	return resp.StatusCode
}

// becomesReady waits until a replica says that it is ready, or that it is not.
func (r *replica) becomesReady(ready bool) {
	r.t.Helper()
	want := http.StatusOK
	if !ready {
		want = http.StatusServiceUnavailable
	}
	require.Eventually(r.t, func() bool { return r.probe("/readyz") == want }, afterRestart, patiently, "readiness is not %v", ready)
}
