package text_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/saysohq/sayso/channels/internal/text"
)

// costly counts an ampersand as an escaping platform does.
func costly(r rune) int {
	if r == '&' {
		return 5
	}
	return text.UTF16(r)
}

// Conformance 123: no half characters at a cut, and no half escapes.
func TestCut(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in   string
		most int
		want string
	}{
		{"abc", 3, "abc"},
		{"abcd", 3, "ab…"},
		{"a𝒳𝒳", 4, "a𝒳…"},
		{"a𝒳𝒳", 3, "a…"},
		{`ab\u{200B}cd`, 9, "ab…"},
		{`ab\u{200B}cd`, 11, `ab\u{200B}…`},
		{`a\n`, 2, "a…"},
	} {
		got, wasCut := text.Cost(text.UTF16).Cut(c.in, c.most)
		require.Equal(t, c.want, got, "%q at %d", c.in, c.most)
		require.Equal(t, got != c.in, wasCut)
	}
}

func TestCutAndSplitKeepTheLimit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := strings.ToValidUTF8(strings.Join(rapid.SliceOf(rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"&", "\n", "𝒳", `\u{200B}`}))).Draw(t, "s"), ""), "")
		most := rapid.IntRange(5, 60).Draw(t, "most")
		for _, cost := range []text.Cost{text.UTF16, costly} {
			short, wasCut := cost.Cut(s, most)
			require.LessOrEqual(t, cost.Size(short), most)
			require.True(t, utf8.ValidString(short))
			require.Equal(t, wasCut, cost.Size(s) > most)
			parts := cost.Split(s, most)
			require.Equal(t, s, strings.Join(parts, ""))
			for _, part := range parts {
				require.LessOrEqual(t, cost.Size(part), most)
			}
		}
	})
}

func TestSplitPrefersLineEnds(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{"abcdef\n", "ghijkl"}, text.Cost(text.UTF16).Split("abcdef\nghijkl", 10))
	require.Equal(t, []string{"a\nbcdefghi", "jkl"}, text.Cost(text.UTF16).Split("a\nbcdefghijkl", 10), "too early to be worth it")
}

// Conformance 117.
func TestVisible(t *testing.T) {
	t.Parallel()
	hidden := func(r rune) bool { return r == 0x200b }
	require.Equal(t, `a\u{200B}b`, text.Visible("a\u200bb", hidden))
	require.Equal(t, "a\ufffdb", text.Visible("a\xffb", hidden))
	require.Equal(t, "plain\n", text.Visible("plain\n", hidden))
}
