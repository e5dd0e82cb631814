package channeltest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/channels/fakes"
	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/presentation"
)

func sendCases() []testCase {
	return []testCase{
		{"card_in_every_kind_of_chat_106", sendEverywhere},
		{"offers_what_the_card_offers_115", sendOffers},
		{"edit_replaces_text_and_takes_buttons_away_113", editReplaces},
		{"edit_twice_is_success_113", editTwice},
		{"edit_of_a_deleted_message_113", editDeleted},
		{"repeated_send_after_a_lost_answer", repeatedSend},
		{"edit_keeps_buttons_of_a_pending_card", editKeeps},
		{"check_tells_a_good_account", checkGood},
		{"show_all_short_as_messages", detailShort},
		{"show_all_long_as_a_file_or_messages", detailLong},
	}
}

func (b *bundle) shown(t *testing.T, locator string) fakes.Message {
	t.Helper()
	m, ok := b.Platform.Message(locator)
	require.True(t, ok, "the platform knows the message by its locator")
	return m
}

func sendEverywhere(t *testing.T, b *bundle) {
	for _, address := range []string{b.Direct, b.Group, b.Thread} {
		card := pending()
		locator, r := b.send(t, address, card)
		m := b.shown(t, locator)
		require.Equal(t, address, m.Address, "the thread is kept")
		require.True(t, r.Complete)
		require.Contains(t, m.Text, card.Title)
		require.Contains(t, m.Text, card.Pill)
		require.Contains(t, m.Text, card.Command)
		for _, f := range card.Facts {
			require.Contains(t, m.Text, f.Label)
		}
		require.Empty(t, m.Pings, "nothing in a card mentions or links")
	}
}

func sendOffers(t *testing.T, b *bundle) {
	for _, card := range []presentation.Card{pending(), cardOf(pluginOf("Claude wants to use Mail"), "to: dora")} {
		locator, r := b.send(t, b.Direct, card)
		m := b.shown(t, locator)
		require.Len(t, m.Buttons, len(card.Actions))
		var offered []core.Decision
		for i, a := range card.Actions {
			require.Equal(t, a.Label, m.Buttons[i].Label)
			if a.Type == core.ActionApproval {
				offered = append(offered, a.Decision)
			}
			if a.Type == core.ActionURL {
				require.Equal(t, a.URL, m.Buttons[i].URL)
			}
		}
		require.Equal(t, offered, r.Offered)
		require.NotEmpty(t, r.KeyID)
	}
}

func editReplaces(t *testing.T, b *bundle) {
	for _, address := range []string{b.Direct, b.Group, b.Thread} {
		for _, card := range []presentation.Card{resolved(), presentation.DamagedCard(pending().ApprovalID, core.KindExec, 2)} {
			locator, _ := b.send(t, address, pending())
			r := b.render(t, card)
			outcome, err := b.ch.Edit(b.ctx, locator, r)
			require.NoError(t, err)
			require.Equal(t, core.OutcomeReplaced, outcome)
			m := b.shown(t, locator)
			require.Empty(t, m.Buttons)
			require.Empty(t, r.Offered)
			require.Empty(t, r.KeyID)
			require.Contains(t, m.Text, card.Outcome.Text)
			require.Len(t, m.History, 2)
		}
	}
}

func editTwice(t *testing.T, b *bundle) {
	locator, _ := b.send(t, b.Group, pending())
	for range 2 {
		outcome, err := b.ch.Edit(b.ctx, locator, b.render(t, resolved()))
		require.NoError(t, err)
		require.Equal(t, core.OutcomeReplaced, outcome)
	}
}

func editDeleted(t *testing.T, b *bundle) {
	locator, _ := b.send(t, b.Group, pending())
	require.NoError(t, b.Platform.Delete(locator))
	outcome, err := b.ch.Edit(b.ctx, locator, b.render(t, resolved()))
	require.NoError(t, err)
	require.Equal(t, b.EditDeleted, outcome)
}

// repeatedSend: a send whose answer was lost is made again with its nonce. The
// locator that comes of it names a message that shows the card; how many there are
// differs. What is not a repetition always makes a message of its own.
func repeatedSend(t *testing.T, b *bundle) {
	r := b.render(t, pending())
	r.Nonce = "AAAABBBBCCCCDDDDEEEE-_12"
	b.Platform.Script.Add(fakes.Fault{Kind: fakes.FaultResetAfter, Op: fakes.OpSend})
	_, err := b.ch.Send(b.ctx, b.Group, r)
	require.Error(t, err)
	locator, err := b.ch.Send(b.ctx, b.Group, r)
	require.NoError(t, err)
	require.Contains(t, b.shown(t, locator).Text, pending().Command)
	want := 2
	if b.OncePerNonce {
		want = 1
	}
	require.Len(t, b.Platform.Messages(), want)
	r.Nonce = "another"
	other, err := b.ch.Send(b.ctx, b.Group, r)
	require.NoError(t, err)
	require.NotEqual(t, locator, other)
	require.Len(t, b.Platform.Messages(), want+1)
	outcome, err := b.ch.Edit(b.ctx, locator, b.render(t, resolved()))
	require.NoError(t, err)
	require.Equal(t, core.OutcomeReplaced, outcome)
}

func editKeeps(t *testing.T, b *bundle) {
	locator, _ := b.send(t, b.Direct, long(core.KindExec))
	outcome, err := b.ch.Edit(b.ctx, locator, b.render(t, pending()))
	require.NoError(t, err)
	require.Equal(t, core.OutcomeReplaced, outcome)
	require.Len(t, b.shown(t, locator).Buttons, len(pending().Actions))
}

func checkGood(t *testing.T, b *bundle) {
	c, ok := b.ch.(channels.Checker)
	require.True(t, ok, "every channel can be checked")
	require.NoError(t, c.Check(b.ctx))
}

// detail sends a card's whole action and returns what of it reached the chat.
func (b *bundle) detail(t *testing.T, address string, card presentation.Card) (text string, files int) {
	t.Helper()
	d, ok := b.ch.(channels.Detailer)
	require.True(t, ok, "every channel can show all")
	locator, _ := b.send(t, address, card)
	before := len(b.Platform.Messages())
	require.NoError(t, d.SendDetail(b.ctx, address, locator, card))
	for _, m := range b.Platform.Messages()[before:] {
		b.replies(t, m, address, locator)
		require.Empty(t, m.Pings)
		if m.File != nil {
			files++
		}
		text += m.Text + string(m.File)
	}
	return text, files
}

func detailShort(t *testing.T, b *bundle) {
	for _, address := range []string{b.Direct, b.Thread} {
		card := pending()
		text, files := b.detail(t, address, card)
		require.Contains(t, text, card.Command)
		require.Zero(t, files)
	}
}

func detailLong(t *testing.T, b *bundle) {
	card := long(core.KindPlugin)
	text, files := b.detail(t, b.Group, card)
	require.LessOrEqual(t, files, 1)
	require.Equal(t, strings.Count(card.Body, contentMark), strings.Count(text, contentMark), "nothing of it is missing")
	require.Contains(t, text, "echo last")
}
