package redact_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/gowebpki/jcs"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/redact"
)

type canonicalVectors struct {
	Vectors []struct{ Name, Input, Canonical, SHA256 string }
	Pairs   []struct {
		A, B  string
		Equal bool
	}
}

func readVectors(t *testing.T) canonicalVectors {
	t.Helper()
	b, err := os.ReadFile("testdata/canonical.json")
	require.NoError(t, err)
	var v canonicalVectors
	require.NoError(t, json.Unmarshal(b, &v))
	require.NotEmpty(t, v.Vectors)
	require.NotEmpty(t, v.Pairs)
	return v
}

func TestCanonicalVectors(t *testing.T) {
	t.Parallel()
	for _, v := range readVectors(t).Vectors {
		t.Run(v.Name, func(t *testing.T) {
			t.Parallel()
			got, err := redact.Canonical([]byte(v.Input))
			require.NoError(t, err)
			require.Equal(t, v.Canonical, string(got))
			sum := sha256.Sum256(got)
			require.Equal(t, v.SHA256, hex.EncodeToString(sum[:]))
			hash, err := redact.ArgumentsHash([]byte(v.Input))
			require.NoError(t, err)
			require.Equal(t, "sha256:"+v.SHA256, hash)

			again, err := redact.Canonical(got)
			require.NoError(t, err)
			require.Equal(t, v.Canonical, string(again))
		})
	}
}

// R98: stable under the order of members, and different actions stay different.
func TestCanonicalPairs(t *testing.T) {
	t.Parallel()
	for _, p := range readVectors(t).Pairs {
		a, err := redact.ArgumentsHash([]byte(p.A))
		require.NoError(t, err)
		b, err := redact.ArgumentsHash([]byte(p.B))
		require.NoError(t, err)
		require.Equal(t, p.Equal, a == b, "%s and %s", p.A, p.B)
	}
}

func TestCanonicalRefuses(t *testing.T) {
	t.Parallel()
	nested := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for name, doc := range map[string]string{
		"nothing":                    "",
		"blanks":                     " \n",
		"byte order mark":            "\ufeff{}",
		"invalid UTF-8":              "\"\xff\"",
		"overlong UTF-8":             "\"\xc0\x80\"",
		"surrogate in UTF-8":         "\"\xed\xa0\x80\"",
		"half a pair, first":         `"\ud800"`,
		"half a pair, then text":     `"\ud800x"`,
		"half a pair, then escape":   `"\ud800\n"`,
		"half a pair, second":        `"\udc00"`,
		"pair in the wrong order":    `"\udc00\ud800"`,
		"repeated member":            `{"a":1,"a":2}`,
		"repeated by escape":         `{"a":1,"\u0061":1}`,
		"repeated deep":              `[{"x":{"a":1,"b":2,"a":3}}]`,
		"repeated among many":        `{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1,"j":1,"k":1,"l":1,"m":1,"n":1,"o":1,"c":2}`,
		"something after":            `{} {}`,
		"comma at the end":           `[1,]`,
		"comma at the end of object": `{"a":1,}`,
		"leading zero":               `01`,
		"plus":                       `+1`,
		"bare point":                 `1.`,
		"bare exponent":              `1e`,
		"minus alone":                `-`,
		"hex":                        `0x1`,
		"NaN":                        `NaN`,
		"infinity":                   `Infinity`,
		"double out of range":        `1e400`,
		"control in string":          "\"\n\"",
		"unknown escape":             `"\x41"`,
		"short escape":               `"\u12"`,
		"open string":                `"a`,
		"open array":                 `[1`,
		"open object":                `{"a":1`,
		"name without quotes":        `{a:1}`,
		"single quotes":              `'a'`,
		"comment":                    `[1 /* one */]`,
		"word":                       `trueish`,
		"too deep":                   nested(redact.MaxDepth + 1),
		"too long":                   `"` + strings.Repeat("a", redact.MaxDocument-1) + `"`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := redact.Canonical([]byte(doc))
			require.ErrorIs(t, err, core.ErrInvalid)
			var field *core.FieldError
			require.ErrorAs(t, err, &field)
			require.Equal(t, "json", field.Field)
			require.Equal(t, "invalid", core.CodeOf(err))
		})
	}

	t.Run("the bounds themselves pass", func(t *testing.T) {
		t.Parallel()
		_, err := redact.Canonical([]byte(nested(redact.MaxDepth)))
		require.NoError(t, err)
		_, err = redact.Canonical([]byte(`"` + strings.Repeat("a", redact.MaxDocument-2) + `"`))
		require.NoError(t, err)
	})
}

func TestErrorsNeverRepeatTheValue(t *testing.T) {
	t.Parallel()
	for _, doc := range []string{`{"hunter2":1,"hunter2":2}`, `hunter2`, `["hunter2"`, `1e999999`} {
		_, err := redact.Canonical([]byte(doc))
		require.Error(t, err)
		require.NotContains(t, err.Error(), "hunter2")
		require.NotContains(t, err.Error(), "999999")
	}
}

func TestActionHash(t *testing.T) {
	t.Parallel()
	args, err := redact.ArgumentsHash([]byte(`{"to":"bob"}`))
	require.NoError(t, err)

	// By the letter of the definition, through a general JSON encoder.
	doc, err := json.Marshal(map[string]string{"arguments_hash": args, "kind": "plugin", "operation": "send", "tool": "mail"})
	require.NoError(t, err)
	canon, err := jcs.Transform(doc)
	require.NoError(t, err)
	require.Equal(t, core.HashOf(canon), redact.ActionHash(args, core.KindPlugin, "mail", "send"))

	seen := map[string]bool{}
	for _, h := range []string{
		redact.ActionHash(args, core.KindPlugin, "mail", "send"),
		redact.ActionHash(args, core.KindExec, "mail", "send"),
		redact.ActionHash(args, core.KindPlugin, "mail", "sends"),
		redact.ActionHash(args, core.KindPlugin, "mailsend", ""),
		redact.ActionHash(args, core.KindPlugin, `mail","x":"`, "send"),
		redact.ActionHash("sha256:other", core.KindPlugin, "mail", "send"),
	} {
		require.True(t, core.ValidHash(h))
		require.Len(t, core.Fingerprint(h), 8)
		require.False(t, seen[h])
		seen[h] = true
	}
}

// jsonValue draws a value of any form.
func jsonValue(depth int) *rapid.Generator[any] {
	leaf := rapid.OneOf(
		rapid.Just[any](nil), rapid.Map(rapid.Bool(), func(b bool) any { return b }),
		rapid.Map(rapid.Float64(), func(f float64) any { return f }),
		rapid.Map(rapid.Int32(), func(i int32) any { return i }),
		rapid.Map(rapid.String(), func(s string) any { return s }),
	)
	if depth == 0 {
		return leaf
	}
	return rapid.OneOf(
		leaf,
		rapid.Map(rapid.SliceOfN(jsonValue(depth-1), 0, 5), func(v []any) any { return v }),
		rapid.Map(rapid.MapOfN(rapid.String(), jsonValue(depth-1), 0, 5), func(v map[string]any) any { return v }),
	)
}

func TestCanonicalAgreesWithJCS(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		doc, err := json.MarshalIndent(jsonValue(3).Draw(t, "value"), "", " ")
		require.NoError(t, err)
		want, err := jcs.Transform(doc)
		require.NoError(t, err)
		got, err := redact.Canonical(doc)
		require.NoError(t, err)
		require.Equal(t, string(want), string(got))
	})
}

// bigInteger finds the numbers for which the canonical form differs from JCS on
// purpose.
var bigInteger = regexp.MustCompile(`[0-9]{16,}`)

func FuzzCanonical(f *testing.F) {
	for _, seed := range []string{
		`{"b":[1,2.50,"\u0061\ud83d\ude00"],"a":null}`, `9007199254740993`, `1e400`, `-0.0`, `"\ud800"`,
		`{"a":1,"a":2}`, `[[[[]]]]`, "\"\xff\"", ` 1 `, `{"\ufb33":1,"\ud83d\ude00":2}`, `1E-400`, `"\/"`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		got, err := redact.Canonical(doc)
		want, jcsErr := jcs.Transform(append([]byte{}, doc...))
		if err != nil {
			require.ErrorIs(t, err, core.ErrInvalid)
			if jcsErr == nil {
				require.True(t, len(doc) > redact.MaxDocument || strings.Contains(err.Error(), "deeper"), "only our own bounds are stricter: %v", err)
			}
			return
		}
		again, err := redact.Canonical(got)
		require.NoError(t, err)
		require.Equal(t, got, again)
		require.True(t, json.Valid(got))
		if !bigInteger.Match(doc) {
			require.NoError(t, jcsErr)
			require.True(t, bytes.Equal(want, got))
		}
	})
}
