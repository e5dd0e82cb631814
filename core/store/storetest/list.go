package storetest

import (
	"fmt"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
)

func listSpecs() []spec {
	return []spec{
		{"an empty list", listEmpty},
		{"C42 newest first with ties in a fixed order", listOrder},
		{"C42 keyset pages miss and repeat nothing", listPages},
		{"every filter narrows", listFilters},
		{"R29 a list applies deadlines first", listExpires},
		{"C45 what a person may see comes before the limit", listViewerBeforeLimit},
		{"C48 C51 who sees what", listViewers},
		{"C47 an explicit list hides from owners", listReviewersHideFromOwners},
		{"a disabled person sees nothing", listDisabled},
		{"C44 history past retention is not told, pruned or not", listRetention},
		{"R67 a list can be of what was asked lately", listWithin},
		{"a list keeps to its closed sets", listInvalid},
		{"the revisions of many are one look", revisions},
	}
}

func (k *kit) list(q core.ListQuery) core.ListPage {
	k.t.Helper()
	page, err := k.List(k.ctx, q)
	require.NoError(k.t, err)
	require.Zero(k.t, page.Corrupt)
	require.Equal(k.t, k.now(), page.Now)
	return page
}

func idsOf(page core.ListPage) []string {
	out := make([]string, 0, len(page.Approvals))
	for _, a := range page.Approvals {
		out = append(out, a.ID)
	}
	return out
}

func listEmpty(k *kit) {
	page := k.list(core.ListQuery{})
	require.Empty(k.t, page.Approvals)
	require.False(k.t, page.More)
}

func listOrder(k *kit) {
	one, two := k.create(), k.create()
	k.advance(1)
	three := k.create()
	want := []string{three.ID, two.ID, one.ID}
	page := k.list(core.ListQuery{})
	require.Equal(k.t, want, idsOf(page))
	k.same(three, page.Approvals[0])
	k.deny(one.ID)
	require.Equal(k.t, want, idsOf(k.list(core.ListQuery{})), "an answer moves nothing")
}

func listPages(k *kit) {
	var want []string
	for i := range 12 {
		if i%4 == 0 {
			k.advance(1)
		}
		want = append([]string{k.create().ID}, want...)
	}
	for _, size := range []int{1, 3, 5, 11, 12} {
		var got []string
		q := core.ListQuery{Limit: size}
		for {
			page := k.list(q)
			require.LessOrEqual(k.t, len(page.Approvals), size)
			got = append(got, idsOf(page)...)
			if !page.More {
				break
			}
			last := page.Approvals[len(page.Approvals)-1]
			q.Before = &core.ListCursor{CreatedAt: last.CreatedAt, ID: last.ID}
		}
		require.Equal(k.t, want, got, "pages of %d", size)
	}
	past := k.list(core.ListQuery{Before: &core.ListCursor{CreatedAt: 1, ID: "x"}})
	require.Empty(k.t, past.Approvals)
}

func listFilters(k *kit) {
	plain := k.create()
	agent := k.create(func(c *core.NewApproval) { c.Approval.Agent = "agent-2" })
	unnamed := k.create(func(c *core.NewApproval) { c.Approval.Agent = "" })
	session := k.create(func(c *core.NewApproval) { c.Approval.SessionKey = "session-2" })
	run := k.create(withRun("run-2"))
	other := k.create(withRuntime(otherRuntime), withRun("run-2"))
	auto := k.create(automatic)
	denied := k.deny(k.create().ID)
	by := k.answer(k.create(withRun("run-3")).ID, core.DecisionDeny)
	by.To.DecisionKey = "chat:1"
	keyed, err := k.Decide(k.ctx, by)
	require.NoError(k.t, err)
	cases := []struct {
		name string
		q    core.ListQuery
		want []string
	}{
		{"runtime", core.ListQuery{Runtime: otherRuntime}, []string{other.ID}},
		{"agent", core.ListQuery{Agent: "agent-2"}, []string{agent.ID}},
		{"no agent's", core.ListQuery{Unnamed: true}, []string{unnamed.ID}},
		{"one agent's and no agent's", core.ListQuery{Agent: "agent-2", Unnamed: true}, []string{}},
		{"session", core.ListQuery{Session: "session-2"}, []string{session.ID}},
		{"run of all runtimes", core.ListQuery{Run: "run-2"}, []string{other.ID, run.ID}},
		{"run of one runtime", core.ListQuery{Runtime: ownRuntime, Run: "run-2"}, []string{run.ID}},
		{"status", core.ListQuery{Status: core.StatusDenied}, []string{keyed.Approval.ID, denied.ID}},
		{"what ran without asking", core.ListQuery{Origin: core.OriginAuto}, []string{auto.ID}},
		{"what asked", core.ListQuery{Origin: core.OriginAsk, Status: core.StatusDenied}, []string{keyed.Approval.ID, denied.ID}},
		{"decision key", core.ListQuery{DecisionKey: "chat:1"}, []string{keyed.Approval.ID}},
		{"decision key of another run", core.ListQuery{Run: "run-2", DecisionKey: "chat:1"}, []string{}},
		{"pending of one agent", core.ListQuery{
			Runtime: ownRuntime, Status: core.StatusPending, Agent: "agent-1", Session: "session-1",
		}, []string{run.ID, plain.ID}},
		{"nothing", core.ListQuery{Agent: "agent-2", Run: "run-2"}, []string{}},
		{"no wildcard", core.ListQuery{Agent: "agent-%"}, []string{}},
	}
	for _, c := range cases {
		require.Equal(k.t, c.want, idsOf(k.list(c.q)), c.name)
	}
}

func listExpires(k *kit) {
	made := k.create(expiresIn(1_000))
	k.create()
	k.advance(1_000)
	require.Len(k.t, k.list(core.ListQuery{Status: core.StatusPending}).Approvals, 1)
	k.events(made.ID, core.EventRequested, core.EventExpired)
	expired := k.list(core.ListQuery{Status: core.StatusExpired})
	require.Equal(k.t, []string{made.ID}, idsOf(expired))
}

// foreignRows is the number of rows that stand before the one to be found.
const foreignRows = 256

func listViewerBeforeLimit(k *kit) {
	bob := k.person("bob", core.RoleReviewer)
	target := k.create(withReviewers("bob"))
	for i := range foreignRows {
		k.create(withReviewers(fmt.Sprintf("person-%d", i)))
	}
	page := k.list(core.ListQuery{Limit: 10, Viewer: &bob})
	require.Equal(k.t, []string{target.ID}, idsOf(page))
	require.False(k.t, page.More)
	older := k.create(withReviewers("bob"))
	page = k.list(core.ListQuery{Limit: 1, Viewer: &bob})
	require.Equal(k.t, []string{older.ID}, idsOf(page))
	require.True(k.t, page.More)
	page = k.list(core.ListQuery{
		Limit: 1, Viewer: &bob, Before: &core.ListCursor{CreatedAt: older.CreatedAt, ID: older.ID},
	})
	require.Equal(k.t, []string{target.ID}, idsOf(page))
	require.False(k.t, page.More)
}

func listViewers(k *kit) {
	admin, bob := k.person("root", core.RoleAdmin), k.person("bob", core.RoleReviewer)
	stranger, viewer := k.person("eve", core.RoleReviewer), k.person("vic", core.RoleViewer)
	require.NoError(k.t, k.SetOwners(k.ctx, ownRuntime, "agent-1", []string{"bob"}))
	owned, listed := k.create(), k.create(withReviewers("bob"))
	adminsOnly := k.create(withReviewers())
	foreignAgent := k.create(withRuntime(otherRuntime))
	all := []string{foreignAgent.ID, adminsOnly.ID, listed.ID, owned.ID}
	require.Equal(k.t, all, idsOf(k.list(core.ListQuery{Viewer: &admin})))
	require.Equal(k.t, []string{listed.ID, owned.ID}, idsOf(k.list(core.ListQuery{Viewer: &bob})))
	require.Empty(k.t, k.list(core.ListQuery{Viewer: &stranger}).Approvals)
	require.Empty(k.t, k.list(core.ListQuery{Viewer: &stranger, Status: core.StatusPending}).Approvals)
	assigned := k.create(withReviewers("vic"))
	require.Equal(k.t, []string{assigned.ID}, idsOf(k.list(core.ListQuery{Viewer: &viewer})), "a viewer reads what was assigned")
	k.deny(owned.ID)
	require.Len(k.t, k.list(core.ListQuery{Viewer: &bob}).Approvals, 2, "history has the same readers")
	require.Empty(k.t, k.list(core.ListQuery{Viewer: &stranger}).Approvals)
}

func listReviewersHideFromOwners(k *kit) {
	owner := k.person("bob", core.RoleReviewer)
	k.person("alice", core.RoleReviewer)
	require.NoError(k.t, k.SetOwners(k.ctx, ownRuntime, "agent-1", []string{"bob"}))
	k.create(withReviewers("alice"), func(c *core.NewApproval) { c.Approval.RequestedBy = "bob" })
	require.Empty(k.t, k.list(core.ListQuery{Viewer: &owner}).Approvals)
}

func listDisabled(k *kit) {
	k.person("root", core.RoleAdmin)
	k.person("bob", core.RoleReviewer)
	k.create(withReviewers("bob"))
	bob := k.disable("bob")
	require.Empty(k.t, k.list(core.ListQuery{Viewer: &bob}).Approvals)
}

func listRetention(k *kit) {
	k.deny(k.create().ID)
	k.h.Advance(core.Retention*time.Millisecond - time.Second)
	require.Len(k.t, k.list(core.ListQuery{}).Approvals, 1)
	k.h.Advance(2 * time.Second)
	recent := k.create()
	require.Equal(k.t, []string{recent.ID}, idsOf(k.list(core.ListQuery{})))
	require.Empty(k.t, k.list(core.ListQuery{Status: core.StatusDenied}).Approvals)
}

func listWithin(k *kit) {
	early := k.create()
	k.h.Advance(time.Minute)
	late := k.create()
	require.Equal(k.t, []string{late.ID}, idsOf(k.list(core.ListQuery{Within: core.Millis(time.Minute.Milliseconds())})))
	require.Equal(k.t, []string{late.ID, early.ID}, idsOf(k.list(core.ListQuery{Within: core.Millis(time.Minute.Milliseconds()) + 1})))
	require.Empty(k.t, k.list(core.ListQuery{Origin: core.OriginAuto, Within: 1}).Approvals)
}

func listInvalid(k *kit) {
	for _, q := range []core.ListQuery{{Limit: -1}, {Limit: core.MaxPage + 1}, {Status: "waiting"}, {Origin: "nobody"}, {Within: -1}} {
		_, err := k.List(k.ctx, q)
		require.ErrorIs(k.t, err, core.ErrInvalid)
	}
}

// revisions tells what changed, without a row for what does not exist, and no more
// ids than a look may have.
func revisions(k *kit) {
	one, two := k.create(), k.create()
	k.create()
	for _, nobody := range [][]string{nil, {}} {
		none, err := k.Revisions(k.ctx, nobody)
		require.NoError(k.t, err)
		require.Empty(k.t, none)
	}
	k.deny(two.ID)
	want := map[string]int64{one.ID: one.Revision, two.ID: two.Revision + 1}
	got, err := k.Revisions(k.ctx, []string{two.ID, "nobody-made-this-one", one.ID})
	require.NoError(k.t, err)
	require.Equal(k.t, want, got)
	many := make([]string, core.MaxRevisions+1)
	for i := range many {
		many[i] = one.ID
	}
	got, err = k.Revisions(k.ctx, many[1:])
	require.NoError(k.t, err)
	require.Equal(k.t, map[string]int64{one.ID: one.Revision}, got)
	_, err = k.Revisions(k.ctx, many)
	require.ErrorIs(k.t, err, core.ErrInvalid)
}
