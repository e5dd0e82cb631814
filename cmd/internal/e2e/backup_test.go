//go:build unix

package e2e_test

import (
	"context"
	"crypto/rand"
	"database/sql"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite"

	"github.com/saysohq/sayso/channels/fakes"
	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/api"
)

// claim takes the grant of an allowed question, as its runner.
func (w *world) claim(id string) {
	w.t.Helper()
	a := w.record(id)
	token := rand.Text() + rand.Text()
	_, err := w.api().Claim(w.ctx, id, api.Claim{ActionHash: a.ActionHash, Token: token})
	require.NoError(w.t, err)
}

// goOnIn takes the service to another data folder, with the secret key that belongs to it.
func (w *world) goOnIn(folder string) {
	w.t.Helper()
	require.NoError(w.t, os.MkdirAll(folder, 0o700))
	key, err := os.ReadFile(filepath.Join(w.folder, "secret.key"))
	require.NoError(w.t, err)
	require.NoError(w.t, os.WriteFile(filepath.Join(folder, "secret.key"), key, 0o600))
	w.folder = folder
	w.env = append(w.env, "SAYSO_DATA="+folder)
}

// A backup is older than what people have seen since. After its restore every card
// says what the record can stand by, and the old buttons say the same.
func TestRestoredBackupTellsEveryCard(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{})
	page := w.alice()
	ask := func(title string) (string, fakes.Message) {
		id := w.ask(secretWord + title)
		card := w.message(aliceChat, secretWord+title, "Allow once")
		w.converges(id)
		return id, card
	}
	open, openCard := ask(" open")
	unused, unusedCard := ask(" unused")
	used, usedCard := ask(" used")
	denied, deniedCard := ask(" denied")
	w.press(aliceChat, unusedCard, "Allow once")
	w.press(aliceChat, usedCard, "Allow once")
	w.press(aliceChat, deniedCard, "Deny")
	w.claim(used)
	for _, id := range []string{unused, used, denied} {
		w.converges(id)
	}

	file := filepath.Join(w.work, "backup.db")
	require.Contains(t, w.cli("backup", "--to", file).ends(0), "4 approvals")
	w.press(aliceChat, openCard, "Allow once") // Nobody will know.
	w.becomes(openCard, "Allowed once by you")
	w.claim(unused)
	_, lateCard := ask(" late")
	w.stop()

	folder := filepath.Join(t.TempDir(), "new")
	said := w.cli("restore", "--from", file, "--data", folder).ends(0)
	require.Contains(t, said, "1 open questions cancelled, 1 unused permissions taken back, 1 that may have happened")
	w.goOnIn(folder)
	w.start()

	w.becomes(openCard, "a backup was restored")
	w.becomes(unusedCard, "a backup was restored")
	w.becomes(usedCard, "May have happened: allowed once")
	require.Equal(t, core.ReasonStorageRestored, w.record(open).Reason)
	require.Equal(t, core.ExecutionVoided, w.record(unused).Execution)
	require.Equal(t, core.ExecutionUnknown, w.record(used).Execution)
	require.Equal(t, core.StatusDenied, w.record(denied).Status)
	for _, id := range []string{open, unused, used, denied} {
		w.converges(id)
	}
	require.Contains(t, w.pressOld(aliceChat, openCard, "Allow once"), "a backup was restored")
	require.Contains(t, w.pressOld(aliceChat, lateCard, "Allow once"), "You cannot answer this.", "nothing is known of it")
	require.Len(t, w.cards(secretWord), 5, "no card was sent again")

	// Whoever was signed in still is, and the next question is one like any other.
	waits := w.cli("ask", secretWord+" next")
	w.message(aliceChat, secretWord+" next", "Allow once")
	page.decide(w.idOf(secretWord+" next"), "deny")
	waits.ends(10)
}

// A record that moved to PostgreSQL goes on where it was: the cards, their buttons,
// the sessions and the machines.
func TestMoveToPostgresKeepsOpenCards(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{})
	page := w.alice()
	waits := w.cli("ask", secretWord+" button")
	card := w.message(aliceChat, secretWord+" button", "Allow once")
	other := w.ask(secretWord + " page")
	second := w.message(aliceChat, secretWord+" page", "Deny")
	w.converges(other)
	w.converges(w.idOf(secretWord + " button"))

	database := "SAYSO_POSTGRES__DSN=" + databases.Database(t)
	require.NotEmpty(t, w.with([]string{database}, "migrate", "--from", "sqlite", "--to", "postgres").refused(69), "while it runs")
	w.stop()
	said := w.with([]string{database}, "migrate", "--from", "sqlite", "--to", "postgres").ends(0)
	require.Contains(t, said, "2 approvals")
	require.Contains(t, said, filepath.Join(w.folder, "secret.key"))
	require.Contains(t, w.cli("serve", "--config", w.config).refused(1), "serve from that one")

	w.env = append(w.env, database)
	w.start()
	require.Equal(t, "You allowed this once.", w.press(aliceChat, card, "Allow once"))
	require.Equal(t, "allowed by Alice (telegram)\n", waits.ends(0))
	w.becomes(card, "Allowed once by you")
	page.decide(other, "deny")
	w.becomes(second, "Resolved elsewhere: denied by you on the page")
	require.Len(t, w.cards(secretWord), 2, "no card was sent again")
	require.Contains(t, w.cli("migrate", "--from", "sqlite", "--to", "postgres").ends(0), "moved to this database before")
}

// refused requires an exit code, and returns what was said about it.
func (p *process) refused(code int) string {
	p.t.Helper()
	p.ends(code)
	return p.err.String()
}

// However often a move is killed, the two places never both serve, and the next one
// finishes it.
func TestKilledMoveIsFinished(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{noBots: true})
	id := w.ask(secretWord)
	w.stop()
	dsn := databases.Database(t)
	w.env = append(w.env, "SAYSO_POSTGRES__DSN="+dsn)
	for pause := 5 * time.Millisecond; pause < time.Second; pause += pause / 2 {
		p := w.cli("migrate", "--from", "sqlite", "--to", "postgres")
		select {
		case <-p.gone:
		case <-time.After(pause): // As good a moment as any other.
			p.kill()
		}
		require.False(t, w.servesFile() && serves(t, dsn), "both serve")
	}
	w.cli("migrate", "--from", "sqlite", "--to", "postgres").ends(0)
	require.False(t, w.servesFile())
	require.True(t, serves(t, dsn))
	w.start()
	require.Equal(t, core.StatusPending, w.record(id).Status)
}

// servesFile reports whether the data folder's database would serve.
func (w *world) servesFile() bool {
	w.t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(w.folder, "sayso.db")+"?_pragma=busy_timeout(5000)")
	require.NoError(w.t, err)
	defer func() { require.NoError(w.t, db.Close()) }()
	var sealed bool
	require.NoError(w.t, db.QueryRowContext(w.ctx, `SELECT sealed FROM deployment`).Scan(&sealed))
	return !sealed
}

// serves reports whether a database has a record that would be served.
func serves(t *testing.T, dsn string) bool {
	t.Helper()
	c, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Close(context.Background())) }()
	var n int
	require.NoError(t, c.QueryRow(t.Context(), `SELECT count(*) FROM deployment WHERE NOT sealed`).Scan(&n))
	return n > 0
}
