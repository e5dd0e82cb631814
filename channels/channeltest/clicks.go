package channeltest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/callbacks"
	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/channels/fakes"
	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/presentation"
)

func clickCases() []testCase {
	return []testCase{
		{"every_button_decodes_82_90", everyButton},
		{"click_tells_who_and_where_91", whoAndWhere},
		{"accounts_that_may_not_decide_say_why", refusedAccounts},
		{"platform_copy_for_adoption", platformCopy},
		{"forwarded_copy_is_not_ours", forwardedCopy},
		{"forged_and_foreign_payloads_84_85", forged},
		{"stale_button_of_a_closed_card_95", staleButton},
		{"every_click_gets_one_answer_92_94", oneAnswer},
		{"double_click_is_two_answered_clicks_99", doubleClick},
		{"long_answer_is_cut", longAnswer},
		{"slow_click_blocks_nobody_else_107", blocksNobody},
		{"clicks_of_one_person_stay_in_order", inOrder},
		{"panic_is_answered_and_finished_98", panics},
		{"answer_that_fails_ends_the_click_100", answerFails},
	}
}

// press presses a button while in receives, and returns what the person saw.
func (b *bundle) press(t *testing.T, p Press) (text string, alert bool) {
	t.Helper()
	name, err := b.Platform.Press(p)
	require.NoError(t, err)
	reply, err := b.Platform.AwaitReply(b.ctx, name)
	require.NoError(t, err)
	return reply.Text, reply.Alert
}

func everyButton(t *testing.T, b *bundle) {
	in := new(Inbox)
	b.receive(t, b.ch, in)
	n := 0
	for _, a := range []core.Approval{execOf("t"), pluginOf("t")} {
		whole := presentation.For(a, core.Detail{Text: "echo"}, presentation.Place{Now: asked})
		cut := presentation.For(a, core.Detail{Text: longText()}, presentation.Place{Now: asked})
		for _, card := range []presentation.Card{whole, cut} {
			actions := card.Actions
			if card.Command+card.Body != "echo" {
				actions = card.CutActions
			}
			locator, r := b.send(t, b.Group, card)
			for _, action := range actions {
				b.press(t, Press{Person: b.Owner, Message: locator, Label: action.Label})
				n++
				clicks, err := in.AwaitClicks(b.ctx, n)
				require.NoError(t, err)
				got, err := b.codec.Decode(b.ch.Ref(), clicks[n-1].Payload)
				require.NoError(t, err)
				require.Equal(t, a.Kind, got.Kind)
				require.Equal(t, a.Ref, got.Ref)
				require.Equal(t, r.KeyID, got.KeyID)
				require.Equal(t, action.Decision, got.Verb.Decision())
			}
		}
	}
	require.Equal(t, 14, n, "whole and cut cards of both kinds")
}

func whoAndWhere(t *testing.T, b *bundle) {
	in := new(Inbox)
	b.receive(t, b.ch, in)
	n := 0
	for _, place := range []struct {
		address string
		direct  bool
	}{{b.Direct, true}, {b.Group, false}, {b.Thread, false}} {
		locator, _ := b.send(t, place.address, pending())
		b.press(t, Press{Person: b.Owner, Message: locator, Label: "Deny"})
		n++
		clicks, err := in.AwaitClicks(b.ctx, n)
		require.NoError(t, err)
		c := clicks[n-1]
		require.Equal(t, b.ch.Ref(), c.Account)
		require.Equal(t, locator, c.Message, "locators are canonical")
		require.Equal(t, place.address, c.Chat, "addresses are canonical")
		require.Equal(t, place.direct, c.Direct)
		require.Equal(t, b.Owner, c.Actor.ID)
		require.Equal(t, b.Realm, c.Actor.Realm)
		require.NotEmpty(t, c.Actor.Label)
		require.Empty(t, c.Actor.Refused)
	}
}

func refusedAccounts(t *testing.T, b *bundle) {
	in := new(Inbox)
	b.receive(t, b.ch, in)
	locator, _ := b.send(t, b.Group, pending())
	n := 0
	for person, why := range b.Refused {
		b.press(t, Press{Person: person, Message: locator, Label: "Deny"})
		n++
		clicks, err := in.AwaitClicks(b.ctx, n)
		require.NoError(t, err)
		require.Equal(t, person, clicks[n-1].Actor.ID, "people are told which id was seen")
		require.Equal(t, why, clicks[n-1].Actor.Refused)
	}
	b.press(t, Press{Person: b.Other, Message: locator, Label: "Deny"})
	clicks, err := in.AwaitClicks(b.ctx, n+1)
	require.NoError(t, err)
	require.Empty(t, clicks[n].Actor.Refused)
}

func platformCopy(t *testing.T, b *bundle) {
	in := new(Inbox)
	b.receive(t, b.ch, in)
	locator, _ := b.send(t, b.Group, pending())
	b.press(t, Press{Person: b.Other, Message: locator, Label: "Deny"})
	clicks, err := in.AwaitClicks(b.ctx, 1)
	require.NoError(t, err)
	require.True(t, clicks[0].Copy.SentByUs)
	require.Contains(t, clicks[0].Copy.Payloads, clicks[0].Payload)
	require.Equal(t, b.Other, clicks[0].Actor.ID)
}

// forwardedCopy asserts nothing about platforms whose copies have no buttons
// except that the original still works.
func forwardedCopy(t *testing.T, b *bundle) {
	in := new(Inbox)
	b.receive(t, b.ch, in)
	locator, _ := b.send(t, b.Group, pending())
	press := b.Platform.Press
	if b.Forward != nil {
		press = b.Forward
	}
	_, err := press(Press{Person: b.Owner, Message: locator, Label: "Deny"})
	require.NoError(t, err)
	clicks, err := in.AwaitClicks(b.ctx, 1)
	require.NoError(t, err)
	require.Equal(t, b.Forward == nil, clicks[0].Copy.SentByUs)
	require.Equal(t, b.Forward == nil, clicks[0].Message == locator)
}

func forged(t *testing.T, b *bundle) {
	in := new(Inbox)
	b.receive(t, b.ch, in)
	locator, _ := b.send(t, b.Group, pending())
	foreign, _, err := newCodec(t, 'z').Encode(b.ch.Ref(), pending().Actions[0])
	require.NoError(t, err)
	for n, p := range []struct {
		payload string
		err     error
	}{
		{foreign, callbacks.ErrForeign},
		{foreign[:40], callbacks.ErrForeign},
		{foreign + "x", callbacks.ErrForeign},
		{"approve:everything", callbacks.ErrNotOurs},
		{"é́\u202e𝒳 \n\t", callbacks.ErrNotOurs},
	} {
		if len(p.payload) > b.PayloadLimit {
			p.payload = p.payload[1:] // The platform itself would not carry it.
			p.err = callbacks.ErrNotOurs
		}
		text, _ := b.press(t, Press{Person: b.Owner, Message: locator, Forged: p.payload})
		require.Equal(t, "ok", text, "forged payloads are answered like any other")
		clicks, err := in.AwaitClicks(b.ctx, n+1)
		require.NoError(t, err)
		require.Equal(t, p.payload, clicks[n].Payload, "as received")
		_, err = b.codec.Decode(b.ch.Ref(), clicks[n].Payload)
		require.ErrorIs(t, err, p.err)
	}
}

// staleButton: a client that still shows the old buttons, or a modified one,
// presses what the card no longer has.
func staleButton(t *testing.T, b *bundle) {
	in := new(Inbox)
	b.receive(t, b.ch, in)
	locator, _ := b.send(t, b.Group, pending())
	button, ok := b.shown(t, locator).Button("Deny")
	require.True(t, ok)
	_, err := b.ch.Edit(b.ctx, locator, b.render(t, resolved()))
	require.NoError(t, err)
	text, _ := b.press(t, Press{Person: b.Owner, Message: locator, Forged: button.Payload})
	require.Equal(t, "ok", text)
	clicks, err := in.AwaitClicks(b.ctx, 1)
	require.NoError(t, err)
	require.Equal(t, locator, clicks[0].Message)
	require.Equal(t, button.Payload, clicks[0].Payload)
	require.NotContains(t, clicks[0].Copy.Payloads, button.Payload, "the card does not carry it any more")
}

func oneAnswer(t *testing.T, b *bundle) {
	answers := []channels.Answer{
		{Text: "Denied."}, {Text: "You cannot answer this.", Alert: true}, {}, {Text: "Already decided: allowed once by Alice.", Alert: true},
	}
	var mu sync.Mutex
	next := 0
	in := &Inbox{OnClick: func(context.Context, channels.Click) channels.Answer {
		mu.Lock()
		defer mu.Unlock()
		next++
		return answers[next-1]
	}}
	b.receive(t, b.ch, in)
	locator, _ := b.send(t, b.Group, pending())
	for _, want := range answers {
		press := Press{Person: b.Owner, Message: locator, Label: "Deny"}
		if want.Text == "" && !b.EndsSeen {
			_, err := b.Platform.Press(press)
			require.NoError(t, err)
			continue
		}
		text, alert := b.press(t, press)
		require.Equal(t, want.Text, text)
		require.Equal(t, want.Alert && b.Alerts, alert)
		require.Zero(t, b.shown(t, locator).Edits, "only the ledger edits messages")
	}
	require.NoError(t, b.Platform.AwaitConfirmed(b.ctx))
}

func doubleClick(t *testing.T, b *bundle) {
	in := new(Inbox)
	locator, _ := b.send(t, b.Direct, pending())
	begin := b.receiveLater(t, in)
	var names []string
	for range 2 {
		name, err := b.Platform.Press(Press{Person: b.Owner, Message: locator, Label: "Deny"})
		require.NoError(t, err)
		names = append(names, name)
	}
	begin()
	for _, name := range names {
		_, err := b.Platform.AwaitReply(b.ctx, name)
		require.NoError(t, err)
	}
	clicks, err := in.AwaitClicks(b.ctx, 2)
	require.NoError(t, err)
	require.Equal(t, clicks[0].Payload, clicks[1].Payload)
}

func longAnswer(t *testing.T, b *bundle) {
	in := &Inbox{OnClick: func(context.Context, channels.Click) channels.Answer {
		return channels.Answer{Text: strings.Repeat("𝒳", 500), Alert: true}
	}}
	b.receive(t, b.ch, in)
	locator, _ := b.send(t, b.Direct, pending())
	text, alert := b.press(t, Press{Person: b.Owner, Message: locator, Label: "Deny"})
	require.Equal(t, b.Alerts, alert)
	require.NotEmpty(t, text)
	require.LessOrEqual(t, len(utf16.Encode([]rune(text))), 2*500)
	require.True(t, strings.HasPrefix(text, "𝒳"))
	require.NotContains(t, text, "\uFFFD", "no half character at the cut")
}

// blocksNobody: while one person's click waits for its commit, another's is
// answered, also one that came later.
func blocksNobody(t *testing.T, b *bundle) {
	release := make(chan struct{})
	in := &Inbox{OnClick: func(ctx context.Context, c channels.Click) channels.Answer {
		if c.Actor.ID == b.Owner {
			select {
			case <-release:
			case <-ctx.Done():
			}
		}
		return channels.Answer{Text: "ok"}
	}}
	b.receive(t, b.ch, in)
	locator, _ := b.send(t, b.Group, pending())
	slowPress, err := b.Platform.Press(Press{Person: b.Owner, Message: locator, Label: "Deny"})
	require.NoError(t, err)
	_, err = in.AwaitClicks(b.ctx, 1)
	require.NoError(t, err)
	for range 3 {
		b.press(t, Press{Person: b.Other, Message: locator, Label: "Deny"})
	}
	close(release)
	_, err = b.Platform.AwaitReply(b.ctx, slowPress)
	require.NoError(t, err)
	require.NoError(t, b.Platform.AwaitConfirmed(b.ctx))
}

func inOrder(t *testing.T, b *bundle) {
	locator, _ := b.send(t, b.Group, pending())
	in := new(Inbox)
	begin := b.receiveLater(t, in)
	const each = 8
	for n := range each {
		for _, person := range []string{b.Owner, b.Other} {
			_, err := b.Platform.Press(Press{Person: person, Message: locator, Forged: fmt.Sprintf("payload-%d", n)})
			require.NoError(t, err)
		}
	}
	begin()
	clicks, err := in.AwaitClicks(b.ctx, 2*each)
	require.NoError(t, err)
	seen := map[string]int{}
	for _, c := range clicks {
		require.Equal(t, fmt.Sprintf("payload-%d", seen[c.Actor.ID]), c.Payload)
		seen[c.Actor.ID]++
	}
	require.Equal(t, map[string]int{b.Owner: each, b.Other: each}, seen)
}

func panics(t *testing.T, b *bundle) {
	first := true
	in := &Inbox{OnClick: func(context.Context, channels.Click) channels.Answer {
		if first {
			first = false
			panic("a bug with " + contentMark)
		}
		return channels.Answer{Text: "fine"}
	}}
	b.receive(t, b.ch, in)
	locator, _ := b.send(t, b.Direct, pending())
	text, alert := b.press(t, Press{Person: b.Owner, Message: locator, Label: "Deny"})
	require.Equal(t, b.Alerts, alert)
	require.Equal(t, presentation.AnswerUnclear, text, "raw errors are never shown (102)")
	text, _ = b.press(t, Press{Person: b.Owner, Message: locator, Label: "Deny"})
	require.Equal(t, "fine", text)
}

// answerFails: a decision that was made is not made again because the answer did
// not get through.
func answerFails(t *testing.T, b *bundle) {
	for _, kind := range []fakes.FaultKind{fakes.FaultReject, fakes.FaultResetAfter, fakes.FaultServerError} {
		b.Platform.Script.Add(fakes.Fault{Kind: kind, Op: fakes.OpAnswer})
	}
	locator, _ := b.send(t, b.Direct, pending())
	in := new(Inbox)
	begin := b.receiveLater(t, in)
	for range 3 {
		_, err := b.Platform.Press(Press{Person: b.Owner, Message: locator, Label: "Deny"})
		require.NoError(t, err)
	}
	begin()
	text, _ := b.press(t, Press{Person: b.Owner, Message: locator, Label: "Deny"})
	require.Equal(t, "ok", text)
	require.NoError(t, b.Platform.AwaitConfirmed(b.ctx))
	clicks, err := in.AwaitClicks(b.ctx, 4)
	require.NoError(t, err)
	require.Len(t, clicks, 4)
}
