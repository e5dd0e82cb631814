package storetest

import (
	"fmt"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
)

func codeSpecs() []spec {
	return []spec{
		{"a pairing code signs in once", codePair},
		{"a link code links once", codeLink},
		{"the bootstrap code makes the first admin once", codeBootstrap},
		{"a bootstrap code replaces the one before it", codeBootstrapReplaced},
		{"no bootstrap once an admin exists", codeBootstrapClosed},
		{"a look does not use a code", codePeek},
		{"now equal to the end of a code is too late", codeExpires},
		{"a code opens only what it is for", codePurpose},
		{"a burned code is useless", codeBurned},
		{"wrong codes are limited over the whole deployment", codeFailures},
		{"a disabled person's code signs nobody in", codeDisabled},
		{"codes survive a reopen", codeReopen},
	}
}

func (k *kit) code(secret string, purpose core.CodePurpose, principalID string) core.Code {
	k.t.Helper()
	life := core.Millis(core.CodeLife)
	c, err := k.IssueCode(k.ctx, core.Code{Hash: tokenHash(secret), Purpose: purpose, PrincipalID: principalID}, life)
	require.NoError(k.t, err)
	require.Equal(k.t, k.now()+life, c.ExpiresAt)
	return c
}

func device(n int) core.Session {
	return core.Session{
		ID: fmt.Sprintf("device-%d", n), Hash: tokenHash(fmt.Sprintf("device-%d", n)),
		Kind: core.SessionBrowser, Label: "phone",
	}
}

func codePair(k *kit) {
	k.person("bob", core.RoleReviewer)
	c := k.code("code", core.CodePair, "bob")
	who, s, err := k.RedeemPair(k.ctx, c.Hash, device(1), core.SessionLife)
	require.NoError(k.t, err)
	require.Equal(k.t, "bob", who.ID)
	require.Equal(k.t, "bob", s.PrincipalID)
	require.Equal(k.t, k.now()+core.SessionLife, s.ExpiresAt)
	_, found, err := k.SessionByHash(k.ctx, s.Hash)
	require.NoError(k.t, err)
	require.Equal(k.t, "bob", found.ID)
	_, _, err = k.RedeemPair(k.ctx, c.Hash, device(2), core.SessionLife)
	require.ErrorIs(k.t, err, core.ErrCodeInvalid)
	_, _, err = k.SessionByHash(k.ctx, device(2).Hash)
	require.ErrorIs(k.t, err, core.ErrNotFound)
}

func codeLink(k *kit) {
	k.person("bob", core.RoleReviewer)
	k.person("eve", core.RoleReviewer)
	before := k.who("bob").Revision
	c := k.code("code", core.CodeLink, "bob")
	who, err := k.RedeemLink(k.ctx, c.Hash, identity("", "42"))
	require.NoError(k.t, err)
	require.Equal(k.t, "bob", who.ID)
	require.Greater(k.t, k.who("bob").Revision, before)
	found, err := k.PrincipalByIdentity(k.ctx, "telegram", "42")
	require.NoError(k.t, err)
	require.Equal(k.t, "bob", found.ID)
	_, err = k.RedeemLink(k.ctx, c.Hash, identity("", "43"))
	require.ErrorIs(k.t, err, core.ErrCodeInvalid)

	taken := k.code("other", core.CodeLink, "eve")
	_, err = k.RedeemLink(k.ctx, taken.Hash, identity("", "42"))
	require.ErrorIs(k.t, err, core.ErrIdentityTaken)
	found, err = k.PrincipalByIdentity(k.ctx, "telegram", "42")
	require.NoError(k.t, err)
	require.Equal(k.t, "bob", found.ID)
}

func (k *kit) open() bool {
	k.t.Helper()
	open, err := k.BootstrapOpen(k.ctx)
	require.NoError(k.t, err)
	return open
}

func codeBootstrap(k *kit) {
	require.False(k.t, k.open())
	c := k.code("code", core.CodeBootstrap, "")
	require.True(k.t, k.open())
	first := core.Principal{ID: "root", Name: "Root", Role: core.RoleAdmin}
	who, s, err := k.RedeemBootstrap(k.ctx, c.Hash, first, device(1), core.SessionLife)
	require.NoError(k.t, err)
	require.Equal(k.t, core.RoleAdmin, who.Role)
	require.Equal(k.t, "root", s.PrincipalID)
	_, found, err := k.SessionByHash(k.ctx, device(1).Hash)
	require.NoError(k.t, err)
	require.Equal(k.t, "root", found.ID)
	require.False(k.t, k.open())
	first.ID = "usurper"
	_, _, err = k.RedeemBootstrap(k.ctx, c.Hash, first, device(2), core.SessionLife)
	require.ErrorIs(k.t, err, core.ErrCodeInvalid)
	_, err = k.Principal(k.ctx, "usurper")
	require.ErrorIs(k.t, err, core.ErrNotFound)
}

func codeBootstrapReplaced(k *kit) {
	old := k.code("old", core.CodeBootstrap, "")
	fresh := k.code("new", core.CodeBootstrap, "")
	first := core.Principal{ID: "root", Name: "Root", Role: core.RoleAdmin}
	_, _, err := k.RedeemBootstrap(k.ctx, old.Hash, first, device(1), core.SessionLife)
	require.ErrorIs(k.t, err, core.ErrCodeInvalid)
	require.True(k.t, k.open())
	_, _, err = k.RedeemBootstrap(k.ctx, fresh.Hash, first, device(1), core.SessionLife)
	require.NoError(k.t, err)
}

func codeBootstrapClosed(k *kit) {
	// A code from before the first admin opens nothing after them.
	early := k.code("early", core.CodeBootstrap, "")
	k.person("root", core.RoleAdmin)
	_, err := k.IssueCode(k.ctx, core.Code{Hash: tokenHash("x"), Purpose: core.CodeBootstrap}, core.BootstrapLife)
	require.ErrorIs(k.t, err, core.ErrForbidden)
	_, _, err = k.RedeemBootstrap(k.ctx, early.Hash,
		core.Principal{ID: "usurper", Name: "U", Role: core.RoleAdmin}, device(1), core.SessionLife)
	require.Error(k.t, err)
	_, err = k.Principal(k.ctx, "usurper")
	require.ErrorIs(k.t, err, core.ErrNotFound)
}

func codePeek(k *kit) {
	k.person("bob", core.RoleReviewer)
	c := k.code("code", core.CodeLink, "bob")
	for range 3 {
		got, err := k.PeekCode(k.ctx, c.Hash, core.CodeLink)
		require.NoError(k.t, err)
		require.Equal(k.t, c, got)
	}
	_, err := k.RedeemLink(k.ctx, c.Hash, identity("", "42"))
	require.NoError(k.t, err)
	_, err = k.PeekCode(k.ctx, c.Hash, core.CodeLink)
	require.ErrorIs(k.t, err, core.ErrCodeInvalid)
}

func codeExpires(k *kit) {
	k.person("bob", core.RoleReviewer)
	c := k.code("code", core.CodePair, "bob")
	k.advanceTo(c.ExpiresAt - 1)
	_, err := k.PeekCode(k.ctx, c.Hash, core.CodePair)
	require.NoError(k.t, err)
	k.advanceTo(c.ExpiresAt)
	_, err = k.PeekCode(k.ctx, c.Hash, core.CodePair)
	require.ErrorIs(k.t, err, core.ErrCodeInvalid)
	_, _, err = k.RedeemPair(k.ctx, c.Hash, device(1), core.SessionLife)
	require.ErrorIs(k.t, err, core.ErrCodeInvalid)
}

func codePurpose(k *kit) {
	k.person("bob", core.RoleReviewer)
	c := k.code("code", core.CodeLink, "bob")
	_, err := k.PeekCode(k.ctx, c.Hash, core.CodePair)
	require.ErrorIs(k.t, err, core.ErrCodeInvalid)
	_, _, err = k.RedeemPair(k.ctx, c.Hash, device(1), core.SessionLife)
	require.ErrorIs(k.t, err, core.ErrCodeInvalid)
	_, _, err = k.RedeemBootstrap(k.ctx, c.Hash,
		core.Principal{ID: "usurper", Name: "U", Role: core.RoleAdmin}, device(1), core.SessionLife)
	require.ErrorIs(k.t, err, core.ErrCodeInvalid)
	_, err = k.Principal(k.ctx, "usurper")
	require.ErrorIs(k.t, err, core.ErrNotFound)
}

func codeBurned(k *kit) {
	k.person("bob", core.RoleReviewer)
	c := k.code("code", core.CodePair, "bob")
	require.NoError(k.t, k.BurnCode(k.ctx, tokenHash("unknown")))
	require.NoError(k.t, k.BurnCode(k.ctx, c.Hash))
	_, _, err := k.RedeemPair(k.ctx, c.Hash, device(1), core.SessionLife)
	require.ErrorIs(k.t, err, core.ErrCodeInvalid)
	require.NoError(k.t, k.BurnCode(k.ctx, c.Hash))
}

func codeFailures(k *kit) {
	k.person("bob", core.RoleReviewer)
	good := k.code("good", core.CodePair, "bob")
	for i := range core.MaxCodeFailures {
		var err error
		switch wrong := tokenHash(fmt.Sprintf("wrong-%d", i)); i % 3 {
		case 0:
			_, err = k.PeekCode(k.ctx, wrong, core.CodePair)
		case 1:
			_, _, err = k.RedeemPair(k.ctx, wrong, device(1), core.SessionLife)
		default:
			_, err = k.RedeemLink(k.ctx, wrong, identity("", "42"))
		}
		require.ErrorIs(k.t, err, core.ErrCodeInvalid)
	}
	k.reopen()
	_, _, err := k.RedeemPair(k.ctx, good.Hash, device(1), core.SessionLife)
	require.ErrorIs(k.t, err, core.ErrCodeInvalid, "guessing closes the door for everybody")
	k.advance(core.CodeLife)
	fresh := k.code("fresh", core.CodePair, "bob")
	_, _, err = k.RedeemPair(k.ctx, fresh.Hash, device(1), core.SessionLife)
	require.NoError(k.t, err, "and time opens it again")
}

func codeDisabled(k *kit) {
	k.person("bob", core.RoleReviewer)
	c := k.code("code", core.CodePair, "bob")
	k.disable("bob")
	_, _, err := k.RedeemPair(k.ctx, c.Hash, device(1), core.SessionLife)
	require.Error(k.t, err)
	_, _, err = k.SessionByHash(k.ctx, device(1).Hash)
	require.ErrorIs(k.t, err, core.ErrNotFound)
}

func codeReopen(k *kit) {
	k.person("bob", core.RoleReviewer)
	c := k.code("code", core.CodePair, "bob")
	k.reopen()
	_, _, err := k.RedeemPair(k.ctx, c.Hash, device(1), core.SessionLife)
	require.NoError(k.t, err)
	k.reopen()
	_, _, err = k.RedeemPair(k.ctx, c.Hash, device(2), core.SessionLife)
	require.ErrorIs(k.t, err, core.ErrCodeInvalid)
}
