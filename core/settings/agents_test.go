package settings_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/approvals"
	"github.com/saysohq/sayso/core/policy"
	"github.com/saysohq/sayso/core/settings"
	"github.com/saysohq/sayso/core/store/sqlite"
)

func change(mode string, revision int64) settings.ModeChange {
	return settings.ModeChange{Runtime: "agents", Agent: "books", Mode: mode, Revision: revision}
}

// R51, R54, K14: a mode is set by its own name or by the control levels of other
// systems; what has no name of a mode is refused without being repeated.
func TestModesAreAcceptedByAllTheirNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]policy.Mode{
		"before-anything-outside": policy.ModeOutside, "autonomous": policy.ModeOutside, "auto": policy.ModeOutside, "monitored": policy.ModeOutside,
		"before-everything": policy.ModeEverything, "strict": policy.ModeEverything, "prompt": policy.ModeEverything,
		"manual": policy.ModeEverything, "tools": policy.ModeEverything,
		"only-money-and-deletes": policy.ModeMoney,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newKit(t)
			v, err := k.service.SetMode(t.Context(), k.owner, change(name, 0))
			require.NoError(t, err)
			require.Equal(t, want, v.InForce)
			require.False(t, v.Default)
			require.Equal(t, string(want), v.Mode)
		})
	}
	k := newKit(t)
	for _, name := range []string{"never", "BEFORE-EVERYTHING", "none", " strict", "off"} {
		_, err := k.service.SetMode(t.Context(), k.owner, change(name, 0))
		require.ErrorIs(t, err, core.ErrInvalid, name)
		require.NotContains(t, err.Error(), name)
	}
}

// R53: an agent that nobody chose a mode for has the one of the tables, whatever that
// is now; a person can give it back.
func TestAnAgentWithoutAModeHasTheDefault(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	v, err := k.service.Agent(t.Context(), k.owner, "agents", "books")
	require.NoError(t, err)
	require.True(t, v.Default)
	require.Equal(t, policy.ModeOutside, v.InForce)

	k.defaults = policy.ModeEverything
	v, err = k.service.Agent(t.Context(), k.owner, "agents", "books")
	require.NoError(t, err)
	require.Equal(t, policy.ModeEverything, v.InForce)

	v, err = k.service.SetMode(t.Context(), k.owner, change("only-money-and-deletes", v.ModeRevision))
	require.NoError(t, err)
	for _, name := range []string{settings.ModeDefault, ""} {
		v, err = k.service.SetMode(t.Context(), k.owner, change(name, v.ModeRevision))
		require.NoError(t, err)
		require.True(t, v.Default)
		require.Equal(t, policy.ModeEverything, v.InForce)
	}
}

// R52: of two people who change the mode at once one is told what it is now; choosing
// what it is already is no conflict and changes nothing.
func TestTheSecondToChangeAModeIsToldWhatItIsNow(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	first, err := k.service.SetMode(t.Context(), k.admin, change("strict", 0))
	require.NoError(t, err)
	require.Equal(t, []core.Hint{{ApprovalID: core.AgentHint("agents", "books"), Revision: first.Generation}}, k.hints.take())

	second, err := k.service.SetMode(t.Context(), k.owner, change("only-money-and-deletes", 0))
	require.ErrorIs(t, err, core.ErrConflict)
	require.Equal(t, first, second)
	same, err := k.service.SetMode(t.Context(), k.owner, change("strict", 0))
	require.NoError(t, err)
	require.Equal(t, first, same)
	require.Empty(t, k.hints.take(), "nothing changed: nobody looks again")
}

// R155: an agent of others does not exist for whoever asks; and a machine, a viewer and
// whoever lost the right meanwhile set nothing.
func TestWhoMaySetAMode(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	for name, who := range k.nobodies() {
		_, err := k.service.SetMode(t.Context(), who.caller, change("only-money-and-deletes", 0))
		require.ErrorIs(t, err, who.want, name)
	}
	v, err := k.service.Agent(t.Context(), k.admin, "agents", "books")
	require.NoError(t, err)
	require.Zero(t, v.Generation)
	_, err = k.service.SetMode(t.Context(), k.owner, settings.ModeChange{Runtime: "agents", Agent: "others", Mode: "strict"})
	require.ErrorIs(t, err, core.ErrNotFound)
	_, err = k.service.SetMode(t.Context(), k.admin, settings.ModeChange{Runtime: "No Runtime", Mode: "strict"})
	require.ErrorIs(t, err, core.ErrInvalid)
}

// An agent may be able to read the file of a terminal's session: from there things are
// made stricter, unless the operator configured otherwise.
func TestATerminalLoosensNothing(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	strict, err := k.service.SetMode(t.Context(), terminal(k.owner), change("strict", 0))
	require.NoError(t, err)
	for _, looser := range []string{"autonomous", "only-money-and-deletes", "default"} {
		_, err = k.service.SetMode(t.Context(), terminal(k.owner), change(looser, strict.ModeRevision))
		require.ErrorIs(t, err, core.ErrForbidden, looser)
	}
	d := k.deps()
	d.TerminalLoosens = true
	v, err := settings.New(d).SetMode(t.Context(), terminal(k.owner), change("autonomous", strict.ModeRevision))
	require.NoError(t, err)
	require.Equal(t, policy.ModeOutside, v.InForce)
}

// overtaken is a store in which somebody changes the mode just after it was read.
type overtaken struct {
	*sqlite.Store
	by func()
}

func (o overtaken) ReadAgent(ctx context.Context, runtime, agent string) (core.Agent, error) {
	a, err := o.Store.ReadAgent(ctx, runtime, agent)
	o.by()
	return a, err
}

// What a terminal may set is judged by the mode that it replaces: one that guesses the
// next revision does not replace what a person tightens meanwhile.
func TestATerminalLoosensNothingByGuessing(t *testing.T) {
	t.Parallel()
	for _, guess := range []int64{0, 1} {
		k := newKit(t)
		d := k.deps()
		d.Agents = overtaken{k.store, func() {
			_, err := k.store.SetMode(t.Context(), core.SetMode{Runtime: "agents", Agent: "books", Mode: core.ModeBeforeEverything, By: "ann"})
			require.NoError(t, err)
		}}
		got, err := settings.New(d).SetMode(t.Context(), terminal(k.owner), change(string(policy.ModeOutside), guess))
		require.ErrorIs(t, err, core.ErrConflict)
		require.Equal(t, "books", got.Name)
		is, err := k.service.Agent(t.Context(), k.owner, "agents", "books")
		require.NoError(t, err)
		require.Equal(t, policy.ModeEverything, is.InForce)
	}
}

// What is set for an agent is set for the one whose requests are judged: by its name as
// its requests write it and as lists show it, hidden characters and all.
func TestAnAgentIsSetByBothItsNames(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	for _, raw := range []string{"⚙\ufe0f builder", strings.Repeat("\u200b", 45) + strings.Repeat("😀", 30)} {
		asked, err := k.asks.Ask(t.Context(), k.machine, approvals.Ask{
			Kind: core.KindPlugin, Title: "Send", Agent: raw, Operation: approvals.AskOperation{Tool: "mail", Arguments: []byte(`{}`)},
		})
		require.NoError(t, err)
		shown := asked.Approval.Agent
		require.NotEqual(t, raw, shown)
		for revision, name := range []string{raw, shown} {
			v, err := k.service.Pause(t.Context(), k.admin, "agents", name, int64(2*revision))
			require.NoError(t, err)
			require.Equal(t, shown, v.Name)
			is, err := k.store.ReadAgent(t.Context(), "agents", shown)
			require.NoError(t, err)
			require.True(t, is.Paused())
			_, err = k.service.Resume(t.Context(), k.admin, "agents", name, is.PauseRevision)
			require.NoError(t, err)
		}
	}
}

// R155: everybody lists what they may see.
func TestAgentsAreThoseOfTheCaller(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	for _, agent := range []string{"books", "others"} {
		_, err := k.service.SetMode(t.Context(), k.admin, settings.ModeChange{Runtime: "agents", Agent: agent, Mode: "strict"})
		require.NoError(t, err)
	}
	_, err := k.service.SetMode(t.Context(), k.admin, settings.ModeChange{Runtime: "elsewhere", Agent: "books", Mode: "strict"})
	require.NoError(t, err)
	for name, want := range map[string]struct {
		caller core.Caller
		agents []string
	}{
		"admin":    {k.admin, []string{"agents/books", "agents/others", "elsewhere/books"}},
		"owner":    {k.owner, []string{"agents/books"}},
		"viewer":   {k.viewer, []string{"agents/books"}},
		"stranger": {k.stranger, nil},
		"machine":  {k.machine, []string{"agents/books", "agents/others"}},
	} {
		views, err := k.service.Agents(t.Context(), want.caller)
		require.NoError(t, err, name)
		var got []string
		for _, v := range views {
			got = append(got, v.Runtime+"/"+v.Name)
		}
		require.Equal(t, want.agents, got, name)
	}
	_, err = k.service.Agents(t.Context(), core.Caller{})
	require.ErrorIs(t, err, core.ErrUnauthenticated)
	_, err = k.service.Agents(t.Context(), core.Caller{Operator: true})
	require.ErrorIs(t, err, core.ErrForbidden)
	_, err = k.service.Agent(t.Context(), k.machine, "elsewhere", "books")
	require.ErrorIs(t, err, core.ErrNotFound)
	_, err = k.service.Agent(t.Context(), core.Caller{Token: &core.Token{Runtime: "agents"}}, "agents", "books")
	require.ErrorIs(t, err, core.ErrForbidden)
}
