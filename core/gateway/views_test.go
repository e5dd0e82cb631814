package gateway_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/gateway"
)

func newViews(t *testing.T) *gateway.Views {
	t.Helper()
	views, err := gateway.NewViews([]byte(strings.Repeat("k", gateway.MinViewKey)))
	require.NoError(t, err)
	return views
}

func TestViewsRoundTrip(t *testing.T) {
	t.Parallel()
	views := newViews(t)
	hash := core.HashOf([]byte("action"))

	for _, want := range []bool{true, false} {
		token := views.Sign("a:b", 3, hash, "session", want)
		complete, ok := views.Verify(token, "a:b", 3, hash, "session")
		require.True(t, ok)
		require.Equal(t, want, complete)
	}
}

// K29: a view of another approval, revision, action, session or completeness
// proves nothing.
func TestViewsBindEveryPart(t *testing.T) {
	t.Parallel()
	views := newViews(t)
	other, err := gateway.NewViews([]byte(strings.Repeat("o", gateway.MinViewKey)))
	require.NoError(t, err)
	hash, session := core.HashOf([]byte("action")), "session"
	token := views.Sign("id", 3, hash, session, true)
	partial := views.Sign("id", 3, hash, session, false)

	tests := []struct {
		name     string
		views    *gateway.Views
		token    string
		id       string
		revision int64
		hash     string
		session  string
	}{
		{"other approval", views, token, "id2", 3, hash, session},
		{"other revision", views, token, "id", 4, hash, session},
		{"other action", views, token, "id", 3, core.HashOf([]byte("else")), session},
		{"other session", views, token, "id", 3, hash, "session2"},
		{"parts moved", views, token, "i", 3, "d" + hash, session},
		{"other key", other, token, "id", 3, hash, session},
		{"partial dressed as complete", views, "c." + strings.TrimPrefix(partial, "p."), "id", 3, hash, session},
		{"no token", views, "", "id", 3, hash, session},
		{"no tag", views, "c.", "id", 3, hash, session},
		{"padding", views, token + "=", "id", 3, hash, session},
		{"cut", views, token[:len(token)-1], "id", 3, hash, session},
		{"unknown kind", views, "x." + strings.TrimPrefix(token, "c."), "id", 3, hash, session},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			complete, ok := test.views.Verify(test.token, test.id, test.revision, test.hash, test.session)
			require.False(t, ok)
			require.False(t, complete)
		})
	}
}

func TestNewViewsRefusesShortKeys(t *testing.T) {
	t.Parallel()
	_, err := gateway.NewViews(make([]byte, gateway.MinViewKey-1))
	require.Error(t, err)
}
