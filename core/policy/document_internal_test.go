package policy

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// value draws a JSON value with names that collide in case, escapes and white space.
func value(t *rapid.T, depth int) any {
	kinds := 6
	if depth == 0 {
		kinds = 4
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
	case 0:
		return rapid.SampledFrom([]string{"", "x", `q"u\o/te`, "tab\t", "ünï", "a,b:c]}", "\u2028"}).Draw(t, "text")
	case 1:
		return rapid.Bool().Draw(t, "bool")
	case 2:
		return nil
	case 3:
		return rapid.IntRange(-9, 99).Draw(t, "number")
	case 4:
		out := make([]any, rapid.IntRange(0, 3).Draw(t, "length"))
		for i := range out {
			out[i] = value(t, depth-1)
		}
		return out
	}
	out := map[string]any{}
	for range rapid.IntRange(0, 4).Draw(t, "members") {
		out[rapid.SampledFrom([]string{"a", "b", "A", `c"`, "é", "É", ""}).Draw(t, "name")] = value(t, depth-1)
	}
	return out
}

// plainly is the same walk over decoded JSON.
func plainly(v any, path []string, out *[]string) (sure bool) {
	sure = true
	switch v := v.(type) {
	case nil:
	case []any:
		for _, e := range v {
			sure = plainly(e, path, out) && sure
		}
	case map[string]any:
		if len(path) == 0 {
			return false
		}
		found := 0
		for name, m := range v {
			if !strings.EqualFold(name, path[0]) {
				continue
			}
			if found++; found > 1 || name != path[0] {
				sure = false
			}
			sure = plainly(m, path[1:], out) && sure
		}
	default:
		if len(path) > 0 {
			return false
		}
		if s, ok := v.(string); ok {
			*out = append(*out, s)
			return sure
		}
		b, _ := json.Marshal(v)
		*out = append(*out, string(b))
	}
	return sure
}

// The walker that reads in place finds what decoding finds.
func TestPropertyWalkerAgreesWithDecoding(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v := value(t, 4)
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if rapid.Bool().Draw(t, "spread out") {
			if b, err = json.MarshalIndent(v, " \t", "\r\n "); err != nil {
				t.Skip("not to be indented")
			}
		}
		path := rapid.SampledFrom([][]string{nil, {"a"}, {"a", "b"}, {"é"}, {`c"`, "a"}, {""}}).Draw(t, "path")
		d, ok := readable(b)
		if !ok {
			t.Fatalf("not readable: %s", b)
		}
		var l leaves
		d.collect(path, &l)
		var want []string
		sure := plainly(v, path, &want)
		if l.unsure == sure {
			t.Fatalf("unsure %v, sure %v: %s", l.unsure, sure, b)
		}
		if !sure {
			return // The order of what is unsure is nobody's business.
		}
		got := make([]string, 0, l.n)
		for _, v := range l.all() {
			got = append(got, string(v.text))
		}
		if strings.Join(got, "\x00") != strings.Join(want, "\x00") {
			t.Fatalf("%q instead of %q: %s", got, want, b)
		}
	})
}

// What is nested too deep or too long to look at is unsure, not unseen.
func TestWalkerIsBounded(t *testing.T) {
	t.Parallel()
	for text, unsure := range map[string]bool{
		`{"a":[[[[1]]]]}`:   false,
		`{"a":[[[[[1]]]]]}`: true,
		`{"a":[` + strings.Repeat("1,", maxLeaves-1) + `1]}`: false,
		`{"a":[` + strings.Repeat("1,", maxLeaves) + `1]}`:   true,
	} {
		d, ok := readable([]byte(text))
		require.True(t, ok)
		var l leaves
		d.collect([]string{"a"}, &l)
		require.Equal(t, unsure, l.unsure, text)
	}
}

// Words are found where a reader sees them.
func TestWords(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"delete_file": "delete file", "deleteFile": "delete file", "DeleteFile": "delete file", "DELETE-FILE": "delete file",
		"deletefile": "deletefile", "HTTPDelete2x": "http delete x", "a.b/c": "a b c", "": "", "___": "", "löschen": "l schen",
		strings.Repeat("x", maxWord+1) + " y": "y",
	} {
		var got []string
		words(text, false, func(w []byte) bool { got = append(got, string(w)); return true })
		require.Equal(t, want, strings.Join(got, " "), text)
	}
	var got []string
	words("/usr/bin/mkfs.ext4 --delete-after RM2 'x'", true, func(w []byte) bool { got = append(got, string(w)); return true })
	require.Equal(t, []string{"usr", "bin", "mkfs.ext4", "--delete-after", "rm2", "x"}, got)
}
