package deliveries_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/approvals"
	"github.com/saysohq/sayso/deliveries"
)

// losses are the ways to lose the right to decide what was planned for one.
func losses() map[string]func(s *memory) {
	return map[string]func(s *memory){
		"disabled": func(s *memory) { s.people = []core.Principal{{ID: "p", Role: core.RoleAdmin, Disabled: true}} },
		"no owner": func(s *memory) { s.people = []core.Principal{{ID: "p", Role: core.RoleReviewer}} },
		"another owner": func(s *memory) {
			s.people, s.owners = []core.Principal{{ID: "p", Role: core.RoleReviewer}}, []string{"q"}
		},
		"only a viewer": func(s *memory) {
			s.people, s.owners = []core.Principal{{ID: "p", Role: core.RoleViewer}}, []string{"p"}
		},
		"nobody at all": func(s *memory) { s.people = []core.Principal{} },
		"not a reviewer": func(s *memory) {
			s.people, s.owners = []core.Principal{{ID: "p", Role: core.RoleReviewer}}, []string{"p"}
			s.approvals["a"].Reviewers = []string{"q"}
		},
	}
}

func (m *memory) lose(loss func(*memory)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	loss(m)
}

// A card that was planned for somebody is theirs only as long as they may decide:
// whoever has lost the right reads nothing, and the row says why.
func TestWhoLostTheRightIsToldNothingNew(t *testing.T) {
	t.Parallel()
	for name, loss := range losses() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, h *harness) {
				h.withPerson(core.FailureNone)
				next := &routes{next: []core.PlannedDelivery{{
					ID: "e", Channel: bot.Channel, Account: bot.Account, Destination: "chat:y", Address: "y",
				}}}
				h.router = next
				h.store.ask("a", person("d", "p"))
				h.store.lose(loss)
				h.start()
				h.pass(time.Second)
				d := h.store.row("d")
				require.Equal(t, core.OutcomeFailed, d.Outcome)
				require.Equal(t, core.FailureNotEntitled, d.LastError)
				require.NotEmpty(t, d.LastErrorText)
				require.Empty(t, h.store.identities[0].Broken, "the chat itself is not broken")
				require.Equal(t, core.FailureNotEntitled, next.failed.LastError, "the router knows why")
				calls := h.channel.made()
				require.Len(t, calls, 1)
				require.Equal(t, "y", calls[0].address, "the next route is taken instead")
			})
		})
	}
}

// The right is read when the card leaves: after the pause of an escalation, and after
// the wait for a chat that was busy.
func TestRightsAreReadWhenTheCardLeaves(t *testing.T) {
	t.Parallel()
	gone := losses()["no owner"]
	t.Run("escalation", func(t *testing.T) {
		t.Parallel()
		bubble(t, func(t *testing.T, h *harness) {
			h.withPerson(core.FailureNone)
			h.channel.onSend(func(string, string) error { return nil })
			h.store.ask("a", person("d", "p"))
			h.store.change("d", func(d *core.Delivery) { d.DueAt += 60_000 })
			h.start()
			h.pass(59 * time.Second)
			h.store.lose(gone)
			h.pass(2 * time.Second)
			require.Empty(t, h.channel.made())
			require.Equal(t, core.FailureNotEntitled, h.store.row("d").LastError)
		})
	})
	t.Run("queue", func(t *testing.T) {
		t.Parallel()
		bubble(t, func(t *testing.T, h *harness) {
			h.withPerson(core.FailureNone)
			h.channel.onSend(func(string, string) error { return nil })
			h.channel.latency = 5 * time.Second
			h.store.ask("b", to("c", "dm"))
			h.start()
			h.pass(time.Second)
			h.store.ask("a", person("d", "p"))
			h.store.hint("a")
			h.pass(time.Second)
			h.store.lose(gone)
			h.pass(20 * time.Second)
			require.Len(t, h.channel.made(), 1, "only the card before it")
			require.Equal(t, core.FailureNotEntitled, h.store.row("d").LastError)
		})
	})
}

// A send whose answer was lost may have arrived: the row says so, and the message can
// still be adopted.
func TestALostSendIsNotRepeatedToWhoLostTheRight(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *harness) {
		h.withPerson(core.FailureNone)
		h.channel.onSend(func(string, string) error { return h.channel.fails(core.FailureAmbiguous) })
		h.store.ask("a", person("d", "p"))
		h.start()
		h.pass(100 * time.Millisecond)
		require.True(t, h.store.row("d").Ambiguous)
		h.store.lose(losses()["no owner"])
		h.pass(time.Minute)
		require.Len(t, h.channel.made(), 1)
		d := h.store.row("d")
		require.Equal(t, core.OutcomePossibleOrphan, d.Outcome)
		require.Equal(t, core.FailureNotEntitled, d.LastError)
	})
}

// Nothing leaves while nobody can tell whether it may.
func TestUnknownRightsSendNothing(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *harness) {
		h.withPerson(core.FailureNone)
		h.channel.onSend(func(string, string) error { return nil })
		down := true
		h.store.fail = func(op string) error {
			if op == "person" && down {
				return core.ErrUnavailable
			}
			return nil
		}
		h.store.ask("a", person("d", "p"))
		h.start()
		h.pass(time.Minute)
		require.Empty(t, h.channel.made())
		require.NotEqual(t, core.DeliveryClosed, h.store.row("d").State)
		h.store.lose(func(*memory) { down = false })
		h.pass(10 * time.Minute)
		require.Equal(t, []string{pending}, h.channel.texts())
	})
}

// What was shown before the right was lost is driven to the outcome (R159), and no
// other message is posted for the question until then.
func TestShownCardsAreDrivenToTheTruthWhoeverReadsThem(t *testing.T) {
	t.Parallel()
	for name, loss := range losses() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, h *harness) {
				h.withPerson(core.FailureNone)
				h.channel.onSend(func(string, string) error { return nil })
				h.channel.cuts = true
				h.store.ask("a", person("d", "p"))
				h.start()
				h.pass(time.Second)
				require.Equal(t, []string{pending}, h.channel.texts())

				h.store.lose(loss)
				h.store.requestView("d") // Pressed before.
				h.pass(time.Second)
				require.NotContains(t, h.channel.ops(), "detail")

				h.channel.onEdit(func(string) (core.DeliveryOutcome, error) { return "", h.channel.fails(core.FailureGone) })
				h.store.change("d", func(d *core.Delivery) { d.ShownRevision, d.DueAt = 0, now() })
				h.store.hint("a")
				h.pass(time.Second)
				require.Equal(t, []string{pending}, h.channel.texts(), "no second card for one that is gone")

				h.channel.onEdit(func(string) (core.DeliveryOutcome, error) { return core.OutcomeReplaced, nil })
				h.store.decide("a")
				h.pass(time.Second)
				require.Equal(t, []string{denied}, h.channel.texts())
				require.Equal(t, core.OutcomeReplaced, h.store.row("d").Outcome)
			})
		})
	}
}

// bob is a reviewer with two chats who owns the agent; Ann, the admin, has none.
func (d *deployment) bob() {
	d.t.Helper()
	ctx := d.t.Context()
	require.NoError(d.t, d.store.UnlinkIdentity(ctx, "telegram", "10"))
	require.NoError(d.t, d.store.UnlinkIdentity(ctx, "slack:T", "U1"))
	d.reviewer("bob", "20", "D2")
	d.own("bob")
}

func (d *deployment) reviewer(id, telegram, slack string) {
	d.t.Helper()
	_, err := d.store.AddPrincipal(d.t.Context(), core.Principal{ID: id, Name: id, Role: core.RoleReviewer})
	require.NoError(d.t, err)
	for _, i := range []core.Identity{
		{Realm: "telegram", ExternalID: telegram, PrincipalID: id, Channel: bot.Channel, Account: bot.Account, DirectChat: telegram},
		{Realm: "slack:T", ExternalID: "U" + slack, PrincipalID: id, Channel: slackBot.Channel, Account: slackBot.Account, DirectChat: slack},
	} {
		require.NoError(d.t, d.store.LinkIdentity(d.t.Context(), i))
	}
}

func (d *deployment) own(people ...string) {
	d.t.Helper()
	require.NoError(d.t, d.store.SetOwners(d.t.Context(), "ci", "builder", people))
}

// escalating shows a person's chats one after the other, Slack first.
func escalating() deliveries.Rule {
	return deliveries.Rule{
		To: deliveries.Targets{Approvers: true}, Order: []core.Surface{core.SurfaceSlack}, EscalateAfter: 5 * time.Minute,
	}
}

// When an agent changes hands, the steps that were planned for its former owner go to
// the one who decides now; the card that the former owner has tells the outcome.
func TestCardsFollowTheOwnership(t *testing.T) {
	t.Parallel()
	d := deploy(t, escalating())
	d.bob()
	d.reviewer("eve", "30", "D3")
	asked := d.ask(push)
	d.becomes(asked.Approval.ID, "slack person:bob open", "telegram person:bob planned")
	d.own("eve")
	d.pass(5 * time.Minute)
	d.becomes(asked.Approval.ID, "slack person:bob open", "telegram person:bob failed",
		"slack person:eve open", "telegram person:eve planned")
	require.Equal(t, core.FailureNotEntitled, d.rows(asked.Approval.ID)[1].LastError)
	require.Empty(t, d.telegram.ops())

	eve, err := d.store.Principal(t.Context(), "eve")
	require.NoError(t, err)
	_, err = d.service.Resolve(t.Context(), approvals.Resolve{
		Caller: core.Caller{Person: &eve, Surface: core.SurfacePage},
		Lookup: core.Lookup{ID: asked.Approval.ID}, Kind: core.KindPlugin, Decision: core.DecisionDeny,
	})
	require.NoError(t, err)
	d.becomes(asked.Approval.ID, "slack person:bob replaced", "telegram person:bob failed",
		"slack person:eve replaced", "telegram person:eve skipped")
	require.Equal(t, []string{denied, denied}, d.slack.texts())
}

// Whoever was the only route and lost the right leaves none: the question is denied
// for it, and not left waiting for a card that nobody may read.
func TestTheOnlyRouteLosesTheRight(t *testing.T) {
	t.Parallel()
	for name, loss := range map[string]func(d *deployment){
		"owner":    func(d *deployment) { d.own() },
		"disabled": func(d *deployment) { d.change(core.ChangePrincipal{ID: "bob", Disabled: new(true)}) },
		"viewer":   func(d *deployment) { d.change(core.ChangePrincipal{ID: "bob", Role: new(core.RoleViewer)}) },
		"unlinked": func(d *deployment) {
			require.NoError(d.t, d.store.UnlinkIdentity(d.t.Context(), "telegram", "20"))
			require.NoError(d.t, d.store.UnlinkIdentity(d.t.Context(), "slack:T", "UD2"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := deploy(t, escalating())
			d.bob()
			d.slack.onSend(func(string, string) error { return d.slack.fails(core.FailureRateLimited) })
			asked := d.ask(push)
			require.Equal(t, core.StatusPending, asked.Approval.Status)
			require.Eventually(t, func() bool { return len(d.slack.ops()) > 0 }, 20*time.Second, 2*time.Millisecond)
			loss(d)
			d.slack.onSend(func(string, string) error { return nil })
			d.pass(2 * time.Minute)
			d.becomes(asked.Approval.ID, "slack person:bob failed", "telegram person:bob failed")
			got := d.read(asked.Approval.ID)
			require.Equal(t, core.StatusDenied, got.Status)
			require.Equal(t, core.ReasonNoRoute, got.Reason)
			require.Empty(t, d.slack.texts())
			require.Empty(t, d.telegram.ops())
		})
	}
}

func (d *deployment) change(c core.ChangePrincipal) {
	d.t.Helper()
	_, err := d.store.ChangePrincipal(d.t.Context(), c)
	require.NoError(d.t, err)
}
