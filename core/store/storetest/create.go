package storetest

import (
	"encoding/json"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
)

func createSpecs() []spec {
	return []spec{
		{"C1 every field survives a reopen", createRoundTrip},
		{"C1 text of every kind survives a reopen", createText},
		{"C2 reviewers and audience keep their order", createOrder},
		{"no reviewers given is not an empty list", createReviewersAbsent},
		{"stamps come from the deployment's clock", createStamps},
		{"K15 an automatic grant is allowed at once", createAuto},
		{"R188 a request without a route is denied at once", createNoRoute},
		{"K34 a sticky decline points to its cause", createSticky},
		{"planned cards are due at once", createCards},
		{"C3 an unsound row is refused and leaves nothing", createUnsound},
		{"K29 the detail is kept to its last byte and no further", createDetail},
		{"pending limit is per runtime", createLimit},
		{"rows that time has ended do not fill the limit", createLimitDue},
		{"superseding cancels a pending row", createSupersedesPending},
		{"superseding voids an unclaimed grant", createSupersedesGrant},
		{"superseding never touches another runtime's row", createSupersedesForeign},
		{"superseding never touches another agent's row", createSupersedesOtherAgent},
	}
}

// full fills every field that a request can set.
func full(c *core.NewApproval) {
	a := &c.Approval
	a.Kind, a.Presentation.Kind = core.KindExec, core.KindExec
	a.Presentation = core.Presentation{
		Kind: core.KindExec, Title: "Builder wants to run a command", Description: "in the checkout",
		Command: "git push origin main", Folder: "/srv/checkout", Executable: "/usr/bin/git",
		Arguments: json.RawMessage(`{"argv":["git","push"]}`),
		Lines:     []core.Line{{Label: "Remote", Value: "origin"}, {Label: "Branch", Value: "ma", Cut: true}},
		Redacted:  true, Truncated: true,
	}
	a.IdempotencyKey, a.Supersedes, a.StickyOf = "key-1", "", ""
	a.Offered = []core.Decision{core.DecisionAllowOnce, core.DecisionAllowAlways, core.DecisionDeny}
	a.AlwaysOffer = &core.AlwaysOffer{Label: "Pushes to origin", Scope: "recipient", Value: "origin"}
	a.Trail = []core.TrailStep{{Step: "mode", Matched: "before-outside", Verdict: "ask"}}
	a.Continuation, a.FrameID, a.Group, a.CausedBy, a.RunID = core.ContinuationDurable, "frame-1", "group-1", "cause-1", "run-1"
	a.Audience = []string{"session-1", "session-0"}
	a.RequestedBy, a.Reviewers = "carol", []string{"bob", "alice"}
	a.ExcludeRequester, a.RequirePush = true, true
	a.DetailOmitted = 12
	c.Detail = core.Detail{Text: "git push origin main", Omitted: 12}
}

func createRoundTrip(k *kit) {
	made := k.create(full)
	require.NoError(k.t, made.Check())
	want := k.ask(full).Approval
	// The second request only serves as a pattern: its own identity differs.
	want.ID, want.Ref, want.RequestHash = made.ID, made.Ref, made.RequestHash
	want.Operation.ID, want.ArgumentsHash = made.Operation.ID, made.ArgumentsHash
	want.ActionHash, want.Fingerprint = made.ActionHash, made.Fingerprint
	want.KeyGeneration, want.CreatedAt, want.ExpiresAt = made.KeyGeneration, made.CreatedAt, made.ExpiresAt
	want.UpdatedAt, want.Revision, want.CardRevision = made.UpdatedAt, made.Revision, made.CardRevision
	k.same(want, made)

	k.reopen()
	k.same(made, k.read(made.ID))
	detail, err := k.Detail(k.ctx, made.ID)
	require.NoError(k.t, err)
	require.Equal(k.t, core.Detail{Text: "git push origin main", Omitted: 12}, detail)
}

func createText(k *kit) {
	texts := map[string]string{
		"astral to the limit": strings.Repeat("\U0001F9EA", 80),
		"quotes":              `it's "quoted" \ and % and _ and ; -- and ${x}`,
		"lines":               "one\ntwo\r\n\tthree",
		"markup":              "<b>&amp;</b> \u2028 \u2029",
		"directions":          "abc \u05d0\u05d1 \u202eabc\u202c",
		"invisible":           "\ufeff\u200b\u00a0 x \u00a0",
		"combining":           "e\u0301 \u00e9",
	}
	made := make(map[string]core.Approval, len(texts))
	for name, text := range texts {
		made[name] = k.create(func(c *core.NewApproval) {
			c.Approval.Presentation.Title = text
			c.Approval.Presentation.Description = text
			c.Approval.Agent, c.Approval.Operation.Tool, c.Approval.Risk = text, text, text
			c.Detail.Text = strings.Repeat(text, 64)
		})
	}
	k.reopen()
	for name, text := range texts {
		got := k.read(made[name].ID)
		k.same(made[name], got)
		require.Equal(k.t, text, got.Presentation.Title, name)
		require.Equal(k.t, text, got.Agent, name)
		detail, err := k.Detail(k.ctx, got.ID)
		require.NoError(k.t, err)
		require.Equal(k.t, strings.Repeat(text, 64), detail.Text, name)
	}
}

func createOrder(k *kit) {
	audience, reviewers := []string{"z", "a", "m"}, []string{"zoe", "amy", "max"}
	made := k.create(func(c *core.NewApproval) {
		c.Approval.Audience, c.Approval.Reviewers = audience, reviewers
	})
	k.reopen()
	got := k.read(made.ID)
	require.Equal(k.t, audience, got.Audience)
	require.Equal(k.t, reviewers, got.Reviewers)
}

// An absent list means the owners; an empty one means nobody but admins (C58).
func createReviewersAbsent(k *kit) {
	absent, empty := k.create(), k.create(withReviewers())
	k.reopen()
	require.Nil(k.t, k.read(absent.ID).Reviewers)
	got := k.read(empty.ID).Reviewers
	require.NotNil(k.t, got)
	require.Empty(k.t, got)
}

func createStamps(k *kit) {
	before := k.now()
	made := k.create(expiresIn(core.MinExpiry), func(c *core.NewApproval) {
		// What a caller claims about time counts for nothing.
		c.Approval.CreatedAt, c.Approval.ExpiresAt, c.Approval.UpdatedAt = 1, 2, 3
		c.Approval.Revision, c.Approval.CardRevision = 90, 80
	})
	require.Equal(k.t, before, made.CreatedAt)
	require.Equal(k.t, before+core.MinExpiry, made.ExpiresAt)
	require.Equal(k.t, made.CreatedAt, made.UpdatedAt)
	require.Equal(k.t, int64(1), made.Revision)
	require.Equal(k.t, int64(1), made.CardRevision)
	require.Equal(k.t, core.Resolution{}, made.Resolution)
	k.events(made.ID, core.EventRequested)
}

func createAuto(k *kit) {
	live := k.create(automatic)
	durable := k.create(automatic, withContinuation(core.ContinuationDurable))
	for _, made := range []core.Approval{live, durable} {
		require.NoError(k.t, made.Check())
		require.Equal(k.t, core.StatusAllowed, made.Status)
		require.Equal(k.t, core.ExecutionUnclaimed, made.Execution)
		require.Equal(k.t, made.CreatedAt, made.ResolvedAt)
		require.Equal(k.t, made.CreatedAt+made.Continuation.ClaimWindow(), made.ClaimBy)
		k.events(made.ID, core.EventAutoGranted)
	}
	k.reopen()
	k.same(live, k.read(live.ID))
}

func createNoRoute(k *kit) {
	made := k.create(unroutable)
	require.NoError(k.t, made.Check())
	require.Equal(k.t, core.StatusDenied, made.Status)
	require.Equal(k.t, core.ReasonNoRoute, made.Reason)
	require.Equal(k.t, made.CreatedAt, made.ResolvedAt)
	k.events(made.ID, core.EventRejected)
	k.same(made, k.read(made.ID))
}

func createSticky(k *kit) {
	first := k.create()
	k.deny(first.ID)
	made := k.create(unroutable, func(c *core.NewApproval) {
		c.Approval.Reason, c.Approval.StickyOf = core.ReasonStickyDecline, first.ID
	})
	require.Equal(k.t, core.ReasonStickyDecline, made.Reason)
	k.reopen()
	require.Equal(k.t, first.ID, k.read(made.ID).StickyOf)
}

func createCards(k *kit) {
	made := k.create(withCards("chat-1", "chat-2"), expiresIn(5*60*1_000))
	rows, err := k.DeliveriesOf(k.ctx, made.ID)
	require.NoError(k.t, err)
	require.Len(k.t, rows, 2)
	require.Less(k.t, rows[0].ID, rows[1].ID)
	for _, d := range rows {
		require.Equal(k.t, made.ID, d.ApprovalID)
		require.Equal(k.t, core.DeliveryPlanned, d.State)
		require.Equal(k.t, core.OutcomeNone, d.Outcome)
		require.Equal(k.t, core.StepCard, d.Step)
		require.True(k.t, d.DueAt.Reached(k.now()))
		require.Equal(k.t, made.ExpiresAt, d.GiveUpAt, "the expiry comes before ten minutes")
		require.True(k.t, d.NeedsWork(&made))
	}
	patient := k.create(withCards("chat-3"))
	rows, err = k.DeliveriesOf(k.ctx, patient.ID)
	require.NoError(k.t, err)
	require.Equal(k.t, patient.CreatedAt+core.GiveUpAfter, rows[0].GiveUpAt)
}

func createUnsound(k *kit) {
	cases := map[string]edit{
		"foreign presentation":   func(c *core.NewApproval) { c.Approval.Presentation.Kind = core.KindExec },
		"oversized presentation": func(c *core.NewApproval) { c.Approval.Presentation.Description = strings.Repeat("x", 5_000) },
		"forged fingerprint":     func(c *core.NewApproval) { c.Approval.Fingerprint = "aaaaaaaa" },
		"allowed without a word": func(c *core.NewApproval) {
			c.Approval.Status, c.Approval.Execution = core.StatusAllowed, core.ExecutionUnclaimed
		},
		"always without an offer": func(c *core.NewApproval) { c.Approval.Offered = []core.Decision{core.DecisionAllowAlways} },
		"policy without auto":     func(c *core.NewApproval) { c.Approval.PolicyID = "mode.v1" },
	}
	for name, bad := range cases {
		c := k.ask(withKey("key "+name, name), bad, withCards("chat-1"))
		_, err := k.Create(k.ctx, c)
		require.Error(k.t, err, name)
		k.gone(c.Approval.ID)
		rows, err := k.DeliveriesOf(k.ctx, c.Approval.ID)
		require.NoError(k.t, err)
		require.Empty(k.t, rows, name)
		require.Empty(k.t, k.h.Events(k.tb, c.Approval.ID), name)
		k.create(withKey("key "+name, name))
	}
}

func createDetail(k *kit) {
	whole := strings.Repeat("\U0001F9EA", core.MaxDetail/4)
	made := k.create(func(c *core.NewApproval) { c.Detail = core.Detail{Text: whole, Omitted: 1 << 20} })
	require.Equal(k.t, int64(core.MaxDetail), made.DetailBytes)
	require.Equal(k.t, int64(1<<20), made.DetailOmitted)
	got, err := k.Detail(k.ctx, made.ID)
	require.NoError(k.t, err)
	require.Equal(k.t, core.Detail{Text: whole, Omitted: 1 << 20}, got)

	over := k.ask(func(c *core.NewApproval) { c.Detail.Text = whole + "x" })
	_, err = k.Create(k.ctx, over)
	require.Error(k.t, err)
	k.gone(over.Approval.ID)

	bare := k.create(func(c *core.NewApproval) { c.Detail = core.Detail{} })
	got, err = k.Detail(k.ctx, bare.ID)
	require.NoError(k.t, err)
	require.Equal(k.t, core.Detail{}, got)
}

func createLimitDue(k *kit) {
	k.create(expiresIn(1_000))
	one := func(c *core.NewApproval) { c.MaxPending = 1 }
	_, err := k.Create(k.ctx, k.ask(one))
	require.ErrorIs(k.t, err, core.ErrPendingLimit)
	k.create(one, automatic)
	k.advance(1_000)
	k.create(one)
}

func createLimit(k *kit) {
	limited := func(c *core.NewApproval) { c.MaxPending = 2 }
	first := k.create(limited)
	again := k.ask(limited, withKey("kept", "same"))
	kept, err := k.Create(k.ctx, again)
	require.NoError(k.t, err)

	_, err = k.Create(k.ctx, k.ask(limited))
	require.ErrorIs(k.t, err, core.ErrPendingLimit)
	found, err := k.Create(k.ctx, k.ask(limited, withKey("kept", "same")))
	require.NoError(k.t, err, "a retry finds its row at the limit too")
	require.True(k.t, found.Existing)
	require.Equal(k.t, kept.Approval.ID, found.Approval.ID)
	k.create(limited, withRuntime(otherRuntime))
	k.create()

	k.deny(first.ID)
	_, err = k.Create(k.ctx, k.ask(func(c *core.NewApproval) { c.MaxPending = 3 }))
	require.NoError(k.t, err, "an answered row makes room")
}

func supersedes(id string) edit { return func(c *core.NewApproval) { c.Approval.Supersedes = id } }

func createSupersedesPending(k *kit) {
	first := k.create(withCards("chat-1"))
	k.advance(1_000)
	made, err := k.Create(k.ctx, k.ask(supersedes(first.ID)))
	require.NoError(k.t, err)
	require.Equal(k.t, first.ID, made.Approval.Supersedes)
	require.True(k.t, ids(made.Hints)[first.ID])

	got := k.read(first.ID)
	require.Equal(k.t, core.StatusCancelled, got.Status)
	require.Equal(k.t, core.ReasonSuperseded, got.Reason)
	require.Greater(k.t, got.CardRevision, first.CardRevision)
	k.events(first.ID, core.EventRequested, core.EventCancelled)
	require.True(k.t, k.delivery(first.ID, 0).DueAt.Reached(k.now()))
}

func createSupersedesGrant(k *kit) {
	first := k.create()
	k.allow(first.ID)
	_, err := k.Create(k.ctx, k.ask(supersedes(first.ID)))
	require.NoError(k.t, err)
	got := k.read(first.ID)
	require.Equal(k.t, core.StatusAllowed, got.Status)
	require.Equal(k.t, core.ExecutionVoided, got.Execution)
	require.Equal(k.t, core.VoidSuperseded, got.VoidReason)
	_, err = k.Claim(k.ctx, claimOf(got, "token"))
	require.ErrorIs(k.t, err, core.ErrNotClaimable)
}

func createSupersedesForeign(k *kit) {
	foreign := k.create(withRuntime(otherRuntime))
	// Refused or ignored: either way the other runtime's row stays as it was.
	made, err := k.Create(k.ctx, k.ask(supersedes(foreign.ID)))
	if err == nil {
		require.False(k.t, ids(made.Hints)[foreign.ID])
	}
	k.same(foreign, k.read(foreign.ID))
}

func createSupersedesOtherAgent(k *kit) {
	of := func(agent string) edit { return func(c *core.NewApproval) { c.Approval.Agent = agent } }
	for _, agent := range []string{"agent-2", ""} {
		pending, allowed := k.create(of(agent)), k.allow(k.create(of(agent)).ID)
		for _, old := range []core.Approval{pending, allowed} {
			made, err := k.Create(k.ctx, k.ask(supersedes(old.ID)))
			require.NoError(k.t, err)
			require.Empty(k.t, made.Hints)
			k.same(old, k.read(old.ID))
		}
	}
}
