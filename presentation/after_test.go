package presentation_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/presentation"
)

// everyAction is one of each kind of control.
func everyAction() []core.Action {
	list := []core.Action{
		{Type: core.ActionURL, URL: "https://ok.example.com"}, {Type: core.ActionWebApp, URL: "https://ok.example.com"},
		{Type: core.ActionCommand, Command: "/deny"},
	}
	for _, d := range []core.Decision{core.DecisionAllowOnce, core.DecisionAllowAlways, core.DecisionDeny} {
		list = append(list, core.Action{Type: core.ActionApproval, Decision: d})
	}
	for _, v := range []core.CallbackValue{
		core.CallbackNote, core.CallbackShowAll, core.CallbackConfirm, core.CallbackDismiss, core.CallbackChoose,
		core.CallbackDismissOutcome, core.CallbackAskAgain, core.CallbackReopen,
	} {
		list = append(list, core.Action{Type: core.ActionCallback, Value: v})
	}
	return list
}

// R86: below an outcome stands nothing that decides, whatever a card was made of.
func TestControls_BelowAnOutcomeNothingDecides(t *testing.T) {
	t.Parallel()
	card := presentation.Card{Outcome: &presentation.Outcome{Text: "x"}, Actions: everyAction(), CutActions: everyAction()}
	for _, whole := range []bool{true, false} {
		actions, complete := card.Controls(whole)
		require.Equal(t, whole, complete)
		require.Len(t, actions, 3)
		for _, a := range actions {
			require.True(t, a.Value.AfterOutcome())
		}
	}
}

// K29: what was not shown whole is not allowed, whatever a card was made of.
func TestControls_WhatWasCutIsNotAllowed(t *testing.T) {
	t.Parallel()
	card := presentation.Card{Actions: everyAction(), CutActions: everyAction()}
	for _, c := range []struct {
		whole, shown bool
		omitted      int64
		complete     bool
	}{
		{whole: true, complete: true},
		{whole: false},
		{whole: false, shown: true, complete: true},
		{whole: true, omitted: 1},
		{whole: true, shown: true, omitted: 1},
	} {
		card.WholeShown, card.Omitted = c.shown, c.omitted
		actions, complete := card.Controls(c.whole)
		require.Equal(t, c.complete, complete)
		for _, a := range actions {
			require.True(t, complete || !a.Decision.Allows())
		}
		require.Equal(t, c.complete, len(actions) == len(everyAction()), "nothing else is lost")
	}
}

// R72: the card names all that its rule covers: on the button where no platform cuts
// it, and always among its facts; a button never shows a part of it.
func TestAlwaysAllow_NamesAllOfItsScope(t *testing.T) {
	t.Parallel()
	for scope, label := range map[string]string{
		"mail to dora@example.com":           "Always allow mail to dora@example.com",
		strings.Repeat("a", 51):              "Always allow " + strings.Repeat("a", 51),
		strings.Repeat("a", 52):              "Always allow (see above)",
		strings.Repeat("&", 10):              "Always allow &&&&&&&&&&",
		strings.Repeat("&", 11):              "Always allow (see above)",
		strings.Repeat("😀", 25):              "Always allow " + strings.Repeat("😀", 25),
		strings.Repeat("😀", 26):              "Always allow (see above)",
		"every use of Edit by “x” > y < z @": "Always allow every use of Edit by “x” > y < z @",
	} {
		a := pluginApproval()
		a.AlwaysOffer = &core.AlwaysOffer{Label: scope, Scope: "recipient"}
		card := presentation.For(a, detailOf("x"), at(aliceCard))
		require.Equal(t, label, card.Actions[1].Label)
		require.Contains(t, card.Facts, presentation.Fact{Label: "Always covers", Value: scope})

		card = presentation.For(a, core.Detail{Text: "x", Omitted: 1}, at(aliceCard))
		require.NotContains(t, card.Facts, presentation.Fact{Label: "Always covers", Value: scope}, "nothing is offered")
	}
}
