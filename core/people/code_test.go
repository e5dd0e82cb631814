package people_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/people"
)

func TestCodesHaveTheirForms(t *testing.T) {
	t.Parallel()
	b := setup(t)
	admin := b.add(t, "ada", core.RoleAdmin)
	seen := map[string]bool{}
	for range 200 {
		for form, shape := range map[people.CodeForm]string{
			people.FormLink:  `^[A-Za-z0-9_-]{22}$`, // Fits a bot's start parameter: at most 64 of this alphabet.
			people.FormTyped: `^[0-9A-HJKMNP-TV-Z]{5}-[0-9A-HJKMNP-TV-Z]{5}$`,
		} {
			c, err := b.StartPair(t.Context(), admin, "ada", form)
			require.NoError(t, err)
			require.Regexp(t, shape, c.Code.Reveal())
			require.Equal(t, b.store.now+core.CodeLife, c.ExpiresAt)
			require.False(t, seen[c.Code.Reveal()])
			seen[c.Code.Reveal()] = true
		}
	}
}

func TestATypedCodeForgivesHowItIsTyped(t *testing.T) {
	t.Parallel()
	b := setup(t)
	admin := b.add(t, "ada", core.RoleAdmin)
	var code string
	for !strings.ContainsAny(code, "0") || !strings.ContainsAny(code, "1") { // One with what people confuse.
		c, err := b.StartPair(t.Context(), admin, "ada", people.FormTyped)
		require.NoError(t, err)
		code = c.Code.Reveal()
	}
	for name, typed := range map[string]string{
		"as shown":         code,
		"lower case":       strings.ToLower(code),
		"without the dash": strings.ReplaceAll(code, "-", ""),
		"with spaces":      "  " + strings.Join(strings.Split(code, ""), " ") + "\n",
		"a phone's dash":   strings.ReplaceAll(code, "-", "\u2013"),
		"letters O and I":  strings.NewReplacer("0", "O", "1", "I").Replace(code),
		"letters o and l":  strings.NewReplacer("0", "o", "1", "l").Replace(code),
	} {
		p, err := b.PeekPair(t.Context(), typed)
		require.NoError(t, err, name)
		require.Equal(t, "ada", p.ID)
	}
	require.Zero(t, b.store.failures)
}

func TestWhatIsNoCodeCostsNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.add(t, "ada", core.RoleAdmin)
	for name, code := range map[string]string{
		"nothing": "", "short": "ABCDE", "long": "ABCDE-ABCDE-A", "letter U": "UUUUU-UUUUU", "punctuation": "ABCDE_ABCDE",
		"bits of a link code that do not count": strings.Repeat("A", 21) + "B", "23 characters": strings.Repeat("A", 23),
		"a wall of text": strings.Repeat("A ", 1<<20), "not UTF-8": "\xff\xfe",
	} {
		_, err := b.PeekPair(t.Context(), code)
		require.Equal(t, core.ErrCodeInvalid, err, name)
		_, err = b.PeekLink(t.Context(), code)
		require.ErrorIs(t, err, core.ErrCodeInvalid, name)
		_, err = b.RedeemPair(t.Context(), code, device)
		require.ErrorIs(t, err, core.ErrCodeInvalid, name)
		_, err = b.RedeemBootstrap(t.Context(), code, "", device)
		require.ErrorIs(t, err, core.ErrCodeInvalid, name)
		require.NoError(t, b.BurnCode(t.Context(), code), name)
	}
	require.Zero(t, b.store.failures)
	_, err := b.PeekPair(t.Context(), "ABCDE-ABCDE")
	require.ErrorIs(t, err, core.ErrCodeInvalid)
	require.Equal(t, 1, b.store.failures)
}

func TestBootstrap(t *testing.T) {
	t.Parallel()
	b := setup(t)
	old, open, err := b.EnsureBootstrap(t.Context(), people.FormLink)
	require.NoError(t, err)
	require.True(t, open)
	require.Equal(t, b.store.now+core.BootstrapLife, old.ExpiresAt)
	code, _, err := b.EnsureBootstrap(t.Context(), people.FormTyped)
	require.NoError(t, err)
	_, err = b.RedeemBootstrap(t.Context(), old.Code.Reveal(), "Ada", device)
	require.ErrorIs(t, err, core.ErrCodeInvalid)

	// Of two redeemers one becomes the admin.
	ins, failures := make([]people.SignedIn, 2), make([]error, 2)
	var group sync.WaitGroup
	for i := range ins {
		group.Go(func() { ins[i], failures[i] = b.RedeemBootstrap(t.Context(), code.Code.Reveal(), "", device) })
	}
	group.Wait()
	won := 0
	if failures[0] != nil {
		won = 1
	}
	require.NoError(t, failures[won])
	require.ErrorIs(t, failures[1-won], core.ErrCodeInvalid)
	require.Equal(t, "Admin", ins[won].Person.Name)
	require.Equal(t, core.RoleAdmin, ins[won].Person.Role)
	caller, err := b.Authenticate(t.Context(), ins[won].Bearer.Reveal())
	require.NoError(t, err)
	require.True(t, caller.Admin())

	_, open, err = b.EnsureBootstrap(t.Context(), people.FormLink)
	require.NoError(t, err)
	require.False(t, open)
}

// The first code of a start may run out unused: the operator gets another, nobody
// else does, and none is given once there is an admin.
func TestRenewBootstrap(t *testing.T) {
	t.Parallel()
	b := setup(t)
	operator := core.Caller{Operator: true}
	for _, c := range []core.Caller{{}, {Token: &core.Token{Scopes: []core.Scope{core.ScopeAdmin}}}} {
		_, err := b.RenewBootstrap(t.Context(), c, people.FormLink)
		require.ErrorIs(t, err, core.ErrForbidden)
	}
	code, err := b.RenewBootstrap(t.Context(), operator, people.FormLink)
	require.NoError(t, err)
	_, err = b.RedeemBootstrap(t.Context(), code.Code.Reveal(), "Ada", device)
	require.NoError(t, err)
	_, err = b.RenewBootstrap(t.Context(), operator, people.FormLink)
	require.ErrorIs(t, err, core.ErrForbidden)
}

func TestABadNameLeavesTheBootstrapCodeGood(t *testing.T) {
	t.Parallel()
	b := setup(t)
	code, _, err := b.EnsureBootstrap(t.Context(), people.FormLink)
	require.NoError(t, err)
	_, err = b.RedeemBootstrap(t.Context(), code.Code.Reveal(), strings.Repeat("x", people.MaxName+1), device)
	require.ErrorIs(t, err, core.ErrInvalid)
	_, err = b.RedeemBootstrap(t.Context(), code.Code.Reveal(), "Ada", people.Device{})
	require.ErrorIs(t, err, core.ErrInvalid)
	_, err = b.RedeemBootstrap(t.Context(), code.Code.Reveal(), "Ada", device)
	require.NoError(t, err)
}

func TestLinkingAsksAtBothEnds(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.add(t, "ada", core.RoleAdmin)
	bob := b.add(t, "bob", core.RoleReviewer)
	code, err := b.StartLink(t.Context(), bob, "bob", people.FormLink)
	require.NoError(t, err)
	request, err := b.PeekLink(t.Context(), code.Code.Reveal())
	require.NoError(t, err)
	require.Equal(t, "bob", request.Person.ID)
	require.Empty(t, b.store.identities, "presenting the code links nothing yet")

	// The chat confirms. Whoever the identity claims to be, the person is the code's.
	i := core.Identity{Realm: "telegram", ExternalID: "77", PrincipalID: "ada", Label: "@bob", Account: "99", DirectChat: "77"}
	p, err := b.RedeemLink(t.Context(), request.CodeHash, i)
	require.NoError(t, err)
	require.Equal(t, "bob", p.ID)
	link := b.store.identities[[2]string{"telegram", "77"}]
	require.Equal(t, "bob", link.PrincipalID)
	require.Equal(t, "77", link.DirectChat)
	require.Equal(t, core.SurfaceTelegram, link.Channel)

	_, err = b.RedeemLink(t.Context(), request.CodeHash, i)
	require.ErrorIs(t, err, core.ErrCodeInvalid)
	_, err = b.PeekLink(t.Context(), code.Code.Reveal())
	require.ErrorIs(t, err, core.ErrCodeInvalid)
}

func TestALinkingCodePairsNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	admin := b.add(t, "ada", core.RoleAdmin)
	code, err := b.StartLink(t.Context(), admin, "ada", people.FormLink)
	require.NoError(t, err)
	_, err = b.RedeemPair(t.Context(), code.Code.Reveal(), device)
	require.ErrorIs(t, err, core.ErrCodeInvalid)
	_, err = b.PeekPair(t.Context(), code.Code.Reveal())
	require.ErrorIs(t, err, core.ErrCodeInvalid)
}

func TestABurnedOrOldCodeIsUseless(t *testing.T) {
	t.Parallel()
	b := setup(t)
	admin := b.add(t, "ada", core.RoleAdmin)
	b.add(t, "bob", core.RoleReviewer)
	issue := func(id string) string {
		code, err := b.StartLink(t.Context(), admin, id, people.FormTyped)
		require.NoError(t, err)
		return code.Code.Reveal()
	}
	burned, disabled, old := issue("ada"), issue("bob"), issue("ada")
	require.NoError(t, b.BurnCode(t.Context(), strings.ToLower(burned)))
	_, err := b.ChangePerson(t.Context(), admin, core.ChangePrincipal{ID: "bob", Disabled: new(true)})
	require.NoError(t, err)
	b.store.now += core.CodeLife
	for _, code := range []string{burned, disabled, old} {
		_, err := b.PeekLink(t.Context(), code)
		require.ErrorIs(t, err, core.ErrCodeInvalid)
	}
}

func TestTheLocalTokenRegistersOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	bearer := people.NewTokenSecret()
	first, err := b.EnsureLocalToken(t.Context(), bearer, 0)
	require.NoError(t, err)
	require.Equal(t, people.LocalRuntime, first.Runtime)
	require.Equal(t, []core.Scope{core.ScopeRead, core.ScopeRequest}, first.Scopes)
	again, err := b.EnsureLocalToken(t.Context(), bearer, 0)
	require.NoError(t, err)
	require.Equal(t, first, again)
	require.Len(t, b.store.tokens, 1)
	_, err = b.Authenticate(t.Context(), bearer.Reveal())
	require.NoError(t, err)

	// What a person revoked does not come back at the next start.
	require.NoError(t, b.RevokeToken(t.Context(), operator, first.ID))
	_, err = b.EnsureLocalToken(t.Context(), bearer, 0)
	require.ErrorIs(t, err, core.ErrForbidden)
	_, err = b.Authenticate(t.Context(), bearer.Reveal())
	require.ErrorIs(t, err, core.ErrUnauthenticated)
}

// A replica whose data folder is gone with it leaves a token that runs out; one that
// runs keeps its own, and one that was down for long has it back.
func TestTheLocalTokenIsRenewed(t *testing.T) {
	t.Parallel()
	const life = 30 * 24 * time.Hour
	b := setup(t)
	bearer := people.NewTokenSecret()
	first, err := b.EnsureLocalToken(t.Context(), bearer, life)
	require.NoError(t, err)
	require.Equal(t, b.store.now+core.Millis(life.Milliseconds()), first.ExpiresAt)
	for range 40 {
		b.store.now += core.Millis((24 * time.Hour).Milliseconds())
		_, err = b.EnsureLocalToken(t.Context(), bearer, life)
		require.NoError(t, err)
		_, err = b.Authenticate(t.Context(), bearer.Reveal())
		require.NoError(t, err)
	}
	b.store.now += core.Millis(life.Milliseconds())
	_, err = b.Authenticate(t.Context(), bearer.Reveal())
	require.ErrorIs(t, err, core.ErrUnauthenticated)
	_, err = b.EnsureLocalToken(t.Context(), bearer, life)
	require.NoError(t, err)
	_, err = b.Authenticate(t.Context(), bearer.Reveal())
	require.NoError(t, err)
	require.Len(t, b.store.tokens, 1)
}
