package gateway

import (
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// Whatever is asked for, a redirect after signing in stays on this host and below
// the base path.
func FuzzNext(f *testing.F) {
	for _, seed := range []string{
		"/approve/a%2Fb?view=all", "//evil.example", `/\evil.example`, "https://evil.example", "/gate//evil.example",
		"/gate/\r\nSet-Cookie: x=1", "/gate/%0d%0a", "javascript:alert(1)", "/gate/../..//evil", "", "/gate", "\x00/gate/",
	} {
		f.Add(seed)
	}
	here, err := url.Parse("https://sayso.example/signin")
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, path string) {
		for _, base := range []string{"", "/gate"} {
			got := next(path, base)
			require.True(t, strings.HasPrefix(got, base+"/"))
			require.False(t, strings.HasPrefix(got, "//"))
			require.NotContains(t, got, `\`)
			require.False(t, strings.ContainsAny(got, "\r\n\t"))
			to, err := here.Parse(got)
			require.NoError(t, err)
			require.Equal(t, "https://sayso.example", to.Scheme+"://"+to.Host)
		}
	})
}

// A long action is cut on a whole character, says how much is missing, and nothing
// is lost between the two; a shorter one is shown whole.
func TestPreview(t *testing.T) {
	t.Parallel()
	for _, whole := range []string{
		"", "short", strings.Repeat("é", wholeRunes), strings.Repeat("line\n", wholeLines-1),
	} {
		head, cut, hidden := preview(whole, false)
		require.Equal(t, whole, head)
		require.False(t, cut)
		require.Empty(t, hidden)
	}
	for _, long := range []string{
		strings.Repeat("é", wholeRunes+1), strings.Repeat("𝒳", 20_000), strings.Repeat("line\n", wholeLines), strings.Repeat("\n", 5_000),
	} {
		head, cut, hidden := preview(long, false)
		require.True(t, cut)
		require.True(t, utf8.ValidString(head))
		shown := strings.TrimSuffix(head, "…")
		require.True(t, strings.HasPrefix(long, shown))
		require.Equal(t, grouped(int64(utf8.RuneCountInString(long)-utf8.RuneCountInString(shown))), hidden)
		all, cut, _ := preview(long, true)
		require.Equal(t, long, all)
		require.False(t, cut)
	}
	require.Equal(t, "1,234,567", grouped(1_234_567))
	require.Equal(t, "999", grouped(999))
}

// A form's token holds for its session, purpose and revision, and for no other.
func TestForms(t *testing.T) {
	t.Parallel()
	_, err := NewForms(make([]byte, 31))
	require.Error(t, err)
	forms, err := NewForms([]byte(strings.Repeat("f", 32)))
	require.NoError(t, err)
	other, err := NewForms([]byte(strings.Repeat("g", 32)))
	require.NoError(t, err)
	token := forms.Sign("session", "agents:a", 3)
	require.True(t, forms.Verify(token, "session", "agents:a", 3))
	require.False(t, other.Verify(token, "session", "agents:a", 3))
	require.False(t, forms.Verify(token, "session2", "agents:a", 3))
	require.False(t, forms.Verify(token, "session", "agents:b", 3))
	require.False(t, forms.Verify(token, "session", "agents:a", 4))
	require.False(t, forms.Verify(token, "sessionagents:", "a", 3), "parts cannot be moved between fields")
	require.False(t, forms.Verify(token+"=", "session", "agents:a", 3))
	require.False(t, forms.Verify("", "session", "agents:a", 3))
	require.False(t, forms.Verify(forms.Sign("", "agents:a", 3), "", "agents:a", 3), "nobody's form is never good")
}
