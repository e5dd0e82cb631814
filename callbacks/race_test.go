package callbacks_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/saysohq/sayso/callbacks"
	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/approvals"
)

// Conformance 14, 96, 97: of many clicks at once one decides, and everybody is told
// the same winner.
func TestConcurrentClicksHaveOneWinner(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	clicks := make([]channels.Click, 0, 40)
	for range 20 {
		clicks = append(clicks, w.press(t, "4711", message, allow(approvalID)), w.press(t, "4712", groupCard, deny(approvalID)))
	}
	answers := make([]string, len(clicks))
	var all sync.WaitGroup
	for i, c := range clicks {
		all.Go(func() { answers[i] = w.pipeline.Click(t.Context(), c).Text })
	}
	all.Wait()

	won, again, late := "You allowed this once.", "You had already allowed this once, 14:03 UTC.", "Already decided: allowed once by Alice on Telegram, 14:03 UTC."
	if w.record(approvalID).Decision == core.DecisionDeny {
		won, again, late = "You denied this.", "You had already denied this, 14:03 UTC.", "Already decided: denied by Bob on Telegram, 14:03 UTC."
	}
	counts := map[string]int{}
	for _, text := range answers {
		counts[text]++
	}
	require.Equal(t, map[string]int{won: 1, again: 19, late: 20}, counts)
}

// A wrong hash that this very click brought is no success.
func TestAppliedMismatchIsNoSuccess(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	denied := w.record(approvalID)
	denied.Status = core.StatusDenied
	denied.Resolution = core.Resolution{
		Decision: core.DecisionDeny, Reason: core.ReasonHashMismatch, ResolvedAt: asked,
		ResolverKind: core.ResolverHuman, ResolverID: "alice", ResolverName: "Alice",
	}
	p := callbacks.New(callbacks.Config{}, w.with(fixed{approvals.Resolved{Approval: denied, Applied: true}}))
	answer := p.Click(t.Context(), w.press(t, "4711", message, allow(approvalID)))
	require.Equal(t, "Denied at 14:00 UTC: the answer was for another action.", answer.Text)
	require.True(t, answer.Alert)
}

// fixed is a resolver with one answer.
type fixed struct{ answer approvals.Resolved }

func (f fixed) Resolve(context.Context, approvals.Resolve) (approvals.Resolved, error) {
	return f.answer, nil
}

// Whatever is typed, only /approve with the fingerprint allows, and outside of
// direct chats and commands nothing decides at all (K19, K39).
func TestNoTextAllowsByAccident(t *testing.T) {
	t.Parallel()
	words := []string{
		"/approve", "/approve@sayso_bot", "/deny", "/pending", "/start", "allow-once", "allow-always", "deny", "yes", "OK",
		approvalID, otherID, "aaaaaaaa", "\n", " ", "/", "@", "\u202e",
	}
	rapid.Check(t, func(r *rapid.T) {
		w := newWorld(t)
		text := ""
		for _, word := range rapid.SliceOfN(rapid.SampledFrom(words), 1, 6).Draw(r, "words") {
			text += word + " "
		}
		c := w.say(rapid.SampledFrom([]string{"4711", "4713", "999"}).Draw(r, "user"), text)
		c.Direct = rapid.Bool().Draw(r, "direct")
		c.ReplyTo = rapid.SampledFrom([]string{"", message, elsewhere}).Draw(r, "reply")
		w.pipeline.Text(t.Context(), c)
		for _, id := range []string{approvalID, otherID} {
			require.NotEqual(r, core.StatusAllowed, w.record(id).Status)
			if !c.Direct && !strings.HasPrefix(strings.TrimSpace(text), "/") {
				require.Equal(r, core.StatusPending, w.record(id).Status, "free text in a group decided")
			}
		}
	})
}
