package app_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"

	fake "github.com/saysohq/sayso/channels/fakes/telegram"
	"github.com/saysohq/sayso/cmd/internal/config"
)

// example is one fenced block of the guide.
type example struct{ kind, text string }

// guide runs the examples of a page in their order. A word like $draft stands for what
// the first answer with it had in its place.
type guide struct {
	t      *testing.T
	r      *running
	person string
	hooks  string // What answers for https://hooks.example.com.
	called chan called
	known  map[string]string
	last   answer
}

// called is a call to the callback.
type called struct {
	header http.Header
	body   string
}

const exampleHost = "https://hooks.example.com"

// Every example of the guide for programs does what the page says (R125-R143, R133-R138,
// K1, K2, K19).
func TestAgentsGuideRuns(t *testing.T) {
	t.Parallel()
	g := &guide{t: t, called: make(chan called, 10), known: map[string]string{}}
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		g.called <- called{r.Header, string(body)}
	}))
	t.Cleanup(server.Close)
	g.hooks = server.URL
	secret := "whsec_" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat("k", 32)))
	g.r = start(t, folder(t), func(c *config.Config, _ *fake.Server) {
		c.CLIAllow = true
		c.Callbacks = []config.Callbacks{{
			Runtime: "local", Hosts: []string{server.URL}, Secret: config.Secret(secret), Networks: []string{"127.0.0.0/8"},
		}}
	})
	g.r.signIn(t, "Ann")
	g.person = g.r.bearer(t)
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "agents.md"))
	require.NoError(t, err)
	for i, e := range examples(string(page)) {
		switch e.kind {
		case "http", "http person":
			g.send(i, e)
		case "json":
			g.compare(i, e.text, g.last.body)
		case "callback":
			got := <-g.called
			signer, err := standardwebhooks.NewWebhook(secret)
			require.NoError(t, err)
			require.NoError(t, signer.Verify([]byte(got.body), got.header))
			g.compare(i, e.text, got.body)
		default:
			require.Equal(t, "yaml", e.kind, "example %d", i)
		}
	}
}

func examples(page string) []example {
	var list []example
	for _, m := range regexp.MustCompile("(?ms)^```([a-z ]+)\n(.*?)^```$").FindAllStringSubmatch(page, -1) {
		list = append(list, example{m[1], m[2]})
	}
	return list
}

func (g *guide) send(i int, e example) {
	g.t.Helper()
	for name, value := range g.known {
		e.text = strings.ReplaceAll(e.text, name, value)
	}
	head, body, _ := strings.Cut(strings.ReplaceAll(e.text, exampleHost, g.hooks), "\n")
	method, path, ok := strings.Cut(head, " ")
	require.True(g.t, ok, "example %d", i)
	bearer := g.r.machine
	if e.kind == "http person" {
		bearer = g.person
	}
	g.last = g.r.do(g.t, call{method: method, path: path, body: strings.TrimSpace(body), bearer: bearer})
}

// compare requires that everything in the example stands in the answer.
func (g *guide) compare(i int, want, got string) {
	g.t.Helper()
	var expected, answered any
	require.NoError(g.t, json.Unmarshal([]byte(strings.ReplaceAll(want, exampleHost, g.hooks)), &expected), "example %d", i)
	require.NoError(g.t, json.Unmarshal([]byte(got), &answered), "example %d: %s", i, got)
	g.holds(fmt.Sprintf("example %d: %s", i, got), expected, answered)
}

func (g *guide) holds(where string, want, got any) {
	g.t.Helper()
	switch w := want.(type) {
	case map[string]any:
		have, ok := got.(map[string]any)
		require.True(g.t, ok, where)
		for key, value := range w {
			require.Contains(g.t, have, key, where)
			g.holds(where+"."+key, value, have[key])
		}
	case []any:
		have, ok := got.([]any)
		require.True(g.t, ok, where)
		require.Len(g.t, have, len(w), where)
		for i := range w {
			g.holds(where, w[i], have[i])
		}
	case string:
		g.text(where, w, got)
	default:
		require.Equal(g.t, want, got, where)
	}
}

var word = regexp.MustCompile(`^\$[a-z]+$`)

func (g *guide) text(where, want string, got any) {
	g.t.Helper()
	if want == "$any" {
		require.NotNil(g.t, got, where)
		return
	}
	have, ok := got.(string)
	require.True(g.t, ok, where)
	if word.MatchString(want) {
		if _, known := g.known[want]; !known {
			g.known[want] = have
		}
		want = g.known[want]
	}
	pattern := strings.ReplaceAll(regexp.QuoteMeta(want), `\$any`, ".*")
	require.Regexp(g.t, "^"+pattern+"$", have, where)
}
