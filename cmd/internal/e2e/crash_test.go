//go:build unix

package e2e_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/channels/fakes"
	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/presentation"
)

// Invariant 5: whatever the service was doing when it was killed, after the next
// start every card it ever sent tells the truth within 30 s, or is recorded as
// impossible to edit; nothing is decided or executed twice.

// Killed after the question was committed and before its card was sent.
func TestKilledBeforeTheCard(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{line: true})
	w.alice()
	// The first card holds the chat, so the second one waits for its turn.
	held := w.line.hold("sendMessage", requestHeld)
	first := w.ask(secretWord + " first")
	held.held(w)
	second := w.ask(secretWord + " second")
	w.crash()
	require.Empty(t, w.cards(secretWord))
	w.start()
	for i, id := range []string{first, second} {
		title := secretWord + []string{" first", " second"}[i]
		card := w.message(aliceChat, title, "Deny")
		require.Contains(t, w.press(aliceChat, card, "Deny"), "You denied this.")
		w.becomes(card, "Denied by you")
		require.Len(t, w.cards(title), 1)
		require.Len(t, w.converges(id), 1)
	}
}

// Killed between the messenger's taking the card and its receipt: the messenger
// cannot be asked, so a second card is sent while an answer is still wanted. Either
// decides, and both end up telling the truth.
func TestKilledBeforeTheReceipt(t *testing.T) {
	t.Parallel()
	for _, pressed := range []string{"the lost card", "the second card"} {
		t.Run(pressed, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, setup{line: true})
			w.alice()
			held := w.line.hold("sendMessage", answerHeld)
			id := w.ask(secretWord + " lost")
			held.held(w)
			lost := w.message(aliceChat, secretWord, "Allow once")
			w.crash()
			w.start()
			again := w.second(lost)
			if pressed == "the lost card" {
				lost, again = again, lost
			}
			require.Contains(t, w.press(aliceChat, again, "Allow once"), "You allowed this once.")
			w.becomes(again, "Allowed once by you")
			w.converges(id)
			// The other one learns of it when it is pressed, if it has not before.
			if now, ok := w.fake.Message(lost.Locator); ok && asks(now) {
				require.Contains(t, w.press(aliceChat, lost, "Deny"), "lready decided: allowed once by you on Telegram")
			}
			w.becomes(lost, "allowed once by you on Telegram")
			w.converges(id)
			require.Equal(t, core.StatusAllowed, w.record(id).Status)
			require.Len(t, w.cards(secretWord), 2)
		})
	}
}

// second waits for another card beside the first.
func (w *world) second(first fakes.Message) fakes.Message {
	w.t.Helper()
	m, err := w.fake.AwaitMessage(w.ctx, func(m fakes.Message) bool {
		_, ok := m.Button("Allow once")
		return ok && m.Locator != first.Locator && m.Address == first.Address
	})
	require.NoError(w.t, err)
	return m
}

// Killed before the receipt of a card whose question was decided meanwhile: no
// second card. The message heals at its first press.
func TestKilledBeforeTheReceiptOfADecidedQuestion(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{line: true})
	page := w.alice()
	held := w.line.hold("sendMessage", answerHeld)
	id := w.ask(secretWord + " orphan")
	held.held(w)
	orphan := w.message(aliceChat, secretWord, "Allow once")
	page.decide(id, "deny")
	w.crash()
	w.start()
	cards := w.converges(id)
	require.Len(t, cards, 1)
	require.Equal(t, core.OutcomePossibleOrphan, cards[0].Outcome)
	require.Len(t, w.cards(secretWord), 1, "nobody is asked about what is decided")
	require.Contains(t, w.press(aliceChat, orphan, "Allow once"), "Already decided: denied by you on the page")
	w.becomes(orphan, "Resolved elsewhere: denied by you on the page")
	require.Equal(t, core.StatusDenied, w.record(id).Status)
}

// Killed after a decision was committed: before the edit left, and after the
// messenger had made it.
func TestKilledAroundTheEdit(t *testing.T) {
	t.Parallel()
	for _, s := range []stage{requestHeld, answerHeld} {
		t.Run(string(s), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, setup{line: true, chats: []string{fmt.Sprint(teamChat)}})
			w.fake.AddGroup(teamChat, "team")
			page := w.alice()
			waits := w.cli("ask", secretWord+" edit")
			card, group := w.message(aliceChat, secretWord, "Deny"), w.message(teamChat, secretWord, "Deny")
			id := w.idOf(secretWord + " edit")
			w.converges(id)
			held := []*hold{w.line.hold("editMessageText", s), w.line.hold("editMessageText", s)}
			page.decide(id, "deny")
			for _, h := range held {
				h.held(w)
			}
			w.crash()
			w.start()
			waits.ends(10)
			w.becomes(card, "Resolved elsewhere: denied by you on the page")
			w.becomes(group, "Resolved elsewhere: denied by Alice on the page")
			w.converges(id)
			// A button that somebody still sees answers.
			require.Contains(t, w.pressOld(aliceChat, card, "Allow once"), "Already decided: denied by you on the page")
			require.Contains(t, w.pressOld(aliceChat, group, "Deny"), "You had already denied this, ")
			require.Len(t, w.cards(secretWord), 2)
		})
	}
}

// Killed with its runner, between claim and outcome: the grant stays used.
func TestKilledWhileTheCommandRuns(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{})
	page := w.alice()
	probe := w.probe()
	flags := []string{"--title", secretWord + " claimed", "--key", "claimed"}
	run := probe.run([]string{probeHold + "=1"}, flags, itself(t))
	card := w.message(aliceChat, secretWord, "Allow once")
	id := w.idOf(secretWord + " claimed")
	page.decide(id, "allow-once")
	probe.started()
	w.crash()
	run.kill()
	w.start()
	w.becomes(card, "Resolved elsewhere: allowed once by you on the page")
	require.Equal(t, core.ExecutionClaimed, w.record(id).Execution)
	again := probe.run([]string{probeHold + "=1"}, flags, itself(t))
	again.ends(1)
	require.Contains(t, again.err.String(), "the grant was already claimed")
	require.Len(t, probe.starts(), 1, "nothing runs twice")
	// Nobody knows what the dead runner did; whoever can find out may say so.
	require.Equal(t, core.ExecutionClaimed, w.record(id).Execution)
}

// A send that the network delivers after its sender has died: what it paints is
// painted over, or answers for itself.
func TestLateCardOfADeadProcess(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{line: true})
	w.alice()
	held := w.line.hold("sendMessage", requestHeld)
	id := w.ask(secretWord + " late")
	held.held(w)
	w.crash()
	w.start()
	card := w.message(aliceChat, secretWord, "Deny")
	w.press(aliceChat, card, "Deny")
	w.becomes(card, "Denied by you")
	held.release()
	late := w.second(card)
	answer := w.press(aliceChat, late, "Allow once")
	require.NotContains(t, answer, presentation.AnswerNotRecorded)
	require.Contains(t, answer, "lready decided: denied by you on Telegram")
	w.becomes(late, "denied by you on Telegram")
	require.Equal(t, core.StatusDenied, w.record(id).Status)
	w.converges(id)
}

// An edit that arrives after its sender has died and after the truth was shown
// paints an old card over it. The row was unsettled, so it is painted once more.
func TestLateEditOfADeadProcess(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{line: true})
	page := w.alice()
	// Only a card that was too long is edited while it still waits.
	id := w.ask(secretWord+" stale", "--arguments", fmt.Sprintf("{%q:%q}", "text", long(9_000)))
	card := w.message(aliceChat, secretWord, "Show all")
	w.converges(id)
	held := w.line.hold("editMessageText", requestHeld)
	w.press(aliceChat, card, "Show all")
	held.held(w)
	w.crash()
	w.start()
	page.decide(id, "deny")
	w.becomes(card, "Resolved elsewhere: denied by you on the page")
	held.release()
	w.message(aliceChat, secretWord, "Deny")
	settled := core.CallTimeout + core.SettleMargin + afterRestart
	w.becomesWithin(settled, card, "Resolved elsewhere: denied by you on the page")
}

func long(n int) string {
	text := make([]byte, n)
	for i := range text {
		text[i] = "abcdefghij "[i%11]
	}
	return string(text)
}
