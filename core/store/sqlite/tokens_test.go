package sqlite

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
)

func TestTokensRoundTrip(t *testing.T) {
	t.Parallel()
	s, clock := peopleStore(t)
	now := core.MillisOf(clock.now())
	token := core.Token{
		ID: "t1", Hash: "h1", Runtime: "local", Scopes: []core.Scope{core.ScopeRead, core.ScopeRequest},
		ActsFor: "bob", Label: "laptop",
	}
	want := token
	want.CreatedAt, want.ExpiresAt = now, now+60_000
	issued, err := s.IssueToken(t.Context(), token, 60_000)
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(want, issued))
	got, err := s.TokenByHash(t.Context(), "h1")
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(want, got))
	_, err = s.TokenByHash(t.Context(), "h2")
	require.ErrorIs(t, err, core.ErrNotFound)
}

func TestIssueTokenRefuses(t *testing.T) {
	t.Parallel()
	s, _ := peopleStore(t)
	scopes := []core.Scope{core.ScopeRequest}
	_, err := s.IssueToken(t.Context(), core.Token{ID: "t1", Hash: "h1", Runtime: "local", Scopes: scopes}, 0)
	require.NoError(t, err)
	require.NoError(t, s.RevokeToken(t.Context(), "t1"))

	tests := []struct {
		name  string
		token core.Token
		err   error
	}{
		{"an id used before", core.Token{ID: "t1", Hash: "h2"}, core.ErrIDTaken},
		{"a secret used before, though revoked", core.Token{ID: "t2", Hash: "h1"}, core.ErrIDTaken},
		{"an unknown person", core.Token{ID: "t3", Hash: "h3", ActsFor: "nobody"}, core.ErrNotFound},
	}
	for _, test := range tests {
		test.token.Runtime, test.token.Scopes = "local", scopes
		_, err := s.IssueToken(t.Context(), test.token, 0)
		require.ErrorIs(t, err, test.err, test.name)
	}
	list, err := s.ListTokens(t.Context())
	require.NoError(t, err)
	require.Len(t, list, 1)
}

func TestTokensEnd(t *testing.T) {
	t.Parallel()
	s, clock := peopleStore(t)
	scopes := []core.Scope{core.ScopeRequest}
	for _, token := range []struct {
		id   string
		life core.Millis
	}{{"short", 1000}, {"ever", 0}, {"revoked", 0}} {
		_, err := s.IssueToken(t.Context(), core.Token{ID: token.id, Hash: token.id, Runtime: "local", Scopes: scopes}, token.life)
		require.NoError(t, err)
	}
	require.NoError(t, s.RevokeToken(t.Context(), "revoked"))
	revokedAt := core.MillisOf(clock.now())
	clock.advance(time.Second) // Exactly the deadline of "short" (R28).
	require.NoError(t, s.RevokeToken(t.Context(), "revoked"), "a repeated end is the same success")
	require.ErrorIs(t, s.RevokeToken(t.Context(), "nothing"), core.ErrNotFound)

	for hash, want := range map[string]error{"short": core.ErrNotFound, "ever": nil, "revoked": core.ErrNotFound} {
		_, err := s.TokenByHash(t.Context(), hash)
		require.ErrorIs(t, err, want, hash)
	}
	list, err := s.ListTokens(t.Context())
	require.NoError(t, err)
	require.Len(t, list, 3)
	for _, token := range list {
		require.Empty(t, token.Hash)
		if token.ID == "revoked" {
			require.Equal(t, revokedAt, token.RevokedAt)
		}
	}
}
