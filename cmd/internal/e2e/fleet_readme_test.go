//go:build unix

package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/channels/fakes"
	"github.com/saysohq/sayso/core/bus/redis/redistest"
)

// The commands of the README's fleet, as they stand there but for the addresses.
func TestFleetOfTheReadme(t *testing.T) {
	t.Parallel()
	f := unstarted(t, setup{noBots: true})
	f.empty()
	readme, err := os.ReadFile(filepath.Join("..", "..", "..", "README.md"))
	require.NoError(t, err)
	_, section, _ := strings.Cut(string(readme), "\n## A fleet\n")
	_, script, _ := strings.Cut(section, "```sh\n")
	script, _, found := strings.Cut(script, "```")
	require.True(t, found)
	for told, here := range map[string]string{
		"bin/sayso": os.Getenv(saysoVariable), "postgres://sayso:PASSWORD@localhost/sayso": "'" + f.dsn + "'",
		"redis://localhost:6379": redistest.Start(t).URL(), "127.0.0.1:7788": "127.0.0.1:0", "127.0.0.1:7789": "127.0.0.1:0",
		"# in one terminal": "&", "# in another": "&",
	} {
		require.Contains(t, script, told)
		script = strings.ReplaceAll(script, told, here)
	}
	w := f.a.world
	w.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.work}
	both := w.command(w.env)
	both.cmd.Path, both.cmd.Args = "/bin/sh", []string{"sh", "-ec", script + "\nwait"}
	both.cmd.SysProcAttr = ownGroup()
	both.cmd.Stdout, both.cmd.Stderr = &both.out, &both.err
	both.start()
	t.Cleanup(both.kill)
	_, err = fakes.Await(w.ctx, &both.out.signal, func() (int, bool) {
		n := strings.Count(both.out.String(), "sayso is ready at")
		return n, n == 2
	})
	require.NoError(t, err, "%s\n%s", both.out.String(), both.err.String())
	require.Contains(t, both.out.String(), "the schema is up to date")

	// What follows it: a token from one replica is good at the other.
	w.env = append(w.env, "SAYSO_DATA="+filepath.Join(w.work, "a"))
	w.url = address(t, w.work, "b")
	token := strings.TrimSpace(w.cli("token", "issue", "ci").ends(0))
	w.with([]string{"SAYSO_URL=" + w.url, "SAYSO_TOKEN=" + token}, "ask", secretWord, "--no-wait").ends(13)
}

// address is where the service of a data folder listens.
func address(t *testing.T, parts ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(append(parts, "address")...))
	require.NoError(t, err)
	return strings.TrimSpace(string(text))
}
