package presentation_test

import (
	"html"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/presentation"
)

// measures are the ways in which platforms count a text.
var measures = map[string]func(string) int{
	"bytes":      func(s string) int { return len(s) },
	"characters": func(s string) int { return len([]rune(s)) },
	"utf-16":     func(s string) int { return len(utf16.Encode([]rune(s))) },
	"html":       func(s string) int { return len(html.EscapeString(s)) },
	"markdown": func(s string) int {
		n := len(s)
		for _, r := range s {
			if strings.ContainsRune("\\_*[]()~`>#+-=|{}.!<@:", r) {
				n++
			}
		}
		return n
	},
}

// layout writes a card's text the way a channel would.
func layout(c presentation.Card) string {
	parts := []string{c.Title, c.Pill, c.Summary, c.Command, c.Body}
	for _, f := range c.Facts {
		parts = append(parts, f.Label+": "+f.Value)
	}
	parts = append(parts, c.Marks...)
	if c.Outcome != nil {
		parts = append(parts, c.Outcome.Text, c.Outcome.Note)
	}
	var kept []string
	for _, p := range parts {
		if p != "" {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, "\n")
}

func drawText(t *rapid.T, label string, most int) string {
	return rapid.StringOfN(rapid.RuneFrom([]rune("ab <>&\"'*_`\\{}\nд漢😀ל")), -1, most, -1).Draw(t, label)
}

// drawRecord draws a pending record and one of its possible ends.
func drawRecord(t *rapid.T) (pending, terminal core.Approval, d core.Detail) {
	a := execApproval()
	if rapid.Bool().Draw(t, "plugin") {
		a = pluginApproval()
	}
	a.Presentation.Title = "x" + drawText(t, "title", 79)
	a.Presentation.Description = drawText(t, "description", 512)
	a.Agent, a.Risk = drawText(t, "agent", 40), drawText(t, "risk", 40)
	a.Runtime = rapid.StringMatching(`[a-z0-9][a-z0-9-]{0,31}`).Draw(t, "runtime")
	a.Class = rapid.SampledFrom([]core.Class{core.ClassRead, core.ClassMoney}).Draw(t, "class")
	a.Continuation = rapid.SampledFrom([]core.Continuation{core.ContinuationLive, core.ContinuationDraft}).Draw(t, "continuation")
	a.ExpiresAt = a.CreatedAt.Add(time.Duration(rapid.Int64Range(1, 168*3600).Draw(t, "expires")) * time.Second)
	d = core.Detail{Text: drawText(t, "detail", 900)}
	if d.Text == "" {
		a.Presentation.Command, a.Presentation.Arguments, a.Presentation.Lines = "", nil, nil
	}

	if a.AlwaysOffer != nil {
		a.AlwaysOffer = &core.AlwaysOffer{Label: "x" + drawText(t, "scope", 200)}
	}
	pending = a
	switch rapid.IntRange(0, 3).Draw(t, "end") {
	case 0:
		a = decided(a, core.DecisionAllowOnce)
		a.Execution = rapid.SampledFrom([]core.Execution{core.ExecutionUnclaimed, core.ExecutionUnknown}).Draw(t, "execution")
	case 1:
		a = decided(a, core.DecisionDeny)
		a.Note, a.ByMessage = drawText(t, "note", 1000), rapid.Bool().Draw(t, "by message")
	case 2:
		a = decided(a, core.DecisionAllowAlways)
		a.Execution, a.VoidReason = core.ExecutionVoided, core.VoidHashMismatch
	default:
		a = ended(a, core.StatusCancelled, core.ReasonStorageRestored)
	}
	if rapid.Bool().Draw(t, "after") {
		act := func(label string) *core.Act {
			at := a.CreatedAt.Add(time.Duration(rapid.Int64Range(0, 168*3600).Draw(t, label)) * time.Second)
			return rapid.SampledFrom([]*core.Act{nil, {By: alice, Name: drawText(t, label, 64), At: at}}).Draw(t, label)
		}
		a.Aftermath = &core.Aftermath{Dismissed: act("dismissed"), AskedAgain: act("asked again")}
	}
	a.ResolverName = drawText(t, "name", 64)
	a.PartialView = a.Decision.Allows() && rapid.Bool().Draw(t, "partial")
	a.ResolvedAt = a.CreatedAt.Add(time.Duration(rapid.Int64Range(0, 168*3600).Draw(t, "resolved")) * time.Second)
	return pending, a, d
}

// A terminal card fits wherever its pending card fitted: it is shorter by every
// measure, whatever the texts are.
func TestTerminalTextIsAlwaysShorter(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		pending, terminal, d := drawRecord(t)
		place := local(rapid.SampledFrom([]string{aliceCard, otherCard}).Draw(t, "delivery"))
		place.Requester = ""
		place.Listens = rapid.Bool().Draw(t, "listens")
		place.Sticky = core.Millis(rapid.Int64Range(0, core.MaxExpiry).Draw(t, "sticky"))
		before := layout(presentation.For(pending, d, place))
		card := presentation.For(terminal, d, place)
		after := layout(card)
		for name, measure := range measures {
			require.Less(t, measure(after), measure(before), "%s\n--- pending\n%s\n--- terminal\n%s", name, before, after)
		}
		require.Regexp(t, `(?s)(llowed|enied|eclined|ancelled).*\d\d:\d\d UTC`, card.Outcome.Text, "what and when are never cut away")
		require.Equal(t, terminal.Execution == core.ExecutionUnknown, strings.HasPrefix(card.Outcome.Text, "May have happened: "))
		for _, whole := range []bool{true, false} {
			actions, _ := card.Controls(whole)
			require.Equal(t, card.Actions, append([]core.Action(nil), actions...), "nothing there decides (R86)")
		}
	})
}
