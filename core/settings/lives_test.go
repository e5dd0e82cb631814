package settings_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/approvals"
	"github.com/saysohq/sayso/core/policy"
	"github.com/saysohq/sayso/core/settings"
)

// R139, K18: while an agent is paused questions are asked and answered; what was allowed
// starts only once it is resumed.
func TestAPausedAgentClaimsNothing(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	a := k.ask()
	v, err := k.service.Pause(t.Context(), terminal(k.owner), "agents", "books", 0)
	require.NoError(t, err, "pausing makes stricter: a terminal may")
	require.True(t, v.Paused())
	require.Equal(t, "Name of olga", v.PausedName)
	require.Empty(t, v.PausedBy, "R156")
	require.NotEmpty(t, k.hints.take())

	done, err := k.asks.Resolve(t.Context(), approvals.Resolve{
		Caller: k.admin, Lookup: core.Lookup{ID: a.ID}, Kind: a.Kind, Decision: core.DecisionAllowOnce,
		Shown: approvals.Shown{Complete: true, ActionHash: a.ActionHash},
	})
	require.NoError(t, err)
	claim := approvals.Claim{Lookup: core.Lookup{ID: a.ID}, ActionHash: a.ActionHash, Token: "0123456789abcdef"}
	got, err := k.asks.Claim(t.Context(), k.machine, claim)
	require.ErrorIs(t, err, core.ErrPaused)
	require.Equal(t, "agent_paused", core.CodeOf(err))
	require.Equal(t, done.Approval, got, "the decision is kept")

	_, err = k.service.Resume(t.Context(), k.owner, "agents", "books", v.PauseRevision)
	require.NoError(t, err)
	_, err = k.asks.Claim(t.Context(), k.machine, claim)
	require.NoError(t, err)
}

// The second to pause or resume is told how it is; what is so already is no conflict.
func TestPausingIsCompared(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	paused, err := k.service.Pause(t.Context(), k.admin, "agents", "books", 0)
	require.NoError(t, err)
	require.Equal(t, "ann", paused.PausedBy)
	k.hints.take()
	again, err := k.service.Pause(t.Context(), k.admin, "agents", "books", 0)
	require.NoError(t, err)
	require.Equal(t, paused, again)
	require.Empty(t, k.hints.take())
	stale, err := k.service.Resume(t.Context(), k.admin, "agents", "books", 0)
	require.ErrorIs(t, err, core.ErrConflict)
	require.Equal(t, paused, stale)
}

// An agent that could read the file of a terminal's session must not undo a pause.
func TestWhoMayPauseResumeResetAndDelete(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	for name, do := range map[string]func(core.Caller) error{
		"pause": func(c core.Caller) error { _, err := k.service.Pause(t.Context(), c, "agents", "books", 0); return err },
		"resume": func(c core.Caller) error {
			_, err := k.service.Resume(t.Context(), c, "agents", "books", 0)
			return err
		},
		"reset":  func(c core.Caller) error { _, err := k.service.Reset(t.Context(), c, "agents", "books"); return err },
		"delete": func(c core.Caller) error { _, err := k.service.Delete(t.Context(), c, "agents", "books"); return err },
	} {
		for who, n := range k.nobodies() {
			if name == "delete" && who == "owner of an older right" {
				n.want = core.ErrForbidden // No owner may, whatever their right.
			}
			require.ErrorIs(t, do(n.caller), n.want, "%s: %s", name, who)
		}
	}
	v, err := k.service.Agent(t.Context(), k.admin, "agents", "books")
	require.NoError(t, err)
	require.Zero(t, v.Generation)
	_, err = k.service.Resume(t.Context(), terminal(k.admin), "agents", "books", 0)
	require.ErrorIs(t, err, core.ErrForbidden)
	_, err = k.service.Delete(t.Context(), terminal(k.admin), "agents", "books")
	require.ErrorIs(t, err, core.ErrForbidden)
	_, err = k.service.Delete(t.Context(), k.owner, "agents", "books")
	require.ErrorIs(t, err, core.ErrForbidden, "for admins")
}

// R141, R143, R75: a reset takes back what is open and keeps what was set; deleting
// takes away both.
func TestResetKeepsSettingsAndDeletingDoesNot(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	set, err := k.service.SetMode(t.Context(), k.owner, change("strict", 0))
	require.NoError(t, err)
	rule, err := k.service.SwitchMoney(t.Context(), k.owner, money("pay_invoice"))
	require.NoError(t, err)
	open := k.ask()
	k.hints.take()

	v, err := k.service.Reset(t.Context(), k.owner, "agents", "books")
	require.NoError(t, err)
	require.Equal(t, set.ModeRevision, v.ModeRevision)
	require.Equal(t, policy.ModeEverything, v.InForce)
	require.Equal(t, 1, v.Rules)
	require.NotZero(t, v.ResetAt)
	told := k.hints.take()
	require.Len(t, told, 2)
	require.Equal(t, open.ID, told[0].ApprovalID)
	ended, err := k.store.Approval(t.Context(), core.Lookup{ID: open.ID})
	require.NoError(t, err)
	require.Equal(t, core.StatusCancelled, ended.Status)
	require.Equal(t, "Name of olga", ended.ResolverName)

	v, err = k.service.Delete(t.Context(), k.admin, "agents", "books")
	require.NoError(t, err)
	require.True(t, v.Default)
	require.Zero(t, v.Rules)
	one, err := k.service.Rule(t.Context(), k.owner, rule.ID)
	require.NoError(t, err)
	require.Equal(t, settings.RuleRemoved, one.State)
	history, err := k.service.History(t.Context(), k.owner, "agents", "books", 2)
	require.NoError(t, err)
	require.Equal(t, []core.ChangeKind{core.ChangeDeleted, core.ChangeReset}, []core.ChangeKind{history[0].Kind, history[1].Kind})
}
