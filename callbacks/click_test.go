package callbacks_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/callbacks"
	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/approvals"
	"github.com/saysohq/sayso/presentation"
)

const notYours = "You cannot answer this. If you should: give an admin your Telegram id, "

// Conformance 91: an authorised click decides as the person behind the platform's
// user id, with what the ledger says the card had shown.
func TestAuthorisedClickDecides(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	answer := w.pipeline.Click(t.Context(), w.press(t, "4711", message, allow(approvalID)))
	require.Empty(t, cmp.Diff(channels.Answer{Text: "You allowed this once."}, answer))

	require.Len(t, w.resolves, 1)
	alice := w.people[realm+"/4711"]
	a := w.record(approvalID)
	require.Empty(t, cmp.Diff(approvals.Resolve{
		Caller: core.Caller{Person: &alice, Surface: core.SurfaceTelegram},
		Lookup: core.Lookup{Ref: a.Ref}, Kind: core.KindExec, Decision: core.DecisionAllowOnce, DeliveryID: "d-direct",
		Shown: approvals.Shown{Complete: true, ActionHash: a.ActionHash, Offered: []core.Decision{core.DecisionAllowOnce, core.DecisionDeny}},
	}, w.resolves[0]))
	require.Equal(t, core.StatusAllowed, a.Status)
	require.Equal(t, core.StatusPending, w.record(otherID).Status, "no other approval is touched")
}

// answerTo clicks and returns the text.
func answerTo(t *testing.T, w *world, user string, a core.Action, locator string) string {
	t.Helper()
	return w.pipeline.Click(t.Context(), w.press(t, user, locator, a)).Text
}

// Conformance 92: whoever may not answer is told the id that was seen, in the same
// words whether unknown, unentitled or disabled (R155); the card stays usable.
func TestStrangersChangeNothing(t *testing.T) {
	t.Parallel()
	for user, why := range map[string]string{"999": "unknown", "4714": "not a reviewer", "4715": "disabled"} {
		t.Run(why, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			for _, action := range []core.Action{
				allow(approvalID), deny(approvalID),
				callback(core.CallbackNote, core.KindExec, approvalID), callback(core.CallbackShowAll, core.KindExec, approvalID),
			} {
				answer := w.pipeline.Click(t.Context(), w.press(t, user, message, action))
				require.Empty(t, cmp.Diff(channels.Answer{Text: notYours + user + ".", Alert: true}, answer))
			}
			require.Equal(t, core.StatusPending, w.record(approvalID).Status)
			require.Empty(t, w.prompts)
			require.Empty(t, w.views)
			require.Equal(t, "You allowed this once.", answerTo(t, w, "4711", allow(approvalID), message))
		})
	}
}

// A viewer may look and is refused in words of their own, never as a stranger.
func TestViewersAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, action := range []core.Action{
		allow(approvalID), deny(approvalID),
		callback(core.CallbackNote, core.KindExec, approvalID), callback(core.CallbackShowAll, core.KindExec, approvalID),
	} {
		require.Equal(t, presentation.AnswerMayNotDecide, answerTo(t, w, "4713", action, message))
	}
	require.Equal(t, core.StatusPending, w.record(approvalID).Status)
}

// Conformance 56: a required second pair of eyes counts by person.
func TestRequesterIsRefusedWhereExcluded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.change(approvalID, func(a *core.Approval) { a.ExcludeRequester, a.RequestedBy = true, "alice" })
	require.Equal(t, presentation.AnswerMayNotDecide, answerTo(t, w, "4711", allow(approvalID), message))
	require.Equal(t, presentation.AnswerMayNotDecide, answerTo(t, w, "4711", callback(core.CallbackNote, core.KindExec, approvalID), message))
	require.Equal(t, "You allowed this once.", answerTo(t, w, "4712", allow(approvalID), message))
}

// Anonymous admins and channels are refused in their own words, before anything is read.
func TestRefusedKindsOfAccount(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.press(t, "4711", message, allow(approvalID))
	c.Actor.Refused = "an anonymous admin"
	answer := w.pipeline.Click(t.Context(), c)
	require.Equal(t, presentation.AnswerRefused("an anonymous admin"), answer.Text)
	require.True(t, answer.Alert)
	require.Empty(t, w.resolves)
	text := w.say("4711", "/deny "+approvalID)
	text.Actor.Refused = "a channel"
	require.Equal(t, presentation.AnswerRefused("a channel"), w.pipeline.Text(t.Context(), text).Text)
	require.Equal(t, core.StatusPending, w.record(approvalID).Status)
}

// Conformance 84, 85: forged and foreign payloads are answered and decide nothing.
func TestForgedPayloadsDecideNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	good := w.press(t, "4711", message, allow(approvalID))
	for name, c := range map[string]struct {
		payload string
		want    string
	}{
		"empty":             {"", presentation.AnswerNotOurs},
		"somebody else's":   {"approve:" + approvalID, presentation.AnswerNotOurs},
		"another version":   {"~2" + good.Payload[2:], presentation.AnswerForeign},
		"changed tag":       {good.Payload[:63] + flip(good.Payload[63]), presentation.AnswerForeign},
		"changed verb":      {strings.Replace(good.Payload, "~1Koe", "~1Kae", 1), presentation.AnswerForeign},
		"another secret":    {sign(secret(9), bot, good.Payload[:48]), presentation.AnswerForeign},
		"made for a sister": {sign(secret(1), otherBot, good.Payload[:48]), presentation.AnswerForeign},
		"too long":          {good.Payload + "x", presentation.AnswerForeign},
		"huge":              {strings.Repeat("~", 1<<20), presentation.AnswerForeign},
	} {
		click := good
		click.Payload = c.payload
		answer := w.pipeline.Click(t.Context(), click)
		require.Empty(t, cmp.Diff(channels.Answer{Text: c.want, Alert: true}, answer), name)
	}
	require.Empty(t, w.resolves)
	require.Equal(t, core.StatusPending, w.record(approvalID).Status)
}

// A payload of one card that is sent from another card, a forwarded copy, or no
// message at all decides nothing: the original card is named.
func TestClicksThatAreNotOnTheirCard(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.adoptable = true // Even then: each misses another part of the rule.
	w.deliveries[0].Ambiguous = true
	moved := w.press(t, "4711", `{"chat":4711,"message":20}`, allow(approvalID))
	forwarded := w.press(t, "4711", elsewhere, allow(approvalID))
	forwarded.Copy.SentByUs = false
	stripped := w.press(t, "4711", elsewhere, allow(approvalID))
	stripped.Copy.Payloads = nil
	swapped := w.press(t, "4711", elsewhere, allow(approvalID))
	swapped.Copy.Payloads = w.press(t, "4711", elsewhere, deny(approvalID)).Copy.Payloads
	nowhere := w.press(t, "4711", "", allow(approvalID))
	strange := w.press(t, "4711", elsewhere, allow(approvalID))
	strange.Chat = `{"chat":1}`
	for name, c := range map[string]channels.Click{
		"on another approval's card": moved, "forwarded copy": forwarded, "copy without buttons": stripped,
		"copy with other buttons": swapped, "message not said": nowhere, "chat without a card": strange,
	} {
		answer := w.pipeline.Click(t.Context(), c)
		require.Empty(t, cmp.Diff(channels.Answer{Text: presentation.AnswerOpenOriginal, Alert: true}, answer), name)
	}
	w.adoptable = false
	require.Equal(t, presentation.AnswerOpenOriginal, answerTo(t, w, "4711", allow(approvalID), elsewhere), "the store says no")
	require.Equal(t, notYours+"999.", answerTo(t, w, "999", allow(approvalID), elsewhere), "a stranger learns nothing about cards")
	require.Empty(t, w.resolves)
}

// A message whose receipt was lost is tied to its row by the decision that its
// click makes, and shows what the ledger wrote before that send.
func TestLostSendIsAdoptedByItsClick(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.adoptable = true
	w.deliveries[0].State, w.deliveries[0].Locator, w.deliveries[0].Ambiguous = core.DeliverySending, "", true
	require.Equal(t, "You allowed this once.", answerTo(t, w, "4711", allow(approvalID), elsewhere))
	require.Equal(t, []core.Adopt{{Channel: bot.Channel, Account: bot.Account, Address: chat, Locator: elsewhere}}, w.adopted)
	require.Equal(t, "d-direct", w.resolves[0].DeliveryID)
	require.True(t, w.resolves[0].Shown.Complete)

	late := newWorld(t)
	late.adoptable = true
	late.onResolve = func(int, approvals.Resolve) error { return core.ErrConflict }
	require.Equal(t, presentation.AnswerOpenOriginal, answerTo(t, late, "4711", allow(approvalID), elsewhere), "the store had the last word")
	require.Equal(t, presentation.AnswerOpenOriginal, answerTo(t, late, "4711", callback(core.CallbackShowAll, core.KindExec, approvalID), elsewhere))
	require.Empty(t, late.views)
}

// receiptAfter is a ledger in which the receipt of a message comes after a number of
// looks.
type receiptAfter struct {
	*world
	looks int
}

func (l *receiptAfter) DeliveryAt(ctx context.Context, ref core.AccountRef, locator string) (core.Delivery, error) {
	if l.looks--; l.looks >= 0 {
		return core.Delivery{}, core.ErrNotFound
	}
	return l.world.DeliveryAt(ctx, ref, locator)
}

// A message is in the chat before its receipt is in the ledger, and people are
// quick: whichever comes first, the press counts.
func TestPressOvertakesTheReceipt(t *testing.T) {
	t.Parallel()
	for name, adoptable := range map[string]bool{"the receipt came before the rule was asked": false, "it came before the write": true} {
		w := newWorld(t)
		w.adoptable = adoptable
		w.onResolve = func(_ int, r approvals.Resolve) error {
			if r.Adopt != nil {
				return core.ErrConflict
			}
			return nil
		}
		deps := w.with(w)
		deps.Ledger = &receiptAfter{world: w, looks: 1}
		answer := callbacks.New(callbacks.Config{}, deps).Click(t.Context(), w.press(t, "4711", message, allow(approvalID)))
		require.Equal(t, "You allowed this once.", answer.Text, name)
		require.Equal(t, "d-direct", w.resolves[len(w.resolves)-1].DeliveryID, name)
	}
}

// Conformance 115, K29: what the card showed and offered is read from the ledger. A
// cut card cannot allow, whatever a changed client sends; deny always works.
func TestCutCardCannotAllow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deliveries[0].ShownComplete, w.deliveries[0].Offered = false, []core.Decision{core.DecisionDeny}
	require.Equal(t, presentation.AnswerNotShown, answerTo(t, w, "4711", allow(approvalID), message))
	w.deliveries[0].Offered = []core.Decision{core.DecisionAllowOnce, core.DecisionDeny}
	require.Equal(t, presentation.AnswerNotShown, answerTo(t, w, "4711", allow(approvalID), message), "whatever it offered")
	w.deliveries[0].ShownComplete, w.deliveries[0].Offered = true, nil
	require.Equal(t, presentation.AnswerNotShown, answerTo(t, w, "4711", allow(approvalID), message), "no list is an empty list")
	require.NotNil(t, w.resolves[2].Shown.Offered)
	require.Equal(t, presentation.AnswerNotOffered, answerTo(t, w, "4711", decision(core.DecisionAllowAlways, core.KindExec, approvalID), message))
	require.Equal(t, core.StatusPending, w.record(approvalID).Status)
	require.Equal(t, "You denied this.", answerTo(t, w, "4711", deny(approvalID), message))
}

// Conformance 96, 99 and R27: the loser hears the winner; the same click again
// hears the same as before; a late click hears who, where and when.
func TestLateClicksAreToldTheTruth(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	click := w.press(t, "4711", message, allow(approvalID))
	require.Equal(t, "You allowed this once.", w.pipeline.Click(t.Context(), click).Text)
	for range 3 { // Delivered again by the platform, or pressed again.
		again := w.pipeline.Click(t.Context(), click)
		require.Empty(t, cmp.Diff(channels.Answer{Text: "You had already allowed this once, 14:03 UTC."}, again))
	}
	lost := w.pipeline.Click(t.Context(), w.press(t, "4712", groupCard, deny(approvalID)))
	require.Empty(t, cmp.Diff(channels.Answer{Text: "Already decided: allowed once by Alice on Telegram, 14:03 UTC.", Alert: true}, lost))
	same := w.pipeline.Click(t.Context(), w.press(t, "4712", groupCard, allow(approvalID)))
	require.Equal(t, lost, same)
	require.Equal(t, lost.Text, answerTo(t, w, "4712", callback(core.CallbackNote, core.KindExec, approvalID), groupCard))
	require.Empty(t, w.prompts, "no prompt for what is decided")
}

// Conformance 100: an expired card answers so, each time, and nothing retries.
func TestExpiredCardSaysSo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.change(approvalID, func(a *core.Approval) {
		a.Status, a.Reason, a.ResolverKind, a.ResolvedAt = core.StatusExpired, core.ReasonTimeout, core.ResolverSystem, a.ExpiresAt
	})
	for range 2 {
		answer := w.pipeline.Click(t.Context(), w.press(t, "4711", message, allow(approvalID)))
		require.Empty(t, cmp.Diff(channels.Answer{Text: "Expired at 14:30 UTC: nobody answered in time.", Alert: true}, answer))
	}
}

func TestWrongHashIsToldAsADenial(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.change(approvalID, func(a *core.Approval) {
		a.Status, a.Reason, a.Decision = core.StatusDenied, core.ReasonHashMismatch, core.DecisionDeny
		a.ResolverKind, a.ResolverID, a.ResolvedAt = core.ResolverHuman, "alice", asked
	})
	answer := w.pipeline.Click(t.Context(), w.press(t, "4711", message, allow(approvalID)))
	require.Empty(t, cmp.Diff(channels.Answer{Text: "Denied at 14:00 UTC: the answer was for another action.", Alert: true}, answer))
}

func TestShowAllAsksTheLedger(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	action := callback(core.CallbackShowAll, core.KindExec, approvalID)
	require.Empty(t, cmp.Diff(channels.Answer{Text: presentation.AnswerShowAll}, w.pipeline.Click(t.Context(), w.press(t, "4711", message, action))))
	require.Equal(t, []string{"d-direct"}, w.views)
	require.Equal(t, []core.Hint{{ApprovalID: approvalID, Deliveries: true}}, w.hints)
	w.onView = core.ErrConflict
	require.Equal(t, presentation.AnswerShownAlready, answerTo(t, w, "4711", action, message))
	w.onView = core.ErrUnavailable
	require.Equal(t, presentation.AnswerNotRecorded, answerTo(t, w, "4711", action, message))
	require.Equal(t, core.StatusPending, w.record(approvalID).Status)
}
