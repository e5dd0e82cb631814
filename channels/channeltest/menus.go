package channeltest

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/callbacks"
	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/channels/fakes"
	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/presentation"
)

// menuCases: questions of ours that go on in their own place, questions that a click on
// a card leads to, and the controls below an outcome.
func menuCases() []testCase {
	return []testCase{
		{"menu_goes_on_in_its_place_and_ends_without_buttons", menuGoesOn},
		{"menu_of_hostile_names_stays_whole_and_mentions_nobody", menuHostile},
		{"menu_commands_reach_the_inbound_in_private", menuCommands},
		{"question_after_a_click_on_a_card_has_buttons", askedByClick},
		{"outcome_has_its_controls_and_decides_nothing", outcomeControls},
		{"final_card_after_the_click_keeps_its_controls", finalCardControls},
		{"always_allow_of_any_scope_has_one_whole_button", alwaysLabels},
	}
}

// menu is a menu of n choices, with the reference of its own.
func menu(name, text string, labels ...string) channels.Answer {
	a := channels.Answer{Text: text}
	for i, label := range labels {
		a.Actions = append(a.Actions, core.Action{
			Type: core.ActionCallback, Label: label, Value: core.CallbackChoose, Choice: i,
			PromptRef: core.ResolutionRef(callbacks.KindPrompt, name),
		})
	}
	return a
}

// next puts a menu in the place of the clicked one.
func next(a channels.Answer) channels.Answer {
	a.Settled, a.Text = a.Text, "…"
	return a
}

// menuGoesOn: the second menu stands where the first stood, its buttons are its own, and
// its end has none.
func menuGoesOn(t *testing.T, b *bundle) {
	steps := []channels.Answer{
		next(menu("two", "Which mode?", "Before everything", "Back", "Close")),
		{Text: "Done.", Settled: "Claude asks before everything."},
	}
	in := &Inbox{
		OnText: func(context.Context, channels.Text) channels.Answer {
			return menu("one", "Which agent?", "1 · Claude", "2 · Codex")
		},
		OnClick: func(context.Context, channels.Click) channels.Answer {
			a := steps[0]
			steps = steps[1:]
			return a
		},
	}
	b.receive(t, b.ch, in)
	m := b.askQuestion(t)
	b.press(t, Press{Person: b.Owner, Message: m.Locator, Label: "2 · Codex"})
	second, err := b.Platform.AwaitMessage(b.ctx, func(s fakes.Message) bool { return s.Locator == m.Locator && len(s.Buttons) == 3 })
	require.NoError(t, err)
	require.Equal(t, "Which mode?", second.Text)
	clicks, err := in.AwaitClicks(b.ctx, 1)
	require.NoError(t, err)
	b.chose(t, clicks[0], "one", 1)

	b.settles(t, Press{Person: b.Owner, Message: m.Locator, Label: "Back"}, "Claude asks before everything.", 2)
	clicks, err = in.AwaitClicks(b.ctx, 2)
	require.NoError(t, err)
	b.chose(t, clicks[1], "two", 1)
}

// chose checks which choice of which menu a click is, and that it may be believed.
func (b *bundle) chose(t *testing.T, c channels.Click, name string, index int) {
	t.Helper()
	d, err := b.codec.Decode(b.ch.Ref(), c.Payload)
	require.NoError(t, err)
	require.Equal(t, core.ResolutionRef(callbacks.KindPrompt, name), d.Ref)
	n, ok := d.Verb.Choice()
	require.True(t, ok)
	require.Equal(t, index, n)
	require.True(t, c.Direct, "a menu is between one person and the bot")
	require.Equal(t, b.Direct, c.Chat)
}

func menuHostile(t *testing.T, b *bundle) {
	lines := hostile()
	labels := make([]string, core.MaxChoices)
	for i := range labels {
		labels[i] = string(rune('0'+i)) + " · " + lines[i%len(lines)]
		if r := []rune(labels[i]); len(r) > 24 {
			labels[i] = string(r[:24])
		}
	}
	in := &Inbox{OnText: func(context.Context, channels.Text) channels.Answer {
		return menu("one", strings.Join(lines, "\n"), labels...)
	}}
	b.receive(t, b.ch, in)
	_, err := b.Platform.Type(Typed{Person: b.Owner, Address: b.Direct, Text: "/mode"})
	require.NoError(t, err)
	m, err := b.Platform.AwaitMessage(b.ctx, func(m fakes.Message) bool { return len(m.Buttons) > 0 })
	require.NoError(t, err)
	require.Empty(t, m.Pings)
	require.Len(t, m.Buttons, core.MaxChoices, "no choice is lost")
	for i, button := range m.Buttons {
		require.Empty(t, button.URL)
		d, err := b.codec.Decode(b.ch.Ref(), button.Payload)
		require.NoError(t, err)
		n, _ := d.Verb.Choice()
		require.Equal(t, i, n, "in their order")
	}
}

func menuCommands(t *testing.T, b *bundle) {
	in := new(Inbox)
	b.receive(t, b.ch, in)
	for n, command := range []string{"/mode", "/rules"} {
		_, err := b.Platform.Type(Typed{Person: b.Owner, Address: b.Direct, Text: command})
		require.NoError(t, err)
		texts, err := in.AwaitTexts(b.ctx, n+1)
		require.NoError(t, err)
		require.Equal(t, command, texts[n].Text)
		require.True(t, texts[n].Direct)
		require.Equal(t, b.Direct, texts[n].Chat)
	}
}

// askedByClick: a click on a card may lead to a question with buttons, beside the card;
// the card stays as it is. Who else may see the question differs; who may press is ours
// to check.
func askedByClick(t *testing.T, b *bundle) {
	question := menu("sure", "Ask again? It may have happened.", "Yes, ask again", "No")
	in := &Inbox{OnClick: func(_ context.Context, c channels.Click) channels.Answer {
		if strings.Contains(c.Payload, core.ResolutionRef(callbacks.KindPrompt, "sure")) {
			return channels.Answer{Text: "Asked.", Settled: "It was asked again."}
		}
		return question
	}}
	b.receive(t, b.ch, in)
	for _, address := range []string{b.Direct, b.Group, b.Thread} {
		locator, _ := b.send(t, address, mayHaveHappened())
		press, err := b.Platform.Press(Press{Person: b.Owner, Message: locator, Label: "Ask again"})
		require.NoError(t, err)
		_, err = b.Platform.AwaitReply(b.ctx, press)
		require.NoError(t, err)
		asked, err := b.Platform.AwaitMessage(b.ctx, func(m fakes.Message) bool { _, ok := m.Button("Yes, ask again"); return ok })
		require.NoError(t, err)
		require.NotEqual(t, locator, asked.Locator)
		require.Contains(t, asked.Text, "It may have happened.")
		b.settles(t, Press{Person: b.Owner, Message: asked.Locator, Label: "Yes, ask again"}, "It was asked again.", 1)
		require.Zero(t, b.shown(t, locator).Edits, "the card is the ledger's")
	}
}

// mayHaveHappened is the card of an action that was started and of which nobody knows
// how it ended, where a runtime listens.
func mayHaveHappened() presentation.Card {
	a := allowed()
	a.Execution = core.ExecutionUnknown
	return presentation.For(a, core.Detail{Text: "ssh prod"}, presentation.Place{Now: asked, Listens: true})
}

func outcomeControls(t *testing.T, b *bundle) {
	in := new(Inbox)
	b.receive(t, b.ch, in)
	n := 0
	for _, c := range []struct {
		card  presentation.Card
		verbs map[string]callbacks.Verb
	}{
		{mayHaveHappened(), map[string]callbacks.Verb{"Dismiss": callbacks.VerbSeen, "Ask again": callbacks.VerbAskAgain}},
		{declined(), map[string]callbacks.Verb{"Re-open": callbacks.VerbReopen}},
	} {
		locator, _ := b.send(t, b.Group, pending())
		r := b.render(t, c.card)
		require.Empty(t, r.Offered, "nothing there decides")
		require.NotEmpty(t, r.KeyID)
		outcome, err := b.ch.Edit(b.ctx, locator, r)
		require.NoError(t, err)
		require.Equal(t, core.OutcomeReplaced, outcome)
		m := b.shown(t, locator)
		require.Len(t, m.Buttons, len(c.verbs))
		require.Contains(t, m.Text, c.card.Outcome.Text)
		for _, mark := range c.card.Marks {
			require.Contains(t, m.Text, mark)
		}
		for label, verb := range c.verbs {
			b.press(t, Press{Person: b.Owner, Message: locator, Label: label})
			n++
			clicks, err := in.AwaitClicks(b.ctx, n)
			require.NoError(t, err)
			d, err := b.codec.Decode(b.ch.Ref(), clicks[n-1].Payload)
			require.NoError(t, err)
			require.Equal(t, verb, d.Verb)
			require.Equal(t, core.DecisionNone, d.Verb.Decision())
			require.True(t, clicks[n-1].Proven())
		}
	}
}

// finalCardControls: where the answer to the click that declined is the final card, its
// controls come with it.
func finalCardControls(t *testing.T, b *bundle) {
	in := &Inbox{OnClick: func(_ context.Context, c channels.Click) channels.Answer {
		a := channels.Answer{Text: wordsOfWho}
		if c.TakesCard {
			a.Terminal = &channels.TerminalCard{Card: declined(), DeliveryID: "d2", CardRevision: 2}
		}
		return a
	}}
	b.receive(t, b.ch, in)
	locator, _ := b.send(t, b.Group, pending())
	b.press(t, Press{Person: b.Owner, Message: locator, Label: "Deny"})
	if b.AnswersWithCard {
		_, ok := b.shown(t, locator).Button("Re-open")
		require.True(t, ok)
		require.Len(t, b.shown(t, locator).Buttons, 1)
	}
}

// alwaysLabels: a button names its whole scope or none of it, and the card names it.
func alwaysLabels(t *testing.T, b *bundle) {
	for _, scope := range []string{
		"ssh to prod", strings.Repeat("&", 40), strings.Repeat("😀", 25), strings.Repeat("漢", 64), strings.Repeat("w", 51),
		"mail to " + strings.Repeat("a", 200) + "@example.com",
	} {
		a := execOf("Claude wants to run a command")
		a.AlwaysOffer = &core.AlwaysOffer{Label: scope, Scope: "recipient", Value: "x"}
		card := cardOf(a, "ssh prod")
		locator, r := b.send(t, b.Group, card)
		require.Contains(t, r.Offered, core.DecisionAllowAlways)
		m := b.shown(t, locator)
		button, ok := m.Button(card.Actions[1].Label)
		require.True(t, ok, "no platform cuts it")
		require.Contains(t, []string{"Always allow " + scope, "Always allow (see above)"}, button.Label)
		require.Contains(t, m.Text, scope)
	}
}
