package architecture_test

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/saysohq/sayso"

// pkg is the part of `go list -json` that the rules look at.
type pkg struct {
	ImportPath string
	Standard   bool
	Imports    []string // Of production files.
	Deps       []string // Of production files, transitively.
	GoFiles    []string
}

// rule forbids what it names; it returns the import that breaks it, or "".
type rule struct {
	name    string
	applies func(p string) bool
	broken  func(g graph, p pkg) string
}

type graph map[string]pkg

// local is the import path relative to the module, "" for others.
func local(p string) string {
	if rest, ok := strings.CutPrefix(p, module+"/"); ok {
		return rest
	}
	return ""
}

func under(p, folder string) bool { return p == folder || strings.HasPrefix(p, folder+"/") }

// testOnly reports whether a package serves tests alone.
func testOnly(p string) bool {
	return strings.HasSuffix(path.Base(p), "test") || slices.Contains(strings.Split(p, "/"), "fakes")
}

var rules = []rule{
	{
		"the domain imports the standard library only",
		func(p string) bool {
			return slices.Contains([]string{"core", "core/approvals", "core/policy", "core/policy/world", "core/audience", "core/settings"}, p)
		},
		func(g graph, p pkg) string {
			return first(p.Deps, func(d string) bool {
				return !g[d].Standard && !slices.Contains([]string{"core", "core/approvals", "core/policy", "core/policy/world", "core/audience", "core/settings"}, local(d))
			})
		},
	},
	{
		"the arrows point core <- presentation <- channels <- callbacks <- channels/<platform>",
		func(p string) bool { return layer(p) >= 0 },
		func(_ graph, p pkg) string {
			return first(p.Imports, func(d string) bool { return layer(local(d)) > layer(local(p.ImportPath)) })
		},
	},
	{
		"callbacks and deliveries meet only in the store",
		func(p string) bool { return under(p, "callbacks") || under(p, "deliveries") },
		func(_ graph, p pkg) string {
			other := "deliveries"
			if under(local(p.ImportPath), "deliveries") {
				other = "callbacks"
			}
			return first(p.Deps, func(d string) bool { return under(local(d), other) })
		},
	},
	{
		"no adapter imports another adapter",
		func(p string) bool { return adapter(p) != "" },
		func(_ graph, p pkg) string {
			return first(p.Imports, func(d string) bool {
				return adapter(local(d)) != "" && adapter(local(d)) != adapter(local(p.ImportPath))
			})
		},
	},
	{
		"presentation does no I/O",
		func(p string) bool { return p == "presentation" },
		func(_ graph, p pkg) string {
			return first(p.Imports, func(d string) bool {
				return slices.Contains([]string{"net/http", "net", "os", "context", "io/fs", "database/sql"}, d)
			})
		},
	},
	{
		"only core/gateway knows the API framework",
		func(p string) bool { return !under(p, "core/gateway") && !under(p, "cmd") },
		func(_ graph, p pkg) string {
			return first(p.Imports, func(d string) bool { return strings.HasPrefix(d, "github.com/danielgtaylor/huma") })
		},
	},
	{
		"only cmd knows configuration and command-line libraries",
		func(p string) bool { return !under(p, "cmd") },
		func(_ graph, p pkg) string {
			return first(p.Deps, func(d string) bool {
				return strings.HasPrefix(d, "github.com/spf13/cobra") || strings.HasPrefix(d, "github.com/knadh/koanf")
			})
		},
	},
	{
		"only the wiring knows everything: nothing below imports cmd",
		func(p string) bool { return !under(p, "cmd") },
		func(_ graph, p pkg) string {
			return first(p.Deps, func(d string) bool { return under(local(d), "cmd") })
		},
	},
	{
		"production code imports no test package",
		func(p string) bool {
			return !testOnly(p) && p != "cmd/playground" && p != "cmd/bench" && p != "cmd/internal/faults"
		},
		func(_ graph, p pkg) string {
			return first(p.Imports, func(d string) bool {
				return local(d) != "" && testOnly(local(d)) || strings.HasPrefix(d, "github.com/stretchr/testify") || d == "testing"
			})
		},
	},
	{
		"the service starts no database server",
		func(p string) bool { return p == "cmd/sayso" },
		func(_ graph, p pkg) string {
			return first(p.Deps, func(d string) bool {
				return slices.Contains([]string{"core/store/postgres/pgserver", "core/bus/redis/redisserver", "cmd/internal/faults"}, local(d))
			})
		},
	},
	{
		"only core/policy/tables reads policy files: the evaluation does no I/O",
		func(p string) bool { return p == "core/policy" },
		func(_ graph, p pkg) string {
			return first(p.Imports, func(d string) bool {
				return slices.Contains([]string{"os", "io", "io/fs", "net", "net/http", "time/tzdata", "log", "log/slog", "math/rand", "math/rand/v2"}, d)
			})
		},
	},
	{
		"only the wiring chooses a bus, and only core/bus/redis knows its client",
		func(p string) bool { return !under(p, "cmd") && !under(p, "core/bus/redis") },
		func(_ graph, p pkg) string {
			return first(p.Imports, func(d string) bool {
				return under(local(d), "core/bus") && !under(local(p.ImportPath), "core/bus") || strings.HasPrefix(d, "github.com/redis/go-redis")
			})
		},
	},
	{
		"what replicas do one at a time, and agree on, knows no store and no bus, only their ports",
		func(p string) bool { return p == "core/leases" || p == "core/events" || p == "core/policy/inforce" },
		func(_ graph, p pkg) string {
			return first(p.Imports, func(d string) bool { return under(local(d), "core/store") || under(local(d), "core/bus") })
		},
	},
	{
		"only the wiring chooses a store, and only the stores know their drivers",
		func(p string) bool { return !under(p, "cmd") && !under(p, "core/store") && !testOnly(p) },
		func(_ graph, p pkg) string {
			return first(p.Imports, func(d string) bool {
				return under(local(d), "core/store") || strings.HasPrefix(d, "github.com/jackc/pgx") ||
					strings.HasPrefix(d, "modernc.org/sqlite") || strings.HasPrefix(d, "zombiezen.com/go/sqlite") || d == "database/sql"
			})
		},
	},
}

// layer orders the packages of the card's way out and in; -1 is outside of it.
func layer(p string) int {
	switch {
	case under(p, "core"):
		if under(p, "core/gateway") || under(p, "core/adapters") {
			return -1 // Edges: they may look down at presentation.
		}
		return 0
	case under(p, "presentation"):
		return 1
	case p == "channels":
		return 2
	case p == "callbacks":
		return 3
	case under(p, "channels") && !testOnly(p):
		return 4
	}
	return -1
}

// adapter names the adapter that a package belongs to; "" for others.
func adapter(p string) string {
	for _, folder := range []string{"core/store", "core/bus", "channels"} {
		rest, ok := strings.CutPrefix(p, folder+"/")
		// What two adapters share is neither, and so is what carries a record from one
		// store to the other.
		if ok && !testOnly(p) && !strings.HasPrefix(rest, "internal/") && p != "core/store/transfer" {
			return folder + "/" + strings.Split(rest, "/")[0]
		}
	}
	return ""
}

func first(in []string, bad func(string) bool) string {
	if i := slices.IndexFunc(in, bad); i >= 0 {
		return in[i]
	}
	return ""
}

// load reads the graph of production imports with the go command.
func load(t *testing.T) graph {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-json=ImportPath,Standard,Imports,Deps,GoFiles", "./...")
	cmd.Dir = "../../.."
	out, err := cmd.Output()
	require.NoError(t, err)
	g := graph{}
	dec := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return g
		} else {
			require.NoError(t, err)
		}
		g[p.ImportPath] = p
	}
}

func TestArrows(t *testing.T) {
	t.Parallel()
	g := load(t)
	ours := 0
	for _, p := range g {
		if local(p.ImportPath) == "" {
			continue
		}
		ours++
		for _, r := range rules {
			if r.applies(local(p.ImportPath)) {
				require.Empty(t, r.broken(g, p), "%s: %s", p.ImportPath, r.name)
			}
		}
	}
	require.Greater(t, ours, 5, "the graph has our packages in it")
}

// TestRulesCanFail feeds each rule a package that breaks it: a check that cannot
// fail proves nothing.
func TestRulesCanFail(t *testing.T) {
	t.Parallel()
	at := func(p string) string { return module + "/" + p }
	bad := map[string]pkg{
		rules[0].name:  {ImportPath: at("core/approvals"), Deps: []string{"github.com/google/uuid"}},
		rules[1].name:  {ImportPath: at("presentation"), Imports: []string{at("channels")}},
		rules[2].name:  {ImportPath: at("deliveries"), Deps: []string{at("callbacks")}},
		rules[3].name:  {ImportPath: at("channels/slack"), Imports: []string{at("channels/telegram")}},
		rules[4].name:  {ImportPath: at("presentation"), Imports: []string{"net/http"}},
		rules[5].name:  {ImportPath: at("callbacks"), Imports: []string{"github.com/danielgtaylor/huma/v2"}},
		rules[6].name:  {ImportPath: at("deliveries"), Deps: []string{"github.com/spf13/cobra"}},
		rules[7].name:  {ImportPath: at("deliveries"), Deps: []string{at("cmd/internal/config")}},
		rules[8].name:  {ImportPath: at("deliveries"), Imports: []string{at("channels/fakes/telegram")}},
		rules[9].name:  {ImportPath: at("cmd/sayso"), Deps: []string{at("core/store/postgres/pgserver")}},
		rules[10].name: {ImportPath: at("core/policy"), Imports: []string{"os"}},
		rules[11].name: {ImportPath: at("deliveries"), Imports: []string{at("core/bus/redis")}},
		rules[12].name: {ImportPath: at("core/events"), Imports: []string{at("core/store/postgres")}},
		rules[13].name: {ImportPath: at("deliveries"), Imports: []string{at("core/store/postgres")}},
	}
	require.Len(t, bad, len(rules))
	for _, r := range rules {
		p := bad[r.name]
		require.True(t, r.applies(local(p.ImportPath)), r.name)
		require.NotEmpty(t, r.broken(graph{}, p), r.name)
	}
}

// TestEveryPackageTellsItsStory: doc.go in every package.
func TestEveryPackageTellsItsStory(t *testing.T) {
	t.Parallel()
	for _, p := range load(t) {
		if local(p.ImportPath) != "" && len(p.GoFiles) > 0 {
			require.Contains(t, p.GoFiles, "doc.go", p.ImportPath)
		}
	}
}
