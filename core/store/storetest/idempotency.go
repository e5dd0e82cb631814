package storetest

import (
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
)

func idempotencySpecs() []spec {
	return []spec{
		{"K26 the same key and content is the same row", keySame},
		{"K26 the same key with other content is a conflict", keyConflict},
		{"a row is only found where none is to be made", onlyExisting},
		{"R10 keys belong to their runtime", keyPerRuntime},
		{"C8 the same given id and content is the same row", givenSame},
		{"C13 a given id with other content is refused", givenConflict},
		{"a given id is taken for ever", givenForEver},
		{"another runtime's id is taken and not shown", givenForeign},
		{"an expired key makes a successor", successorOfExpired},
		{"a key whose row is due makes a successor", successorOfDue},
		{"a key cancelled by a restart makes a successor", successorOfRestart},
		{"a denied, withdrawn or allowed key answers with its row", noSuccessor},
		{"successors chain", successorChain},
	}
}

// again makes a request that must find an existing row.
func (k *kit) again(edits ...edit) core.Approval {
	k.t.Helper()
	found, err := k.Create(k.ctx, k.ask(edits...))
	require.NoError(k.t, err)
	require.True(k.t, found.Existing)
	return found.Approval
}

func keySame(k *kit) {
	made := k.create(withKey("key", "content"), withCards("chat-1"))
	k.advance(1_000)
	c := k.ask(withKey("key", "content"), withCards("chat-2"))
	found, err := k.Create(k.ctx, c)
	require.NoError(k.t, err)
	require.True(k.t, found.Existing)
	k.same(made, found.Approval)
	k.gone(c.Approval.ID)
	rows, err := k.DeliveriesOf(k.ctx, made.ID)
	require.NoError(k.t, err)
	require.Len(k.t, rows, 1, "a retry plans no further cards")
	k.events(made.ID, core.EventRequested)
	k.reopen()
	k.same(made, k.again(withKey("key", "content")))
}

func keyConflict(k *kit) {
	made := k.create(withKey("key", "content"))
	c := k.ask(withKey("key", "other content"))
	_, err := k.Create(k.ctx, c)
	require.ErrorIs(k.t, err, core.ErrIdempotencyConflict)
	k.gone(c.Approval.ID)
	k.same(made, k.read(made.ID))
	k.deny(made.ID)
	_, err = k.Create(k.ctx, k.ask(withKey("key", "other content")))
	require.ErrorIs(k.t, err, core.ErrIdempotencyConflict)
}

func onlyExisting(k *kit) {
	only := func(c *core.NewApproval) { c.OnlyExisting = true }
	_, err := k.Create(k.ctx, k.ask(withKey("key", "content"), only))
	require.ErrorIs(k.t, err, core.ErrNotFound)
	_, err = k.Create(k.ctx, k.ask(only))
	require.ErrorIs(k.t, err, core.ErrNotFound)
	made := k.create(withKey("key", "content"))
	k.same(made, k.again(withKey("key", "content"), only))
	_, err = k.Create(k.ctx, k.ask(withKey("key", "other content"), only))
	require.ErrorIs(k.t, err, core.ErrIdempotencyConflict)
	k.advanceTo(made.ExpiresAt)
	_, err = k.Create(k.ctx, k.ask(withKey("key", "content"), only))
	require.ErrorIs(k.t, err, core.ErrNotFound, "it would be asked anew")
	page, err := k.List(k.ctx, core.ListQuery{})
	require.NoError(k.t, err)
	require.Len(k.t, page.Approvals, 1)
}

func keyPerRuntime(k *kit) {
	own := k.create(withKey("key", "content"))
	other := k.create(withKey("key", "other content"), withRuntime(otherRuntime))
	require.NotEqual(k.t, own.ID, other.ID)
	// No key is no key: any number of rows may lack one.
	k.create()
	k.create()
}

func sameContent(c *core.NewApproval) { c.Approval.RequestHash = core.HashOf([]byte("same")) }

func givenSame(k *kit) {
	id := k.given(ownRuntime, "deploy")
	made := k.create(withID(id), sameContent)
	k.same(made, k.again(withID(id), sameContent))
	denied := k.deny(id)
	k.same(denied, k.again(withID(id), sameContent))
	k.events(id, core.EventRequested, core.EventRejected)
}

func givenConflict(k *kit) {
	id := k.given(ownRuntime, "deploy")
	made := k.create(withID(id), sameContent)
	_, err := k.Create(k.ctx, k.ask(withID(id)))
	require.ErrorIs(k.t, err, core.ErrIDTaken)
	k.same(made, k.read(id))
}

func givenForeign(k *kit) {
	id := k.given(otherRuntime, "deploy")
	foreign := k.create(withRuntime(otherRuntime), withID(id), sameContent)
	for _, content := range []edit{sameContent, func(*core.NewApproval) {}} {
		made, err := k.Create(k.ctx, k.ask(withID(id), content))
		require.ErrorIs(k.t, err, core.ErrIDTaken)
		require.Empty(k.t, made.Approval.ID, "one runtime never sees another's row")
	}
	k.same(foreign, k.read(id))
}

// An id that a link once led to never names something else.
func givenForEver(k *kit) {
	id := k.given(ownRuntime, "deploy")
	k.create(withID(id), sameContent)
	k.deny(id)
	k.h.Advance(core.Retention*time.Millisecond + time.Second)
	pruned, err := k.Prune(k.ctx, 10)
	require.NoError(k.t, err)
	require.Equal(k.t, 1, pruned)
	k.gone(id)
	for _, content := range []edit{sameContent, func(*core.NewApproval) {}} {
		_, err = k.Create(k.ctx, k.ask(withID(id), content))
		require.ErrorIs(k.t, err, core.ErrIDTaken)
	}
}

// succeeded requires the second row to be the successor of the first.
func (k *kit) succeeded(first, second core.Approval) {
	k.t.Helper()
	require.NotEqual(k.t, first.ID, second.ID)
	require.Equal(k.t, first.KeyGeneration+1, second.KeyGeneration)
	require.Equal(k.t, first.ID, second.Supersedes)
	require.Equal(k.t, core.StatusPending, second.Status)
	k.same(second, k.again(withKey(second.IdempotencyKey, "content")))
}

func successorOfExpired(k *kit) {
	first := k.create(withKey("key", "content"))
	k.advanceTo(first.ExpiresAt)
	require.Equal(k.t, core.StatusExpired, k.read(first.ID).Status)
	expired := k.read(first.ID)
	k.succeeded(first, k.create(withKey("key", "content")))
	k.same(expired, k.read(first.ID))
}

func successorOfDue(k *kit) {
	first := k.create(withKey("key", "content"))
	k.advanceTo(first.ExpiresAt)
	k.succeeded(first, k.create(withKey("key", "content")))
	got := k.read(first.ID)
	require.Equal(k.t, core.StatusExpired, got.Status, "the deadline outranks being superseded")
	k.events(first.ID, core.EventRequested, core.EventExpired)
}

func successorOfRestart(k *kit) {
	one := k.register("instance", "boot-1")
	first := k.create(withKey("key", "content"), withInstance("instance", one.Epoch))
	two := k.register("instance", "boot-2")
	require.Equal(k.t, core.ReasonRuntimeRestart, k.read(first.ID).Reason)
	k.succeeded(first, k.create(withKey("key", "content"), withInstance("instance", two.Epoch)))
}

func noSuccessor(k *kit) {
	ends := map[string]func(id string) core.Approval{
		"denied":  k.deny,
		"allowed": k.allow,
		"withdrawn": func(id string) core.Approval {
			got, err := k.Decide(k.ctx, k.withdrawal(id))
			require.NoError(k.t, err)
			return got.Approval
		},
	}
	for name, end := range ends {
		made := k.create(withKey(name, "content"))
		ended := end(made.ID)
		k.same(ended, k.again(withKey(name, "content")))
	}
}

func successorChain(k *kit) {
	row := k.create(withKey("key", "content"))
	for range 3 {
		k.advanceTo(row.ExpiresAt)
		next := k.create(withKey("key", "content"))
		k.succeeded(row, next)
		row = next
	}
	k.reopen()
	k.same(row, k.again(withKey("key", "content")))
}
