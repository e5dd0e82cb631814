package storetest

import (
	"slices"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
)

func accessSpecs() []spec {
	return []spec{
		{"a session signs its person in until it ends", sessionLives},
		{"now equal to the end of a session is too late", sessionExpires},
		{"disabling a person ends their sessions for good", sessionDisabled},
		{"sessions are listed newest first", sessionList},
		{"a token holds until it is revoked or expires", tokenLives},
		{"a token acts only for somebody known", tokenActsFor},
		{"tokens are listed without their hashes", tokenList},
		{"a token's id and secret are used once", tokenTaken},
		{"a token that was not revoked is renewed", tokenRenewed},
		{"a token that ran out is pruned, one that was revoked is not", tokenPruned},
		{"the deployment keeps its id", deploymentStays},
		{"sealed keys are kept by purpose", keysKept},
		{"ended sessions are pruned", sessionPruned},
	}
}

func sessionLives(k *kit) {
	p := k.person("bob", core.RoleReviewer)
	s := k.signIn("bob")
	require.Equal(k.t, k.now(), s.CreatedAt)
	require.Equal(k.t, k.now()+24*60*60*1_000, s.ExpiresAt)
	require.Zero(k.t, s.EndedAt)
	k.reopen()
	got, who, err := k.SessionByHash(k.ctx, s.Hash)
	require.NoError(k.t, err)
	require.Equal(k.t, s, got)
	require.Equal(k.t, p, who)
	_, _, err = k.SessionByHash(k.ctx, tokenHash("other"))
	require.ErrorIs(k.t, err, core.ErrNotFound)
	_, _, err = k.SessionByHash(k.ctx, "")
	require.ErrorIs(k.t, err, core.ErrNotFound)
	require.NoError(k.t, k.EndSession(k.ctx, s.ID))
	_, _, err = k.SessionByHash(k.ctx, s.Hash)
	require.ErrorIs(k.t, err, core.ErrNotFound)
	require.ErrorIs(k.t, k.EndSession(k.ctx, "nothing"), core.ErrNotFound)
}

func sessionExpires(k *kit) {
	k.person("bob", core.RoleReviewer)
	s := k.signIn("bob")
	k.advanceTo(s.ExpiresAt - 1)
	_, _, err := k.SessionByHash(k.ctx, s.Hash)
	require.NoError(k.t, err)
	k.advanceTo(s.ExpiresAt)
	_, _, err = k.SessionByHash(k.ctx, s.Hash)
	require.ErrorIs(k.t, err, core.ErrNotFound)
}

func sessionDisabled(k *kit) {
	k.person("bob", core.RoleReviewer)
	k.person("eve", core.RoleReviewer)
	bob, eve := k.signIn("bob"), k.signIn("eve")
	k.disable("bob")
	_, _, err := k.SessionByHash(k.ctx, bob.Hash)
	require.ErrorIs(k.t, err, core.ErrNotFound)
	_, _, err = k.SessionByHash(k.ctx, eve.Hash)
	require.NoError(k.t, err)
	_, err = k.ChangePrincipal(k.ctx, core.ChangePrincipal{ID: "bob", Disabled: new(false)})
	require.NoError(k.t, err)
	_, _, err = k.SessionByHash(k.ctx, bob.Hash)
	require.ErrorIs(k.t, err, core.ErrNotFound, "it does not come back with the person")
}

func sessionList(k *kit) {
	k.person("bob", core.RoleReviewer)
	first := k.signIn("bob")
	k.advance(1_000)
	second := k.signIn("bob")
	list, err := k.SessionsOf(k.ctx, "bob")
	require.NoError(k.t, err)
	require.Len(k.t, list, 2)
	require.Equal(k.t, second.ID, list[0].ID)
	require.Equal(k.t, first.ID, list[1].ID)
	list, err = k.SessionsOf(k.ctx, "nobody")
	require.NoError(k.t, err)
	require.Empty(k.t, list)
}

func sessionPruned(k *kit) {
	k.person("bob", core.RoleReviewer)
	s := k.signIn("bob")
	require.NoError(k.t, k.EndSession(k.ctx, s.ID))
	k.h.Advance(2 * core.Retention * time.Millisecond)
	k.prune(10)
	list, err := k.SessionsOf(k.ctx, "bob")
	require.NoError(k.t, err)
	require.Empty(k.t, list)
}

func (k *kit) issue(id string, life core.Millis, edits ...func(*core.Token)) core.Token {
	k.t.Helper()
	t := core.Token{
		ID: id, Hash: tokenHash(id), Runtime: ownRuntime, Label: "ci",
		Scopes: []core.Scope{core.ScopeRequest, core.ScopeRead},
	}
	for _, e := range edits {
		e(&t)
	}
	got, err := k.IssueToken(k.ctx, t, life)
	require.NoError(k.t, err)
	return got
}

func tokenLives(k *kit) {
	k.person("bob", core.RoleReviewer)
	forever := k.issue("token-1", 0, func(t *core.Token) { t.ActsFor = "bob" })
	brief := k.issue("token-2", 1_000)
	require.Zero(k.t, forever.ExpiresAt)
	require.Equal(k.t, k.now()+1_000, brief.ExpiresAt)
	k.reopen()
	got, err := k.TokenByHash(k.ctx, forever.Hash)
	require.NoError(k.t, err)
	require.Equal(k.t, forever, got)
	k.advance(999)
	_, err = k.TokenByHash(k.ctx, brief.Hash)
	require.NoError(k.t, err)
	k.advance(1)
	_, err = k.TokenByHash(k.ctx, brief.Hash)
	require.ErrorIs(k.t, err, core.ErrNotFound, "now equal to the end is too late")
	k.h.Advance(10 * 365 * 24 * time.Hour)
	_, err = k.TokenByHash(k.ctx, forever.Hash)
	require.NoError(k.t, err)
	require.NoError(k.t, k.RevokeToken(k.ctx, forever.ID))
	_, err = k.TokenByHash(k.ctx, forever.Hash)
	require.ErrorIs(k.t, err, core.ErrNotFound)
	require.ErrorIs(k.t, k.RevokeToken(k.ctx, "nothing"), core.ErrNotFound)
	_, err = k.TokenByHash(k.ctx, "")
	require.ErrorIs(k.t, err, core.ErrNotFound)
}

func tokenActsFor(k *kit) {
	_, err := k.IssueToken(k.ctx, core.Token{
		ID: "token-1", Hash: tokenHash("x"), Runtime: ownRuntime, ActsFor: "nobody", Scopes: []core.Scope{core.ScopeRequest},
	}, 0)
	require.ErrorIs(k.t, err, core.ErrNotFound)
	list, err := k.ListTokens(k.ctx)
	require.NoError(k.t, err)
	require.Empty(k.t, list)
}

func tokenTaken(k *kit) {
	first := k.issue("token-1", 0)
	require.NoError(k.t, k.RevokeToken(k.ctx, first.ID))
	for _, t := range []core.Token{
		{ID: "token-1", Hash: tokenHash("fresh")}, {ID: "token-2", Hash: first.Hash},
	} {
		t.Runtime, t.Scopes = ownRuntime, []core.Scope{core.ScopeRequest}
		_, err := k.IssueToken(k.ctx, t, 0)
		require.ErrorIs(k.t, err, core.ErrIDTaken)
	}
	_, err := k.TokenByHash(k.ctx, first.Hash)
	require.ErrorIs(k.t, err, core.ErrNotFound, "what was revoked stays revoked")
}

// tokenRenewed lets a token live on that has run out, and never one that was revoked.
func tokenRenewed(k *kit) {
	brief := k.issue("token-1", 1_000, func(t *core.Token) { t.Label = "this machine" })
	k.advance(5_000)
	_, err := k.TokenByHash(k.ctx, brief.Hash)
	require.ErrorIs(k.t, err, core.ErrNotFound)
	got, err := k.RenewToken(k.ctx, brief.Hash, 1_000)
	require.NoError(k.t, err)
	want := brief
	want.ExpiresAt = k.now() + 1_000
	require.Equal(k.t, want, got)
	got, err = k.TokenByHash(k.ctx, brief.Hash)
	require.NoError(k.t, err)
	require.Equal(k.t, want, got)
	got, err = k.RenewToken(k.ctx, brief.Hash, 0)
	require.NoError(k.t, err)
	require.Zero(k.t, got.ExpiresAt)
	require.NoError(k.t, k.RevokeToken(k.ctx, brief.ID))
	for _, hash := range []string{brief.Hash, tokenHash("nobody's"), ""} {
		_, err = k.RenewToken(k.ctx, hash, 1_000)
		require.ErrorIs(k.t, err, core.ErrNotFound)
	}
	_, err = k.TokenByHash(k.ctx, brief.Hash)
	require.ErrorIs(k.t, err, core.ErrNotFound)
}

// tokenPruned forgets what ran out as long ago as rows are kept, and nothing that was
// revoked: its secret must stay known.
func tokenPruned(k *kit) {
	ran := k.issue("token-1", 1_000)
	revoked := k.issue("token-2", 1_000)
	forever := k.issue("token-3", 0)
	require.NoError(k.t, k.RevokeToken(k.ctx, revoked.ID))
	held := func() []string {
		_, err := k.Prune(k.ctx, 100)
		require.NoError(k.t, err)
		list, err := k.ListTokens(k.ctx)
		require.NoError(k.t, err)
		var ids []string
		for _, t := range list {
			ids = append(ids, t.ID)
		}
		slices.Sort(ids)
		return ids
	}
	k.advance(core.Retention + 999)
	require.Equal(k.t, []string{ran.ID, revoked.ID, forever.ID}, held())
	k.advance(1)
	require.Equal(k.t, []string{revoked.ID, forever.ID}, held())
	_, err := k.IssueToken(k.ctx, core.Token{ID: "token-4", Hash: ran.Hash, Runtime: ownRuntime, Scopes: ran.Scopes}, 0)
	require.NoError(k.t, err, "its bearer may be registered again")
}

func tokenList(k *kit) {
	first := k.issue("token-1", 0)
	k.advance(1_000)
	second := k.issue("token-2", 0)
	require.NoError(k.t, k.RevokeToken(k.ctx, first.ID))
	list, err := k.ListTokens(k.ctx)
	require.NoError(k.t, err)
	require.Len(k.t, list, 2)
	require.Equal(k.t, second.ID, list[0].ID)
	require.Equal(k.t, second.Scopes, list[0].Scopes)
	require.Positive(k.t, list[1].RevokedAt)
	for _, t := range list {
		require.Empty(k.t, t.Hash)
	}
}

func deploymentStays(k *kit) {
	d, err := k.Deployment(k.ctx)
	require.NoError(k.t, err)
	require.NotEmpty(k.t, d.ID)
	require.Positive(k.t, d.Incarnation)
	require.False(k.t, d.Sealed)
	k.reopen()
	again, err := k.Deployment(k.ctx)
	require.NoError(k.t, err)
	require.Equal(k.t, d, again)
}

func keysKept(k *kit) {
	add := func(id, purpose, sealed string) {
		k.t.Helper()
		require.NoError(k.t, k.AddSealedKey(k.ctx, core.SealedKey{ID: id, Purpose: purpose, Sealed: []byte(sealed)}))
	}
	add("a", "codec", "first\x00\xff")
	k.advance(1_000)
	add("b", "codec", "second")
	add("c", "pages", "third")
	add("a", "codec", "an attempt to replace it")
	k.reopen()
	list, err := k.SealedKeys(k.ctx, "codec")
	require.NoError(k.t, err)
	require.Len(k.t, list, 2)
	require.Equal(k.t, "b", list[0].ID)
	require.Equal(k.t, "a", list[1].ID)
	require.Equal(k.t, []byte("first\x00\xff"), list[1].Sealed)
	require.Greater(k.t, list[0].CreatedAt, list[1].CreatedAt)
	list, err = k.SealedKeys(k.ctx, "nothing")
	require.NoError(k.t, err)
	require.Empty(k.t, list)
}
