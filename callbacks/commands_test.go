package callbacks_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/callbacks"
	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/presentation"
)

// typed sends a command in the direct chat.
func typed(t *testing.T, w *world, user, text string) channels.Answer {
	t.Helper()
	return w.pipeline.Text(t.Context(), w.say(user, text))
}

func TestStartAndUnknownCommands(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	require.Equal(t, presentation.AnswerWelcome, typed(t, w, "999", "/start").Text)
	require.Equal(t, presentation.AnswerUsage, typed(t, w, "999", "/dance").Text)
	anonymous := w.say("999", "/start LINKCODE")
	anonymous.Actor.Refused = "a channel"
	require.Equal(t, presentation.AnswerRefused("a channel"), w.pipeline.Text(t.Context(), anonymous).Text)
	for _, text := range []string{"/start", "/dance", "hello"} {
		c := w.say("999", text)
		c.Direct = false
		require.Empty(t, cmp.Diff(channels.Answer{}, w.pipeline.Text(t.Context(), c)), text)
	}
}

func TestWhoAmI(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	require.Equal(t, "You are Alice (reviewer). Your Telegram id is 4711.", typed(t, w, "4711", "/whoami").Text)
	require.Equal(t, "You are Alice (reviewer). Your Telegram id is 4711.", typed(t, w, "4711", " /WhoAmI@sayso_bot ").Text)
	require.Equal(t, presentation.AnswerUnknownAccount(realm, "999"), typed(t, w, "999", "/whoami").Text)
	anonymous := w.say("999", "/whoami")
	anonymous.Actor.Refused = "an anonymous admin"
	require.Equal(t, presentation.AnswerRefused("an anonymous admin"), w.pipeline.Text(t.Context(), anonymous).Text)
	w.onPerson = core.ErrUnavailable
	require.Equal(t, presentation.AnswerNotRecorded, typed(t, w, "4711", "/whoami").Text)
}

// The list holds what the person may see and is not read out in shared chats.
func TestPendingLists(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	answer := typed(t, w, "4711", "/pending")
	require.Equal(t, "2 questions wait for you:\n"+presentation.WaitingLine(w.record(approvalID))+"\n"+presentation.WaitingLine(w.record(otherID)), answer.Text)
	require.Equal(t, presentation.AnswerNoneWaiting, typed(t, w, "4714", "/pending").Text, "nothing of others")
	require.Equal(t, notYours+"999.", typed(t, w, "999", "/pending").Text)
	shared := w.say("4711", "/pending")
	shared.Direct = false
	require.Equal(t, presentation.AnswerDirectOnly, w.pipeline.Text(t.Context(), shared).Text)
	for i := range 30 {
		w.add(fmt.Sprintf("0193a6f0-0000-7000-8000-1000000000%02d", i))
	}
	many := typed(t, w, "4711", "/pending")
	require.Len(t, strings.Split(many.Text, "\n"), 1+19)
	require.True(t, strings.HasPrefix(many.Text, presentation.AnswerWaiting(19, true)))
	require.LessOrEqual(t, len(many.Text), 4_000)
	w.onList = core.ErrUnavailable
	require.Equal(t, presentation.AnswerNotRecorded, typed(t, w, "4711", "/pending").Text)
}

// /deny takes the id or the reference and needs no card; unknown and foreign ids
// are told alike (R155).
func TestTypedDeny(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	require.Equal(t, presentation.AnswerUsageDeny, typed(t, w, "4711", "/deny").Text)
	for _, id := range []string{"no-such-id", approvalID[:8], approvalID + "0"} {
		require.Equal(t, notYours+"4711.", typed(t, w, "4711", "/deny "+id).Text, id)
	}
	require.Equal(t, notYours+"4714.", typed(t, w, "4714", "/deny "+approvalID).Text)
	require.Equal(t, notYours+"999.", typed(t, w, "999", "/deny "+approvalID).Text)
	require.Empty(t, w.resolves)

	require.Equal(t, presentation.AnswerMayNotDecide, typed(t, w, "4713", "/deny "+approvalID).Text)
	require.Equal(t, "You denied this with your note.", typed(t, w, "4711", "/deny@sayso_bot "+approvalID+"  Not today,\nplease. ").Text)
	require.Equal(t, "Not today,\nplease.", w.record(approvalID).Note)
	require.Empty(t, w.record(approvalID).DeliveryID, "no card was clicked")
	require.Equal(t, "You had already denied this with your note, 14:03 UTC.", typed(t, w, "4711", "/deny "+approvalID).Text)
	require.Equal(t, "You denied this.", typed(t, w, "4711", "/deny "+w.record(otherID).Ref).Text)
}

// K39: /approve decides only with the fingerprint, and only where a complete card
// of it is open in this very chat.
func TestTypedApprove(t *testing.T) {
	t.Parallel()
	fingerprint := core.Fingerprint(core.HashOf([]byte(approvalID)))
	w := newWorld(t)
	for text, want := range map[string]string{
		"/approve": presentation.AnswerUsageApprove,
		"/approve " + approvalID + " maybe " + fingerprint:        presentation.AnswerUsageApprove,
		"/approve " + approvalID:                                  presentation.AnswerUseCard,
		"/approve " + approvalID + " allow-once":                  presentation.AnswerUseCard,
		"/approve " + approvalID + " allow-once aaaaaaaa":         presentation.AnswerWrongPrint,
		"/approve " + approvalID + " allow-always " + fingerprint: presentation.AnswerNoCard,
		"/approve no-such-id allow-once " + fingerprint:           notYours + "4711.",
	} {
		require.Equal(t, want, typed(t, w, "4711", text).Text, text)
	}
	require.Empty(t, w.resolves)
	command := "/approve " + approvalID + " allow-once " + strings.ToUpper(fingerprint)
	require.Equal(t, notYours+"4714.", typed(t, w, "4714", command).Text)
	require.Equal(t, presentation.AnswerMayNotDecide, typed(t, w, "4713", command).Text)
	require.Equal(t, "You allowed this once.", typed(t, w, "4711", command).Text)
	require.Equal(t, "d-direct", w.record(approvalID).DeliveryID)
	require.Equal(t, "You had already allowed this once, 14:03 UTC.", typed(t, w, "4711", command).Text)
	require.Equal(t, "You denied this.", typed(t, w, "4711", "/approve "+otherID+" deny").Text, "deny needs no fingerprint")
}

// K39: where a direct chat has no card of the question it gets one, and the text
// decides nothing; a shared chat never gets one that way.
func TestTypedApproveAnswersWithACard(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deliveries = w.deliveries[1:] // The group's card stays.
	command := "/approve " + approvalID + " allow-once " + core.Fingerprint(core.HashOf([]byte(approvalID)))
	require.Equal(t, presentation.AnswerCardComes, typed(t, w, "4711", command).Text)
	require.Empty(t, w.resolves)
	require.Empty(t, cmp.Diff([]core.PlannedDelivery{{
		ID: w.cards[0].ID, Channel: core.SurfaceTelegram, Account: w.cards[0].Account,
		Destination: "person:alice", PersonID: "alice", Address: chat,
	}}, w.cards))
	require.Equal(t, []core.Hint{{ApprovalID: approvalID, Deliveries: true}}, w.hints, "the worker is told at once")

	answer := w.pipeline.Text(t.Context(), channels.Text{
		Account: bot, Actor: channels.Actor{Realm: realm, ID: "4711"}, Chat: `{"chat":-200}`, Text: command,
	})
	require.Equal(t, presentation.AnswerNoCard, answer.Text)
	require.Len(t, w.cards, 1)
	w.onView = core.ErrUnavailable
	require.Equal(t, presentation.AnswerNotRecorded, typed(t, w, "4711", command).Text)
}

func TestTypedApproveNeedsACompleteOpenCardHere(t *testing.T) {
	t.Parallel()
	fingerprint := core.Fingerprint(core.HashOf([]byte(approvalID)))
	for name, spoil := range map[string]func(*core.Delivery){
		"cut":             func(d *core.Delivery) { d.ShownComplete = false },
		"closed":          func(d *core.Delivery) { d.State = core.DeliveryClosed },
		"not confirmed":   func(d *core.Delivery) { d.State, d.Locator = core.DeliverySending, "" },
		"other hash":      func(d *core.Delivery) { d.ShownHash = core.HashOf(nil) },
		"offers no allow": func(d *core.Delivery) { d.Offered = []core.Decision{core.DecisionDeny} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, func(c *callbacks.Config) { c.PublicURL = "https://ok.example.com" })
			spoil(&w.deliveries[0])
			answer := typed(t, w, "4711", "/approve "+approvalID+" allow-once "+fingerprint)
			require.Empty(t, cmp.Diff(channels.Answer{
				Text: presentation.AnswerNoCard + "\nhttps://ok.example.com/approve/" + approvalID, Alert: true,
			}, answer))
			require.Empty(t, w.resolves)
		})
	}
}
