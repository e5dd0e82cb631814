package deliveries_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/deliveries"
)

// row is a row of the ledger as the planner reads it.
func row(id string, ref core.AccountRef, destination string) core.Delivery {
	d := core.Delivery{
		ID: id, Channel: ref.Channel, Account: ref.Account, Destination: destination, State: core.DeliveryPlanned,
		CreatedAt: 100, DueAt: 100,
	}
	if who, ok := strings.CutPrefix(destination, deliveries.PersonPrefix); ok {
		d.PersonID = who
	}
	if address, ok := strings.CutPrefix(destination, deliveries.ChatPrefix); ok {
		d.Address = address
	}
	return d
}

func later(d core.Delivery, by core.Millis) core.Delivery {
	d.DueAt += by
	return d
}

// lost is a row whose person may not decide any more.
func lost(d core.Delivery) core.Delivery {
	d.LastError = core.FailureNotEntitled
	return d
}

// What follows a card that failed for good: the person's own next chat, or, where
// the rule allows it, the approvers (conformance 103, field reports C).
func TestNextRoute(t *testing.T) {
	t.Parallel()
	toChat := deliveries.Targets{Chats: []deliveries.Chat{{Ref: bot, Address: "-5"}}}
	ordered := deliveries.DefaultRule()
	ordered.Order, ordered.EscalateAfter = []core.Surface{core.SurfaceSlack}, time.Minute
	first, chat := row("d1", bot, "person:r1"), row("d1", bot, "chat:-5")
	tests := map[string]struct {
		rule   deliveries.Rule
		failed core.Delivery
		beside []core.Delivery
		change func(d *directory)
		want   []string
		hasten []string
	}{
		"the person's other chat": {
			rule: deliveries.DefaultRule(), failed: first, want: []string{"slack person:r1"},
		},
		"nothing is tried twice": {
			rule: deliveries.DefaultRule(), failed: first, beside: []core.Delivery{row("d2", slackBot, "person:r1")},
		},
		"what had failed before is better than nothing": {
			rule: deliveries.DefaultRule(), failed: first, want: []string{"slack person:r1"},
			change: func(d *directory) { d.breaks(slackBot, "person:r1") },
		},
		"the next step of an escalation comes at once": {
			rule: ordered, failed: first, hasten: []string{"d2"},
			beside: []core.Delivery{
				later(row("d3", slackBot, "person:r1"), 120_000), later(row("d2", slackBot, "person:r1"), 60_000),
				later(row("d4", slackBot, "person:admin"), 1_000),
			},
		},
		"a chat linked meanwhile joins an escalation": {
			rule: ordered, failed: first, want: []string{"slack person:r1"},
		},
		"a broken chat falls back to the approvers": {
			rule: deliveries.Rule{To: toChat, Fallback: true}, failed: chat,
			want: []string{"telegram person:admin", "telegram person:r1", "slack person:r1"},
		},
		"whoever was told already is not told again": {
			rule: deliveries.Rule{To: toChat, Fallback: true}, failed: chat,
			beside: []core.Delivery{row("d2", bot, "person:r1")}, want: []string{"telegram person:admin"},
		},
		"whoever lost the right is followed by those who have it": {
			rule: deliveries.DefaultRule(), failed: lost(first), change: func(d *directory) { d.owners = []string{"r2"} },
			beside: []core.Delivery{row("d2", bot, "person:admin"), later(row("d3", slackBot, "person:r1"), 60_000)},
			want:   []string{"telegram person:r2"}, hasten: []string{"d3"},
		},
		"a rule without approvers has nobody to follow": {
			rule: deliveries.Rule{To: toChat}, failed: lost(first), change: func(d *directory) { d.owners = []string{"r2"} },
		},
		"no fallback, nobody": {rule: deliveries.Rule{To: toChat}, failed: chat},
		"a card asked for elsewhere falls back to nobody": {
			rule: deliveries.Rule{To: toChat, Fallback: true}, failed: row("d1", bot, "chat:-7"),
		},
		"the approvers were told from the start": {
			rule: deliveries.Rule{To: deliveries.Targets{Approvers: true, Chats: toChat.Chats}, Fallback: true}, failed: chat,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := team()
			if test.change != nil {
				test.change(d)
			}
			config := both()
			config.Rules = []deliveries.Rule{test.rule}
			tried := append([]core.Delivery{test.failed}, test.beside...)
			next, err := planner(d, config).NextRoute(t.Context(), &core.Approval{}, &test.failed, tried)
			require.NoError(t, err)
			if test.want == nil {
				test.want = []string{}
			}
			require.Empty(t, cmp.Diff(test.want, destinations(next.Planned)))
			require.Empty(t, cmp.Diff(test.hasten, next.Hasten))
		})
	}
}
