package deliveries_test

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/deliveries"
)

func TestGlob(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		pattern, text string
		want          bool
	}{
		{"books", "books", true},
		{"books", "Books", false},
		{"books", "books-2", false},
		{"", "", true},
		{"", "x", false},
		{"*", "", true},
		{"*", "a/b:c", true},
		{"ci-*", "ci-", true},
		{"ci-*", "ci-prod", true},
		{"ci-*", "ci", false},
		{"*-prod", "ci-prod", true},
		{"*-prod", "ci-prod-2", false},
		{"a*b*c", "abc", true},
		{"a*b*c", "a-b-b-c", true},
		{"a*b*c", "acb", false},
		{"a*a", "a", false},
		{"a**a", "aa", true},
		{"*ab*", "aab", true},
		{"*ba", "bababa", true},
		{"telegram:*:-100*", "telegram:12:-1005/7", true},
		{"[a-z]?", "[a-z]?", true},
		{"[a-z]?", "ab", false},
		{"*" + strings.Repeat("a*", 200) + "b", strings.Repeat("a", 50_000), false},
	} {
		require.Equal(t, test.want, deliveries.Glob(test.pattern, test.text), "%.20s on %.20s", test.pattern, test.text)
	}
}

func TestMatch(t *testing.T) {
	t.Parallel()
	a := core.Approval{
		Class: core.ClassMoney, Kind: core.KindPlugin, Runtime: "ci-prod", Agent: "books", SessionKey: "telegram:1:-5",
	}
	for name, test := range map[string]struct {
		match deliveries.Match
		want  bool
	}{
		"anything":                {deliveries.Match{}, true},
		"one of the classes":      {deliveries.Match{Classes: []core.Class{core.ClassSend, core.ClassMoney}}, true},
		"none of the classes":     {deliveries.Match{Classes: []core.Class{core.ClassSend}}, false},
		"the kind":                {deliveries.Match{Kinds: []core.Kind{core.KindPlugin}}, true},
		"the other kind":          {deliveries.Match{Kinds: []core.Kind{core.KindExec}}, false},
		"a runtime":               {deliveries.Match{Runtimes: []string{"x", "ci-*"}}, true},
		"another runtime":         {deliveries.Match{Runtimes: []string{"dev-*"}}, false},
		"an agent":                {deliveries.Match{Agents: []string{"books"}}, true},
		"another agent":           {deliveries.Match{Agents: []string{"book"}}, false},
		"a session":               {deliveries.Match{Sessions: []string{"telegram:*"}}, true},
		"all but one":             {deliveries.Match{Runtimes: []string{"ci-*"}, Agents: []string{"books"}, Sessions: []string{"slack:*"}}, false},
		"an empty list":           {deliveries.Match{Agents: []string{}}, false},
		"every criterion at once": {deliveries.Match{Classes: []core.Class{core.ClassMoney}, Kinds: []core.Kind{core.KindPlugin}, Runtimes: []string{"ci-prod"}, Agents: []string{"*"}, Sessions: []string{"*:1:*"}}, true},
	} {
		require.Equal(t, test.want, test.match.Fits(&a), name)
	}
	require.False(t, (&deliveries.Match{Agents: []string{"b*"}}).Fits(&core.Approval{}), "no agent, no name to fit")
	require.True(t, (&deliveries.Match{Agents: []string{"*"}}).Fits(&core.Approval{}))
}

func TestCovers(t *testing.T) {
	t.Parallel()
	money := []core.Class{core.ClassMoney}
	for name, test := range map[string]struct {
		first, second deliveries.Match
		want          bool
	}{
		"anything before something":  {deliveries.Match{}, deliveries.Match{Classes: money}, true},
		"something before anything":  {deliveries.Match{Classes: money}, deliveries.Match{}, false},
		"every class by name":        {deliveries.Match{Classes: []core.Class{"read", "write", "send", "money"}}, deliveries.Match{}, true},
		"both kinds by name":         {deliveries.Match{Kinds: []core.Kind{"exec", "plugin"}}, deliveries.Match{Agents: []string{"x"}}, true},
		"a wider list":               {deliveries.Match{Agents: []string{"a", "b"}}, deliveries.Match{Agents: []string{"b"}}, true},
		"a narrower list":            {deliveries.Match{Agents: []string{"b"}}, deliveries.Match{Agents: []string{"a", "b"}}, false},
		"a wider pattern":            {deliveries.Match{Agents: []string{"a*"}}, deliveries.Match{Agents: []string{"ab*c"}}, true},
		"a narrower pattern":         {deliveries.Match{Agents: []string{"ab*"}}, deliveries.Match{Agents: []string{"a*"}}, false},
		"a star before anything":     {deliveries.Match{Sessions: []string{"*"}}, deliveries.Match{}, true},
		"the same":                   {deliveries.Match{Runtimes: []string{"ci-*"}}, deliveries.Match{Runtimes: []string{"ci-*"}}, true},
		"one criterion more":         {deliveries.Match{Runtimes: []string{"ci-*"}, Classes: money}, deliveries.Match{Runtimes: []string{"ci-*"}}, false},
		"one criterion less":         {deliveries.Match{Runtimes: []string{"ci-*"}}, deliveries.Match{Runtimes: []string{"ci-x"}, Classes: money}, true},
		"two lists that merely meet": {deliveries.Match{Agents: []string{"a*"}}, deliveries.Match{Agents: []string{"*a"}}, false},
	} {
		require.Equal(t, test.want, test.first.Covers(&test.second), name)
	}
}

// The pattern language against another engine's reading of it, and the promise of
// Covers against what both rules fit.
func FuzzMatch(f *testing.F) {
	for _, seed := range [][3]string{{"a*", "ab*c", "abxc"}, {"*", "", ""}, {"a*b*", "a*bb", "aabb"}, {"a", "a", "a"}, {"**", "*a*", "é"}} {
		f.Add(seed[0], seed[1], seed[2])
	}
	f.Fuzz(func(t *testing.T, first, second, text string) {
		if !utf8.ValidString(first) || !utf8.ValidString(text) {
			return // The other engine reads such text in its own way.
		}
		parts := strings.Split(first, "*")
		for i := range parts {
			parts[i] = regexp.QuoteMeta(parts[i])
		}
		engine := regexp.MustCompile(`(?s)\A` + strings.Join(parts, ".*") + `\z`)
		require.Equal(t, engine.MatchString(text), deliveries.Glob(first, text))
		before := deliveries.Match{Agents: []string{first}}
		behind := deliveries.Match{Agents: []string{second}}
		a := core.Approval{Agent: text}
		if before.Covers(&behind) && behind.Fits(&a) {
			require.True(t, before.Fits(&a))
		}
	})
}
