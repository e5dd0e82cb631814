package redact_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/redact"
)

// Whatever reads a quoted text once more (a shell behind -c, eval, another machine)
// would run what stands behind an operator in it. Nothing that could run is hidden as
// if it were a secret, however the shell is spelled.
func TestQuotedSecretsHideNoCommand(t *testing.T) {
	t.Parallel()
	const evil = "rm -rf ~"
	for _, line := range []string{
		`sh -c 'Cookie: a; rm -rf ~'`,
		`sh -c "Authorization: a; rm -rf ~"`,
		`sh -c 'Authorization: a | rm -rf ~'`,
		`bash -c 'Set-Cookie: x && rm -rf ~'`,
		`bash -c 'Cookie: a=b; rm -rf ~; c=d'`,
		`eval TOKEN='x; rm -rf ~'`,
		`e'v'al --password 'x; rm -rf ~'`,
		`eval --password '$(rm -rf ~)'`,
		"eval --password '`rm -rf ~`'",
		`ssh host --token 'x; rm -rf ~'`,
		`ssh host TOKEN="x; rm -rf ~"`,
		`ssh h curl -u 'a:b; rm -rf ~'`,
		`watch --password 'x & rm -rf ~'`,
		`su -c "--password 'x; rm -rf ~'"`,
		`eval --token 'x; --token y; --token "z; rm -rf ~"'`,
		"eval --token 'x\nrm -rf ~'",
	} {
		for name, arguments := range map[string]any{
			"a line":  map[string]any{"command": line},
			"a shell": map[string]any{"argv": []string{"sh", "-c", line}},
			"over":    map[string]any{"argv": []string{"bash", "-c", `eval "$@"`, "x", "--token", "x; " + line}},
		} {
			raw, err := json.Marshal(arguments)
			require.NoError(t, err)
			d := describe(t, core.RawAction{Kind: core.KindExec, Tool: "run", Arguments: raw})
			require.Contains(t, d.Detail.Text, evil, "%s: %s", name, line)
		}
	}
}

// The usual secrets of a command line stay hidden.
func TestQuotedSecretsStayHidden(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		`curl -H 'Cookie: a=S3CRET; c=S3CRET' x`:                             `curl -H 'Cookie: [hidden]' x`,
		`curl -H "Authorization: Bearer S3CRET" x`:                           `curl -H "Authorization: [hidden]" x`,
		`curl -H 'Authorization: Digest username="S3CRET", response="b"' x`:  `curl -H 'Authorization: [hidden]' x`,
		`PGPASSWORD='S3 CRET' psql`:                                          `PGPASSWORD='[hidden]' psql`,
		`x --password 'S3CRET' | sh -c "TOKEN='S3CRET' y"`:                   `x --password '[hidden]' | sh -c "TOKEN='[hidden]' y"`,
		`eval --token 'S3CRET; curl -H "Authorization: Bearer S3CRET" host'`: `eval --token '[hidden]; curl -H "Authorization: [hidden]" host'`,
	} {
		raw, err := json.Marshal(map[string]string{"command": line})
		require.NoError(t, err)
		d := describe(t, core.RawAction{Kind: core.KindExec, Tool: "run", Arguments: raw})
		require.Equal(t, want, d.Detail.Text)
	}
}

// In a text a bracket behind digits makes no call of them; in a script it is code.
func TestSecretBeforeABracket(t *testing.T) {
	t.Parallel()
	got, hidden := redact.Secrets("password=hunter2abc(prod)")
	require.True(t, hidden)
	require.NotContains(t, got, "hunter2abc")
	d := describe(t, command(`{"command":"token=getToken(x)"}`))
	require.Equal(t, "token=getToken(x)", d.Detail.Text)
}
