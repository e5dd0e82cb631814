package tables_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/policy"
	"github.com/saysohq/sayso/core/policy/tables"
)

// examples are the YAML blocks of docs/policy.md, in order.
func examples(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "policy.md"))
	require.NoError(t, err)
	var out []string
	for _, block := range strings.Split(string(text), "```yaml\n")[1:] {
		block, _, _ = strings.Cut(block, "```")
		out = append(out, block)
	}
	require.Len(t, out, 7)
	return out
}

// load compiles an example; one that says so is an organisation's.
func load(t *testing.T, blocks ...string) *policy.Policy {
	t.Helper()
	var f tables.Files
	for _, b := range blocks {
		if strings.HasPrefix(b, "# organisation") {
			f.Organisation = write(t, "organisation.yaml", b)
		} else {
			f.Operator = append(f.Operator, write(t, "table.yaml", b))
		}
	}
	p, err := tables.Load(f)
	require.NoError(t, err)
	return p
}

// Every example of the guide is a table that is taken.
func TestDocumentedTablesAreTaken(t *testing.T) {
	t.Parallel()
	for _, b := range examples(t) {
		load(t, b)
	}
}

// What the guide says of its three setups is what happens.
func TestDocumentedSetups(t *testing.T) {
	t.Parallel()
	all := examples(t)
	alone, team, organised := load(t, all[3]), load(t, all[4]), load(t, all[5], all[6])
	boxed := policy.Facts{policy.FactSandbox: "docker", policy.FactNetwork: "open"}
	const test, remove = `{"command":"make test","folder":"/w"}`, `{"command":"rm -rf build","folder":"/w"}`
	for _, c := range []struct {
		setup     *policy.Policy
		runtime   string
		tool      string
		arguments string
		mode      policy.Mode
		facts     policy.Facts
		want      policy.Answer
		id        string
		offered   bool
	}{
		{alone, "laptop", "Read", `{}`, "", nil, policy.Allow, "", false},
		{alone, "laptop", "WebSearch", `{"query":"x"}`, "", nil, policy.Allow, "", false},
		{alone, "laptop", "mcp__github__get_issue", `{}`, "", nil, policy.Allow, "", false},
		{alone, "laptop", "Edit", `{}`, "", nil, policy.Auto, "mode.before-anything-outside.v1", false},
		{alone, "laptop", "Bash", test, "", nil, policy.Ask, "", true},
		{alone, "laptop", "Bash", remove, "", nil, policy.Ask, "", false},
		{alone, "laptop", "mcp__github__create_issue", `{}`, "", nil, policy.Ask, "", true},
		{alone, "laptop", "mcp__github__merge_pull_request", `{}`, "", nil, policy.Ask, "", false},
		{alone, "laptop", "mcp__anything__else", `{}`, "", nil, policy.Ask, "", false},

		{team, "box", "Bash", test, "", boxed, policy.Auto, "sandbox.team.v1", false},
		{team, "box", "Bash", test, "", nil, policy.Ask, "", true},
		{team, "box", "Bash", remove, "", boxed, policy.Auto, "sandbox.team.v1", false},
		{team, "box", "delete_file", `{}`, "", boxed, policy.Ask, "", false},
		{team, "box", "WebFetch", `{"url":"https://example.com"}`, "", boxed, policy.Ask, "", true},
		{team, "box", "send_mail", `{"to":"a@example.com"}`, "", boxed, policy.Ask, "", true},
		{team, "box", "Bash", test, policy.ModeEverything, boxed, policy.Ask, "", true},
		{team, "box", "Edit", `{}`, policy.ModeEverything, boxed, policy.Ask, "", true},

		{organised, "staging", "mcp__tickets__create_issue", `{}`, "", nil, policy.Auto, "mode.only-money-and-deletes.v1", false},
		{organised, "production", "mcp__tickets__create_issue", `{}`, "", nil, policy.Ask, "", false},
		{organised, "staging", "mcp__wiki__some_new_tool", `{}`, "", nil, policy.Auto, "mcp.wiki.exempt", false},
		{organised, "production", "mcp__wiki__some_new_tool", `{}`, "", nil, policy.Ask, "", false},
		{organised, "staging", "mcp__tickets__some_new_tool", `{}`, "", nil, policy.Ask, "", false},
		{organised, "staging", "mcp__payments__create_refund", `{}`, "", nil, policy.Ask, "", false},
		{organised, "staging", "mcp__payments__create_payment_link", `{}`, "", nil, policy.Ask, "", false},
	} {
		v := policy.Evaluate(c.setup, policy.Request{
			Runtime: c.runtime, Agent: "dev", Kind: core.KindPlugin, Tool: c.tool, Arguments: []byte(c.arguments), Continuation: core.ContinuationLive,
		}, policy.Inputs{Now: 1, Mode: c.mode, Facts: c.facts})
		require.Equal(t, c.want, v.Answer, "%s from %s", c.tool, c.runtime)
		require.Equal(t, c.id, v.PolicyID, c.tool)
		require.Equal(t, c.offered, v.AlwaysOffer != nil, c.tool)
	}
}
