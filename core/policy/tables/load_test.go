package tables_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/policy"
	"github.com/saysohq/sayso/core/policy/tables"
)

// R47: the starter table holds together, and every group of it says why.
func TestStarterR47(t *testing.T) {
	t.Parallel()
	p, err := tables.Load(tables.Files{})
	require.NoError(t, err)
	require.Equal(t, policy.ModeOutside, p.DefaultMode())
	require.Equal(t, 10*time.Minute, p.StickyWindow())
	text, err := os.ReadFile("starter.yaml")
	require.NoError(t, err)
	sections := strings.Split(string(text), "── ")
	require.Greater(t, len(sections), 12)
	for _, s := range sections[1:] {
		title, rest, _ := strings.Cut(s, "\n")
		require.True(t, strings.HasPrefix(strings.TrimLeft(rest, " \n"), "#"), "%s has no word of why", title)
	}
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// Everything that a table can say, read once.
func TestParseTable(t *testing.T) {
	t.Parallel()
	window := 90 * time.Second
	got, err := tables.ParseTable([]byte(`
version: 1
mode: strict
sticky_decline: 90s
always_ask: [publish]
tools:
  - names: [crm, erp]
    runtimes: [ci]
    by: {field: request.do, default: list, ignore_case: true, read: [list, 7, true], money: [wipe]}
    reaches_no_one:
      - {to: empty, notify: [false]}
      - {to: {domains: [example.com]}}
    raise:
      - {when: {net: {is_not: [false]}, body: {contains: [DROP]}}, class: money}
    always:
      - recipient: [to, cc]
        form: phone
      - operation
    label: records
    once: true
    loosens: true
  - {names: [post], server: octo, class: send, always: never, delegates: true}
  - names: [box]
    class: send
    interpreter: {text: [code], folder: [cwd], ignore: [why]}
profiles:
  - name: p
    tools: [{names: [a], class: read}]
servers:
  - {name: octo, runtimes: [ci], like: p, prefixes: [octo_], exempt: true, require: [wipe]}
auto_policies:
  - {id: box.team.v1, tools: [box], needs: {sandbox: [docker], network: any}}
money_words: [pay]
programs:
  - {names: [kubectl], words: [delete], class: money}
`))
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(policy.Table{
		DefaultMode: policy.ModeEverything, StickyDecline: &window, AlwaysAsk: []string{"publish"},
		Tools: []policy.Tool{
			{
				Names: []string{"crm", "erp"}, Runtimes: []string{"ci"},
				By: &policy.Mapping{Field: "request.do", Default: "list", IgnoreCase: true, Values: map[core.Class][]string{
					core.ClassRead: {"list", "7", "true"}, core.ClassMoney: {"wipe"},
				}},
				ReachesNoOne: []policy.Predicate{
					{{Field: "to", Empty: true}, {Field: "notify", Is: []string{"false"}}}, {{Field: "to", Domains: []string{"example.com"}}},
				},
				Raise: []policy.Raise{{
					When: policy.Predicate{{Field: "net", IsNot: []string{"false"}}, {Field: "body", Contains: []string{"DROP"}}}, Class: core.ClassMoney,
				}},
				Always: []policy.AlwaysScope{{Scope: policy.ScopeRecipient, Fields: []string{"to", "cc"}, Form: policy.FormPhone}, {Scope: policy.ScopeOperation}},
				Label:  "records", Once: true, Loosens: true,
			},
			{Names: []string{"post"}, Server: "octo", Class: core.ClassSend, NoAlways: true, Delegates: true},
			{Names: []string{"box"}, Class: core.ClassSend, Interpreter: &policy.Interpreter{Text: []string{"code"}, Folder: []string{"cwd"}, Ignore: []string{"why"}}},
		},
		Profiles:     []policy.Profile{{Name: "p", Tools: []policy.Tool{{Names: []string{"a"}, Class: core.ClassRead}}}},
		Servers:      []policy.Server{{Name: "octo", Runtimes: []string{"ci"}, Like: "p", Prefixes: []string{"octo_"}, Exempt: true, Require: []string{"wipe"}}},
		AutoPolicies: []policy.AutoPolicy{{ID: "box.team.v1", Tools: []string{"box"}, Needs: map[policy.Fact][]string{policy.FactSandbox: {"docker"}, policy.FactNetwork: nil}}},
		MoneyWords:   []string{"pay"},
		Programs:     []policy.Program{{Names: []string{"kubectl"}, Words: []string{"delete"}, Class: core.ClassMoney}},
	}, got))

	org, err := tables.ParseOrganisation([]byte("version: 1\nalways_ask: [publish]\ntools: [{names: [x], class: send}]\nask:\n  - {runtimes: [ci], from: send}\n  - {}\n"))
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(policy.Organisation{
		AlwaysAsk: []string{"publish"}, Tools: []policy.Tool{{Names: []string{"x"}, Class: core.ClassSend}},
		Ask: []policy.Force{{Runtimes: []string{"ci"}, From: core.ClassSend}, {}},
	}, org))
}

// bomb is a file that would grow to a billion values if its aliases were followed.
func bomb() string {
	var b strings.Builder
	b.WriteString("version: 1\na: &a [x,x,x,x,x,x,x,x,x]\n")
	for c := 'b'; c < 'k'; c++ {
		p := string(c - 1)
		b.WriteString(string(c) + ": &" + string(c) + " [*" + p + strings.Repeat(",*"+p, 8) + "]\n")
	}
	return b.String() + "tools: *j\n"
}

// What is no table is refused, with the line and without the value.
func TestBadFilesAreRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		line int
		rule string
	}{
		"empty":                 {"", 0, "must not be empty"},
		"not YAML":              {"version: 1\ntools: [hush", 0, "must be YAML"},
		"a list":                {"- hush\n", 1, "must be a mapping"},
		"two documents":         {"version: 1\n---\nversion: 1\n", 0, "must be one YAML document"},
		"no version":            {"tools: []\n", 1, "must be given: 1"},
		"another version":       {"version: 2\n", 1, "must be 1"},
		"unknown key":           {"version: 1\nhush: 1\n", 2, "has a key that is not known"},
		"unknown key in a tool": {"version: 1\ntools:\n  - {names: [x], hush: 1}\n", 3, "has a key that is not known"},
		"a key twice":           {"version: 1\nmode: strict\nmode: auto\n", 3, "has a key twice"},
		"deny rule (R78)":       {"version: 1\ndeny: [rm]\n", 2, "has a key that is not known"},
		"denying class (R78)":   {"version: 1\ntools: [{names: [x], class: deny}]\n", 2, "must be read, write, send or money"},
		"unknown class":         {"version: 1\ntools: [{names: [x], class: hush}]\n", 2, "must be read, write, send or money"},
		"unknown mode":          {"version: 1\nmode: hush\n", 2, "must be before-anything-outside, before-everything, only-money-and-deletes, or a known control level"},
		"empty mode":            {"version: 1\nmode: \"\"\n", 2, "must be before-anything-outside, before-everything, only-money-and-deletes, or a known control level"},
		"no duration":           {"version: 1\nsticky_decline: hush\n", 2, "must be a duration such as 10m, or 0"},
		"a text for a list":     {"version: 1\nalways_ask: hush\n", 2, "must be a list"},
		"a list for a text":     {"version: 1\nmode: [hush]\n", 2, "must be a text"},
		"nothing for a text":    {"version: 1\nalways_ask: [~]\n", 2, "must be a text"},
		"a text for a mapping":  {"version: 1\ntools: [hush]\n", 2, "must be a mapping"},
		"a text for a flag":     {"version: 1\nservers: [{name: x, exempt: hush}]\n", 2, "must be true or false"},
		"runtimes of nobody":    {"version: 1\ntools: [{names: [x], class: read, runtimes: []}]\n", 2, "must have members; leave it out to mean all"},
		"always of nothing":     {"version: 1\ntools: [{names: [x], class: send, always: []}]\n", 2, "must be never, or a list of scopes"},
		"unknown test":          {"version: 1\ntools: [{names: [x], class: send, reaches_no_one: [{to: hush}]}]\n", 2, "must be empty, a list of values, is_not, domains or contains"},
		"an anchor":             {"version: 1\nalways_ask: &hush [x]\n", 2, "must not use anchors or aliases"},
		"an alias bomb":         {bomb(), 2, "must not use anchors or aliases"},
		"a merge":               {"version: 1\ntools: [{<<: {class: read}, names: [x]}]\n", 2, "must not use merge keys"},
		"a tag":                 {"version: 1\nmode: !!binary aHVzaA==\n", 2, "must not use tags"},
		"a key that is a list":  {"version: 1\n? [hush]\n: 1\n", 2, "must have texts as keys"},
		"too large":             {"version: 1\n#" + strings.Repeat("hush", 300_000), 0, "must be at most 1048576 bytes"},
		"too deep":              {"version: 1\ntools: " + strings.Repeat("[", 200_000), 0, "must be YAML"},
		"not UTF-8":             {"version: 1\nmode: \xff\xfe\n", 0, "must be YAML"},
	} {
		for _, parse := range []func([]byte) error{
			func(b []byte) error { _, err := tables.ParseTable(b); return err },
			func(b []byte) error {
				_, err := tables.Load(tables.Files{Operator: []string{write(t, "hush.yaml", string(b))}})
				return err
			},
		} {
			err := parse([]byte(c.text))
			require.ErrorIs(t, err, core.ErrInvalid, name)
			require.Equal(t, "invalid", core.CodeOf(err), name)
			require.NotContains(t, err.Error(), "hush", name)
			var syntax *tables.SyntaxError
			require.ErrorAs(t, err, &syntax, name)
			require.True(t, slices.ContainsFunc(syntax.Faults, func(f tables.Fault) bool {
				return f.Rule == c.rule && (c.line == 0 || f.Line == c.line)
			}), "%s: %v", name, err)
		}
	}
}

// All faults of a file are told at once, but not without end.
func TestFaultsAreToldTogether(t *testing.T) {
	t.Parallel()
	_, err := tables.ParseTable([]byte("version: 3\nmode: x\ntools:\n  - {class: y}\n  - {names: z}\n"))
	require.ErrorContains(t, err, "line 1: version: must be 1")
	require.ErrorContains(t, err, "line 2: mode: ")
	require.ErrorContains(t, err, "line 4: tools[0].class: ")
	require.ErrorContains(t, err, "line 5: tools[1].names: must be a list")
	_, err = tables.ParseTable([]byte("version: 1\nalways_ask: [" + strings.Repeat("[],", 500) + "]\n"))
	var syntax *tables.SyntaxError
	require.ErrorAs(t, err, &syntax)
	require.Len(t, syntax.Faults, 50)
}

// A file that cannot be read says why and not where; what never ends is not begun.
func TestUnreadableFiles(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for _, f := range []tables.Files{{Operator: []string{filepath.Join(folder, "none.yaml")}}, {Organisation: filepath.Join(folder, "none.yaml")}} {
		_, err := tables.Load(f)
		require.ErrorIs(t, err, fs.ErrNotExist)
		require.NotContains(t, err.Error(), folder)
	}
	for _, endless := range []string{folder, "/dev/zero"} {
		_, err := tables.Load(tables.Files{Operator: []string{endless}})
		require.ErrorIs(t, err, core.ErrInvalid)
	}
	big := write(t, "big.yaml", "#"+strings.Repeat("x", 10<<20))
	_, err := tables.Load(tables.Files{Operator: []string{big}})
	require.ErrorIs(t, err, core.ErrInvalid)
	var syntax *tables.SyntaxError
	require.ErrorAs(t, err, &syntax)
}

// What a well-formed file says wrong is found when it is compiled.
func TestLoadCompiles(t *testing.T) {
	t.Parallel()
	_, err := tables.Load(tables.Files{Operator: []string{write(t, "t.yaml", "version: 1\ntools: [{names: [Bash], class: read}]\n")}})
	var invalid *policy.InvalidError
	require.ErrorAs(t, err, &invalid)
	require.Equal(t, policy.FindingLoosens, invalid.Findings[0].Code)
	require.Equal(t, "Bash", invalid.Findings[0].Tool)
	require.Equal(t, 2, invalid.Findings[0].Line)
}

// All faults of all files are told at once, each with its file and line, and none with
// what stands there. What has the wrong form comes before what says something wrong.
func TestFaultsOfAllFilesAreTold(t *testing.T) {
	t.Parallel()
	loosened := "version: 1\ntools:\n  - names: [Edit]\n    class: write\n  - names: [Bash, Bash]\n    class: send\n"
	server := "version: 1\nservers:\n  - name: hush\n    like: hush\n"
	floor := "version: 1\ntools:\n  - {names: [\"\"], class: send}\n"
	f := tables.Files{Operator: []string{write(t, "a.yaml", loosened), write(t, "b.yaml", server)}, Organisation: write(t, "o.yaml", floor)}
	_, err := tables.Load(f)
	require.ErrorIs(t, err, core.ErrInvalid)
	require.ErrorContains(t, err, "policy.tables[0]: line 5: tools[1]")
	require.ErrorContains(t, err, "policy.tables[1]: line 4: servers[0].like: ")
	require.ErrorContains(t, err, "policy.organisation: line 3: tools[0]")
	require.NotContains(t, err.Error(), "hush")

	f.Operator = append(f.Operator, write(t, "c.yaml", "version: 1\nhush: 1\n"), filepath.Join(t.TempDir(), "none"))
	_, err = tables.Load(f)
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.ErrorContains(t, err, "policy.tables[2]: line 2: has a key that is not known")
	require.ErrorContains(t, err, "policy.tables[3]: ")

	// Whoever typed the paths is told by them.
	f.Typed = true
	_, err = tables.Load(f)
	require.ErrorContains(t, err, f.Operator[2]+": line 2: has a key that is not known")
	require.ErrorContains(t, err, f.Operator[3]+": no such file")
	f.Operator = f.Operator[:2]
	_, err = tables.Load(f)
	require.ErrorContains(t, err, f.Operator[0]+": line 5: tools[1]")
	require.ErrorContains(t, err, f.Organisation+": line 3: tools[0]")
	require.NotContains(t, err.Error(), "policy.")
}

// Several tables of an operator lie over each other in their order, each like the next
// layer: what is less strict has to say so.
func TestTablesLieOverEachOther(t *testing.T) {
	t.Parallel()
	first := write(t, "a.yaml", "version: 1\nmode: strict\ntools: [{names: [crm], class: send}]\n")
	loose := write(t, "b.yaml", "version: 1\ntools: [{names: [crm], class: read}]\n")
	meant := write(t, "c.yaml", "version: 1\nmode: auto\ntools: [{names: [crm], class: read, loosens: true}]\n")
	_, err := tables.Load(tables.Files{Operator: []string{first, loose}})
	require.ErrorContains(t, err, "policy.tables[1]: line 2: tools[0]: is less strict")
	p, err := tables.Load(tables.Files{Operator: []string{first, meant}})
	require.NoError(t, err)
	require.Equal(t, policy.ModeOutside, p.DefaultMode())
	require.Equal(t, policy.Allow, policy.Evaluate(p, policy.Request{Kind: core.KindPlugin, Tool: "crm", Arguments: []byte("{}")}, policy.Inputs{}).Answer)
	other, err := tables.Load(tables.Files{Operator: []string{meant, first}})
	require.NoError(t, err)
	require.NotEqual(t, p.Digest(), other.Digest(), "the order is part of it")
}

// A holder over a file: a bad edit changes nothing, a good one changes all at once.
func TestReloadKeepsTheOldTables(t *testing.T) {
	t.Parallel()
	path := write(t, "t.yaml", "version: 1\nmode: strict\n")
	load := func() (*policy.Policy, error) { return tables.Load(tables.Files{Operator: []string{path}}) }
	var h policy.Holder
	_, err := h.Reload(load)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, []byte("version: 1\nmode: hush\n"), 0o600))
	_, err = h.Reload(load)
	require.ErrorIs(t, err, core.ErrInvalid)
	require.Equal(t, policy.ModeEverything, h.Current().DefaultMode())
	require.NoError(t, os.WriteFile(path, []byte("version: 1\nmode: only-money-and-deletes\n"), 0o600))
	changed, err := h.Reload(load)
	require.NoError(t, err)
	require.True(t, changed)
	require.Equal(t, policy.ModeMoney, h.Current().DefaultMode())
	require.NoError(t, h.Status().Err)
}

// No file makes the parser panic, and whatever it takes compiles or is refused.
func FuzzParseTable(f *testing.F) {
	for _, seed := range []string{"version: 1\n", "version: 1\ntools: [{names: [x], by: {field: a, read: [b]}}]\n", "a: &a [*a]", "? {}", "version: 1\nalways_ask: {}\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		table, err := tables.ParseTable(b)
		if err != nil {
			require.ErrorIs(t, err, core.ErrInvalid)
			return
		}
		if _, err := policy.New(policy.Layers{Operator: []policy.Table{table}}); err != nil {
			require.ErrorIs(t, err, core.ErrInvalid)
		}
	})
}
