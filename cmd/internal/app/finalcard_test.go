package app_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/channels/fakes"
	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/api"
)

// The click that decides on Discord is answered with the final card, which is recorded
// as shown: the ledger edits every message but that one, and everything agrees.
func TestDecidingClickOnDiscordIsAnsweredWithTheCard(t *testing.T) {
	t.Parallel()
	w := settle(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var a api.Approval
	var clicked card
	var button fakes.Button
	for n := 1; ; n++ { // A machine that stalls for 2 s acknowledges a click without its card.
		title := fmt.Sprintf("Send report %d", n)
		a = w.asked(t, title, places)
		cards := w.cards(title)
		i := slices.IndexFunc(cards, func(c card) bool { return c.on == core.SurfaceDiscord && c.Address == discordChannel })
		require.GreaterOrEqual(t, i, 0)
		clicked = cards[i]
		button, _ = clicked.Button("Deny")
		told, err := w.click(ctx, &clicked, w.people[1], button.Payload)
		require.NoError(t, err)
		if told == byCard {
			break
		}
	}
	w.ended(t, a.ID)
	w.converged(t, a.ID)
	m, err := w.discord.AwaitMessage(ctx, func(m fakes.Message) bool { return m.Locator == clicked.Locator })
	require.NoError(t, err)
	require.False(t, asks(m))
	_, id, _ := strings.Cut(m.Locator, ":")
	require.Empty(t, w.discord.Calls(http.MethodPatch, "channels/"+discordChannel+"/messages/"+id), "the answer was the edit")
	told, err := w.click(ctx, &clicked, w.people[0], button.Payload)
	require.NoError(t, err)
	require.Contains(t, told, "Already decided: denied by "+w.people[1].name+" on Discord")

	records, ledger := w.kept(t)
	record, err := records.Approval(t.Context(), core.Lookup{ID: a.ID})
	require.NoError(t, err)
	rows, err := ledger.DeliveriesOf(t.Context(), a.ID)
	require.NoError(t, err)
	w.truthful(t, &record, rows)
}
