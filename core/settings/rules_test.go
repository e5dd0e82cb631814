package settings_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/settings"
)

func money(tool string) settings.MoneySwitch {
	return settings.MoneySwitch{Runtime: "agents", Agent: "books", Tool: tool}
}

// R73, R74, R76: a switch for money is made in the list, for a whole tool; the list says
// what it covers, who made it and when, and the history keeps it.
func TestASwitchForMoneyIsMadeInTheList(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	made, err := k.service.SwitchMoney(t.Context(), k.owner, money("pay_invoice"))
	require.NoError(t, err)
	require.True(t, made.Live)
	require.Equal(t, "every use of pay_invoice, money and deletes included", made.Label)
	require.Equal(t, core.ClassMoney, made.Class)
	require.Equal(t, core.RuleForTool, made.Scope)
	require.Equal(t, "Name of olga", made.CreatedName)
	require.Empty(t, made.CreatedBy, "R156")
	require.NotZero(t, made.CreatedAt)
	require.NotEmpty(t, k.hints.take())

	list, err := k.service.Rules(t.Context(), k.owner, core.RuleQuery{})
	require.NoError(t, err)
	require.Equal(t, []settings.RuleView{made}, list)
	history, err := k.service.History(t.Context(), k.owner, "agents", "books", 0)
	require.NoError(t, err)
	require.Len(t, history, 1)
	require.Equal(t, core.ChangeRuleMade, history[0].Kind)
	require.Equal(t, made.ID, history[0].RuleID)
	require.Empty(t, history[0].By, "R156")
	forAdmins, err := k.service.History(t.Context(), k.admin, "agents", "books", 1)
	require.NoError(t, err)
	require.Equal(t, "olga", forAdmins[0].By)
	v, err := k.service.Agent(t.Context(), k.owner, "agents", "books")
	require.NoError(t, err)
	require.Equal(t, 1, v.Rules)
}

// R75: a rule is removed once and for good; whoever comes second learns who was first.
func TestARuleIsRemovedForGood(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	made, err := k.service.SwitchMoney(t.Context(), k.admin, money("pay_invoice"))
	require.NoError(t, err)
	removed, err := k.service.RemoveRule(t.Context(), terminal(k.owner), made.ID)
	require.NoError(t, err, "removing makes stricter: a terminal may")
	require.Equal(t, settings.RuleRemoved, removed.State)
	require.False(t, removed.Live)
	k.hints.take()

	again, err := k.service.RemoveRule(t.Context(), k.admin, made.ID)
	require.NoError(t, err)
	require.Equal(t, "olga", again.RemovedBy)
	require.Empty(t, k.hints.take())
	live, _, err := k.store.LiveRules(t.Context(), "agents", "books")
	require.NoError(t, err)
	require.Empty(t, live)
	one, err := k.service.Rule(t.Context(), k.owner, made.ID)
	require.NoError(t, err)
	require.Equal(t, removed, one)
}

// R75: a rule says why it covers nothing any more.
func TestARuleSaysWhyItEnded(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	in := money("pay_invoice")
	in.Life = core.Millis(time.Hour.Milliseconds())
	made, err := k.service.SwitchMoney(t.Context(), k.owner, in)
	require.NoError(t, err)
	require.Equal(t, settings.RuleLive, made.State)
	k.advance(time.Hour)
	one, err := k.service.Rule(t.Context(), k.owner, made.ID)
	require.NoError(t, err)
	require.Equal(t, settings.RuleExpired, one.State)
}

// R70, R73: a switch that would let nothing through is not made, so that the list never
// names one.
func TestASwitchThatWouldCoverNothingIsRefused(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	deps := k.deps()
	deps.Switchable = func(runtime, tool string) bool { return runtime == "agents" && tool != "Bash" }
	service := settings.New(deps)
	_, err := service.SwitchMoney(t.Context(), k.admin, money("Bash"))
	var field *core.FieldError
	require.ErrorAs(t, err, &field)
	require.Equal(t, "tool", field.Field)
	live, _, err := k.store.LiveRules(t.Context(), "agents", "books")
	require.NoError(t, err)
	require.Empty(t, live)
	_, err = service.SwitchMoney(t.Context(), k.admin, money("pay_invoice"))
	require.NoError(t, err)
}

// R73, R155: who may not decide for an agent lets nothing run, removes nothing and sees
// nothing of it.
func TestWhoMaySwitchMoneyAndRemove(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	made, err := k.service.SwitchMoney(t.Context(), k.admin, money("pay_invoice"))
	require.NoError(t, err)
	for name, who := range k.nobodies() {
		_, err := k.service.SwitchMoney(t.Context(), who.caller, money("delete_all"))
		require.ErrorIs(t, err, who.want, name)
		_, err = k.service.RemoveRule(t.Context(), who.caller, made.ID)
		require.ErrorIs(t, err, who.want, name)
	}
	_, err = k.service.SwitchMoney(t.Context(), terminal(k.admin), money("delete_all"))
	require.ErrorIs(t, err, core.ErrForbidden)
	live, _, err := k.store.LiveRules(t.Context(), "agents", "books")
	require.NoError(t, err)
	require.Len(t, live, 1)

	hidden, err := k.service.Rules(t.Context(), k.stranger, core.RuleQuery{})
	require.NoError(t, err)
	require.Empty(t, hidden)
	agent := "books"
	_, err = k.service.Rules(t.Context(), k.stranger, core.RuleQuery{Runtime: "agents", Agent: &agent})
	require.ErrorIs(t, err, core.ErrNotFound)
	_, err = k.service.Rule(t.Context(), k.stranger, made.ID)
	require.ErrorIs(t, err, core.ErrNotFound)
	for _, c := range []core.Caller{k.machine, {Operator: true}} {
		_, err = k.service.Rules(t.Context(), c, core.RuleQuery{})
		require.ErrorIs(t, err, core.ErrForbidden)
		_, err = k.service.History(t.Context(), c, "agents", "books", 0)
		require.ErrorIs(t, err, core.ErrForbidden)
	}
	_, err = k.service.Rules(t.Context(), core.Caller{}, core.RuleQuery{})
	require.ErrorIs(t, err, core.ErrUnauthenticated)
}

// A switch whose label could mislead is not made.
func TestASwitchMustSayWhatItIs(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	for name, tool := range map[string]string{
		"none": "", "too long": strings.Repeat("x", settings.MaxTool+1), "turned round": "pay\u202einvoice",
		"hidden": "pay\u200binvoice", "lines": "pay\ninvoice", "spaces around": " pay", "no UTF-8": "pay\xff",
	} {
		_, err := k.service.SwitchMoney(t.Context(), k.admin, money(tool))
		require.ErrorIs(t, err, core.ErrInvalid, name)
	}
	for name, change := range map[string]func(*settings.MoneySwitch){
		"ended before": func(in *settings.MoneySwitch) { in.Life = -1 },
		"used before":  func(in *settings.MoneySwitch) { in.Uses = -1 },
	} {
		in := money("pay_invoice")
		change(&in)
		_, err := k.service.SwitchMoney(t.Context(), k.admin, in)
		require.ErrorIs(t, err, core.ErrInvalid, name)
	}
	longest, err := k.service.SwitchMoney(t.Context(), k.admin, money(strings.Repeat("x", settings.MaxTool)))
	require.NoError(t, err)
	require.LessOrEqual(t, len(longest.Label), core.MaxShortText)
}
