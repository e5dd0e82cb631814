//go:build unix

package e2e_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/api"
	"github.com/saysohq/sayso/core/client"
)

// sample writes the files of one of the setups of the guide as they stand there, and
// returns the configuration that names them.
func sample(t *testing.T, title string) (configuration string, tables []string) {
	t.Helper()
	guide, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "policy.md"))
	require.NoError(t, err)
	_, section, found := strings.Cut(string(guide), "\n### "+title+"\n")
	require.True(t, found, title)
	section, _, _ = strings.Cut(section, "\n##")
	folder, organisation := t.TempDir(), ""
	for i, block := range strings.Split(section, "```yaml\n")[1:] {
		block, _, _ = strings.Cut(block, "```")
		path := filepath.Join(folder, fmt.Sprintf("%d.yaml", i))
		require.NoError(t, os.WriteFile(path, []byte(block), 0o600))
		if strings.HasPrefix(block, "# organisation") {
			organisation = path
		} else {
			tables = append(tables, path)
		}
	}
	require.NotEmpty(t, tables)
	b, err := json.Marshal(map[string]any{"policy": map[string]any{"tables": tables, "organisation": organisation}})
	require.NoError(t, err)
	return string(b) + "\n", tables
}

// caller asks as one runtime, of one instance where it has any.
type caller struct {
	*client.Client
	w        *world
	instance string
	epoch    int64
}

// runtime issues a token as an operator would, and asks with it.
func (w *world) runtime(name string) caller {
	w.t.Helper()
	token := strings.TrimSpace(w.cli("token", "issue", name).ends(0))
	c, err := client.New(client.Config{BaseURL: w.url, Bearer: token, Patience: 30 * time.Second})
	require.NoError(w.t, err)
	w.t.Cleanup(c.Close)
	return caller{Client: c, w: w}
}

// terminal signs in as the only admin, as `sayso login` does.
func (w *world) terminal() *client.Client {
	w.t.Helper()
	code := strings.TrimSpace(w.cli("pair", "--code").ends(0))
	stranger, err := client.New(client.Config{BaseURL: w.url})
	require.NoError(w.t, err)
	w.t.Cleanup(stranger.Close)
	in, err := stranger.SignIn(w.ctx, api.SignIn{Code: code, Purpose: core.CodePair, Kind: core.SessionCLI})
	require.NoError(w.t, err)
	c, err := client.New(client.Config{BaseURL: w.url, Bearer: in.Bearer})
	require.NoError(w.t, err)
	w.t.Cleanup(c.Close)
	return c
}

// attests registers a start of the runtime with what confines it (R69).
func (c caller) attests(name string, facts map[string]string) caller {
	c.w.t.Helper()
	i, err := c.RegisterInstance(c.w.ctx, name, api.Register{BootID: strings.Repeat(name, 16), Facts: facts})
	require.NoError(c.w.t, err)
	c.instance, c.epoch = i.Name, i.Epoch
	return c
}

// becomes is what the guide's tables say of a call.
type becomes struct {
	verdict api.Verdict
	policy  string // The policy that let it run; "" for none.
	reads   bool   // It runs without a record.
	always  bool   // Its card offers a rule.
}

func (c caller) calls(tool, operation, arguments string, want becomes) api.Approval {
	c.w.t.Helper()
	asked, err := c.Ask(c.w.ctx, api.Ask{
		Kind: core.KindPlugin, Title: "Use " + tool, Agent: "dev", Instance: c.instance, Epoch: c.epoch,
		Operation: api.AskOperation{Tool: tool, Name: operation, Arguments: json.RawMessage(arguments)},
	}, 0)
	require.NoError(c.w.t, err)
	a := &asked.Approval
	require.Equal(c.w.t, want, becomes{asked.Verdict, a.PolicyID, asked.Unrecorded, a.AlwaysOffer != nil}, "%s %s", tool, arguments)
	return asked.Approval
}

// The commands of the guide.
const (
	makeTest = `{"command":"make test","folder":"/w"}`
	rmBuild  = `{"command":"rm -rf build","folder":"/w"}`
)

var (
	itAsks    = becomes{verdict: api.VerdictAsk}
	canAlways = becomes{verdict: api.VerdictAsk, always: true}
	looksUp   = becomes{verdict: api.VerdictAllow, reads: true}
)

func runs(policy string) becomes { return becomes{verdict: api.VerdictAllow, policy: policy} }

// The three setups of the guide, with the files that stand there, do what it says.
func TestSampleSetupOfOnePerson(t *testing.T) {
	t.Parallel()
	configuration, tables := sample(t, "One person and a coding agent")
	w := newWorld(t, setup{extra: configuration, noBots: true})
	w.cli("policy", "lint", "--table", tables[0]).ends(0)
	laptop := w.runtime("laptop")
	for _, tool := range []string{"Read", "WebSearch", "mcp__github__get_issue"} {
		laptop.calls(tool, "", `{"query":"x"}`, looksUp)
	}
	laptop.calls("Edit", "", `{}`, runs("mode.before-anything-outside.v1"))
	laptop.calls("Bash", "", makeTest, canAlways)
	laptop.calls("Bash", "", rmBuild, itAsks)
	laptop.calls("mcp__github__create_issue", "", `{}`, canAlways)
	laptop.calls("mcp__github__merge_pull_request", "", `{}`, itAsks)
	laptop.calls("mcp__anything__else", "", `{}`, itAsks)
	page, err := laptop.List(w.ctx, client.Filter{Origin: core.OriginAuto}, "")
	require.NoError(t, err)
	require.Len(t, page.Approvals, 1)
}

func TestSampleSetupOfATeam(t *testing.T) {
	t.Parallel()
	configuration, _ := sample(t, "A team with a sandbox")
	w := newWorld(t, setup{extra: configuration, noBots: true})
	bare := w.runtime("box")
	boxed := bare.attests("a", map[string]string{"sandbox": "docker", "network": "open"})
	boxed.calls("Bash", "", makeTest, runs("sandbox.team.v1"))
	granted := boxed.calls("Bash", "", rmBuild, runs("sandbox.team.v1"))
	boxed.calls("delete_file", "", `{}`, itAsks)
	bare.calls("Bash", "", makeTest, canAlways)
	boxed.calls("WebFetch", "", `{"url":"https://example.com"}`, canAlways)
	boxed.calls("mail", "send", `{"to":"ann@example.com"}`, canAlways)
	listening := bare.attests("b", map[string]string{"sandbox": "gvisor", "network": "allow-list"})
	listening.calls("WebFetch", "", `{"url":"https://example.com"}`, runs("sandbox.web.v1"))

	// R65: it is claimed once, like any other grant, and R67: found with its policy.
	claim := api.Claim{ActionHash: granted.ActionHash, Token: client.NewClaimToken(), Instance: boxed.instance, Epoch: boxed.epoch}
	_, err := boxed.Claim(w.ctx, granted.ID, claim)
	require.NoError(t, err)
	claim.Token = client.NewClaimToken()
	_, err = boxed.Claim(w.ctx, granted.ID, claim)
	require.ErrorIs(t, err, core.ErrAlreadyClaimed)
	page, err := boxed.List(w.ctx, client.Filter{Origin: core.OriginAuto, Within: time.Hour}, "")
	require.NoError(t, err)
	require.Len(t, page.Approvals, 3)
	require.Equal(t, "sandbox.web.v1", page.Approvals[0].PolicyID)

	w.alice() // Whoever cares for the agent wants to be asked about everything now.
	_, err = w.terminal().SetMode(w.ctx, "box", "dev", api.SetMode{Mode: core.ModeBeforeEverything})
	require.NoError(t, err)
	boxed.calls("Bash", "", makeTest, canAlways)
	boxed.calls("Bash", "", rmBuild, canAlways) // In there it is no more than a command; no rule from it counts outside.
	boxed.calls("delete_file", "", `{}`, itAsks)
	listening.calls("WebFetch", "", `{"url":"https://example.com"}`, canAlways)
	boxed.calls("mail", "send", `{"to":"ann@example.com"}`, canAlways)
}

func TestSampleSetupOfAnOrganisation(t *testing.T) {
	t.Parallel()
	configuration, tables := sample(t, "An organisation with MCP servers")
	w := newWorld(t, setup{extra: configuration, noBots: true})
	w.cli("policy", "lint", "--table", tables[0]).ends(0)
	staging, production := w.runtime("staging"), w.runtime("production")
	staging.calls("mcp__tickets__create_issue", "", `{}`, runs("mode.only-money-and-deletes.v1"))
	production.calls("mcp__tickets__create_issue", "", `{}`, itAsks)
	staging.calls("mcp__wiki__some_new_tool", "", `{}`, runs("mcp.wiki.exempt"))
	production.calls("mcp__wiki__some_new_tool", "", `{}`, itAsks)
	staging.calls("mcp__tickets__some_new_tool", "", `{}`, itAsks)
	staging.calls("mcp__payments__create_refund", "", `{}`, itAsks)
	staging.calls("mcp__payments__create_payment_link", "", `{}`, itAsks)
	said := w.cli("policy", "status").ends(0)
	require.Contains(t, said, "in force: sha256:")
}
