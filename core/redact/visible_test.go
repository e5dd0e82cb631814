package redact_test

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/saysohq/sayso/core/redact"
)

// Conformance 117: what nobody sees, or takes for a space, is written out.
func TestVisible(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ in, want string }{
		"plain":                   {"git push origin main", "git push origin main"},
		"other scripts":           {"żółw 漢字 हिन्दी עברית 👍", "żółw 漢字 हिन्दी עברית 👍"},
		"line feed":               {"a\nb", `a\u{A}b`},
		"tab":                     {"a\tb", `a\u{9}b`},
		"carriage return":         {"a\rb", `a\u{D}b`},
		"NUL, escape and delete":  {"\x00\x1b[31m\x7f", `\u{0}\u{1B}[31m\u{7F}`},
		"C1 control":              {"a\u0085b", `a\u{85}b`},
		"zero width":              {"a\u200bb\u200cc\u200dd\u2060e\ufefff", `a\u{200B}b\u{200C}c\u{200D}d\u{2060}e\u{FEFF}f`},
		"bidirectional":           {"\u202eabc\u202c\u2066x\u2069\u200e\u200f\u061c", `\u{202E}abc\u{202C}\u{2066}x\u{2069}\u{200E}\u{200F}\u{61C}`},
		"odd spaces":              {"a\u00a0b\u2003c\u3000d\u202fe\u1680f", `a\u{A0}b\u{2003}c\u{3000}d\u{202F}e\u{1680}f`},
		"line separators":         {"a\u2028b\u2029c", `a\u{2028}b\u{2029}c`},
		"soft hyphen":             {"a\u00adb", `a\u{AD}b`},
		"Hangul fillers":          {"\u115f\u1160\u3164\uffa0", `\u{115F}\u{1160}\u{3164}\u{FFA0}`},
		"other fillers":           {"\u2800\u17b4\u17b5\u034f\u180e\U0001d159", `\u{2800}\u{17B4}\u{17B5}\u{34F}\u{180E}\u{1D159}`},
		"variation selectors":     {"a\ufe0f\ufe00\U000e0100", `a\u{FE0F}\u{FE00}\u{E0100}`},
		"Mongolian variation":     {"\u180b\u180f", `\u{180B}\u{180F}`},
		"tags":                    {"\U000e0001\U000e0041\U000e007f", `\u{E0001}\u{E0041}\u{E007F}`},
		"private use":             {"\ue000\U000f0000\U0010ffff", `\u{E000}\u{F0000}\u{10FFFF}`},
		"unassigned":              {"\u0378\ufdd0\uffff", `\u{378}\u{FDD0}\u{FFFF}`},
		"replacement and object":  {"\ufffd\ufffc", `\u{FFFD}\u{FFFC}`},
		"invalid UTF-8":           {"a\xffb", `a\u{FFFD}b`},
		"interlinear annotation":  {"\ufff9\ufffb", `\u{FFF9}\u{FFFB}`},
		"a pile of marks":         {"e\u0301\u0302\u0303\u0304\u0305\u0306x\u0301", "e\u0301\u0302\u0303\u0304" + `\u{305}\u{306}` + "x\u0301"},
		"a mark written by hand":  {`\u{200B}`, `\u{5C}u{200B}`},
		"a backslash as such":     {`C:\users \n \u0041 \u {`, `C:\users \n \u0041 \u {`},
		"a backslash and a mark":  {"\\\u200b", `\\u{200B}`},
		"a backslash at the end":  {`a\`, `a\`},
		"two backslashes by hand": {`\\u{41}`, `\\u{5C}u{41}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, string(redact.Visible(c.in)))
		})
	}
}

// Conformance 118: a block keeps its lines, a line does not break.
// Padding that pushes the rest of a command out of sight is shown for what it is.
func TestVisiblePadding(t *testing.T) {
	t.Parallel()
	wide := strings.Repeat(" ", 64)
	for in, want := range map[string]string{
		"ls" + wide + "; x":                          "ls" + wide + "; x",
		"ls" + wide + "  ; x":                        "ls" + wide + `\u{20}\u{20}; x`,
		"é" + wide + " x" + wide + "y":               "é" + wide + `\u{20}x` + wide + "y",
		wide + "\n" + wide + "x":                     wide + `\u{A}` + wide + "x",
		"\u200b" + wide[:1] + "a" + wide + " " + "b": `\u{200B} a` + wide + `\u{20}b`,
	} {
		require.Equal(t, want, string(redact.Visible(in)))
	}
	tabs := strings.Repeat("\t", 64)
	require.Equal(t, "a"+tabs+`\u{9}\u{20}b`, string(redact.VisibleBlock("a"+tabs+"\t b")))
	require.Equal(t, wide+"\n"+wide, string(redact.VisibleBlock(wide+"\n"+wide)))
}

func TestVisibleBlockKeepsLines(t *testing.T) {
	t.Parallel()
	require.Equal(t, "a\n\tb"+`\u{D}`+"\n"+`\u{200B}`, string(redact.VisibleBlock("a\n\tb\r\n\u200b")))
}

var mark = regexp.MustCompile(`\\u\{([0-9A-F]+)\}`)

// unmark reads back what Visible wrote.
func unmark(s string) string {
	return mark.ReplaceAllStringFunc(s, func(m string) string {
		n, err := strconv.ParseInt(m[3:len(m)-1], 16, 32)
		if err != nil {
			panic(err)
		}
		return string(rune(n))
	})
}

// requireSeen fails when s holds a character that nobody sees. The list is kept
// apart from the one under test, on purpose by general category.
func requireSeen(t require.TestingT, s string, block bool) {
	require.True(t, utf8.ValidString(s))
	for _, r := range s {
		if block && (r == '\n' || r == '\t') || r == ' ' {
			continue
		}
		bad := unicode.In(r, unicode.C, unicode.Z, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point) ||
			!unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.P, unicode.S) || r == utf8.RuneError || r == 0x2800
		require.False(t, bad, "U+%04X in %q", r, s)
	}
}

// anyText draws text rich in what Visible has to deal with.
func anyText() *rapid.Generator[string] {
	return rapid.Map(rapid.SliceOfN(rapid.OneOf(
		rapid.String(),
		rapid.SampledFrom([]string{"\u200b", "\u202e", "\n", "\t", "\r\n", "\u00a0", `\`, `\u{`, `\u{41}`, "u{", "\ufe0f", "\U000e0041", "\u3164", "é", "\u0301\u0301\u0301", "😀", "<", `"`}),
	), 0, 12), func(p []string) string { return strings.Join(p, "") })
}

func TestVisibleCanBeReadBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := anyText().Draw(t, "text")
		v := string(redact.Visible(s))
		requireSeen(t, v, false)
		require.Equal(t, s, unmark(v))
		b := string(redact.VisibleBlock(s))
		requireSeen(t, b, true)
		require.Equal(t, s, unmark(b))
	})
}

// Conformance 121, 123: limits count code points, cuts split nothing.
func TestLimit(t *testing.T) {
	t.Parallel()
	astral := strings.Repeat("😀", 80)
	for name, c := range map[string]struct {
		in    string
		limit int
		want  string
		cut   bool
	}{
		"shorter":               {"abc", 5, "abc", false},
		"exact":                 {"abcde", 5, "abcde", false},
		"exact, astral":         {astral, 80, astral, false},
		"one too many":          {"abcdef", 5, "abcd…", true},
		"one too many, astral":  {astral + "😀", 80, strings.Repeat("😀", 79) + "…", true},
		"nothing":               {"", 0, "", false},
		"no room":               {"abc", 0, "", true},
		"negative":              {"abc", -1, "", true},
		"room for the mark":     {"abc", 1, "…", true},
		"never inside a mark":   {"ab\u200bcd", 6, "ab…", true},
		"behind a mark":         {"ab\u200bcdef", 12, "ab" + `\u{200B}` + "c…", true},
		"never inside a marker": {"x " + redact.Marker + " y", 6, "x …", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, cut := redact.Visible(c.in).Limit(c.limit)
			require.Equal(t, c.want, string(got))
			require.Equal(t, c.cut, cut)
		})
	}
}

func TestLimitNeverExceeds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v := redact.Visible(anyText().Draw(t, "text"))
		limit := rapid.IntRange(0, 60).Draw(t, "limit")
		for _, got := range []struct {
			text Safe
			size int
		}{
			{first(v.Limit(limit)), utf8.RuneCountInString(string(first(v.Limit(limit))))},
			{first(v.LimitBytes(limit)), len(first(v.LimitBytes(limit)))},
		} {
			require.LessOrEqual(t, got.size, limit)
			if got.text == v {
				continue
			}
			kept := strings.TrimSuffix(string(got.text), redact.Cut)
			require.True(t, strings.HasPrefix(string(v), kept))
			require.True(t, strings.HasPrefix(unmark(string(v)), unmark(kept)), "a mark was split: %q", kept)
		}
	})
}

// Safe shortens the tests.
type Safe = redact.Safe

func first(s Safe, _ bool) Safe { return s }

func TestMixedScript(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]bool{
		"paypal":                false,
		"pаypal":                true, // Cyrillic а.
		"аррӏе":                 false,
		"Ηello":                 true, // Greek Eta.
		"pay\u200bpаl":          true,
		"hello мир":             false,
		"hello, мир":            false,
		"hello-мир":             false,
		"10kΩ 5μm µs":           false, // Units are plain to see.
		"漢字kanji":               false,
		"":                      false,
		"rm -rf /hоme":          true,
		"https://gооgle.com/":   true,
		"İstanbul naïve straße": false,
		"Δx αβγ":                false,
	} {
		require.Equal(t, want, redact.MixedScript(in), in)
	}
}

func FuzzVisible(f *testing.F) {
	for _, seed := range []string{"", "plain", "a\u200bb", `\u{200B}`, "\xff\xfe", "e\u0301\u0301\u0301\u0301\u0301\u0301", "a\nb\tc", `\\\u{`, "\U000e0041"} {
		f.Add(seed, 5)
	}
	f.Fuzz(func(t *testing.T, s string, limit int) {
		v := redact.Visible(s)
		requireSeen(t, string(v), false)
		if utf8.ValidString(s) {
			require.Equal(t, s, unmark(string(v)))
		}
		short, cut := v.Limit(limit)
		require.Equal(t, cut, short != v)
		requireSeen(t, string(short), false)
		require.LessOrEqual(t, utf8.RuneCountInString(string(short)), max(0, limit))
	})
}
