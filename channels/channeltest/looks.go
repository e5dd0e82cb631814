package channeltest

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/channels/fakes"
	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/presentation"
)

// looksFile stands in the folder of the platform under test: every state of a card and
// every menu as a person reads it there. It is written anew with -update, where the
// platform's tests have that flag.
const looksFile = "testdata/looks.txt"

func lookCases() []testCase {
	return []testCase{{"every_state_reads_as_written_down", looks}}
}

// look is one thing that people are shown.
type look struct {
	name string
	card presentation.Card
}

func looks(t *testing.T, b *bundle) {
	var out strings.Builder
	for _, l := range append(pendingLooks(), settledLooks()...) {
		locator, r := b.send(t, b.Direct, l.card)
		fmt.Fprintf(&out, "=== %s\n%s\n", l.name, b.lookOf(t, locator))
		if l.card.Outcome != nil {
			require.Empty(t, r.Offered, "%s: nothing there decides", l.name)
		}
	}
	menus := menuLooks()
	for i, m := range b.answerLooks(t, menus) {
		fmt.Fprintf(&out, "=== %s\n%s\n", menus[i].name, m)
	}
	if f := flag.Lookup("update"); f != nil && f.Value.String() == "true" {
		require.NoError(t, os.WriteFile(looksFile, []byte(out.String()), 0o600))
	}
	want, err := os.ReadFile(looksFile)
	require.NoError(t, err)
	require.Equal(t, string(want), out.String())
}

func (b *bundle) lookOf(t *testing.T, locator string) string {
	t.Helper()
	return lookOf(b.shown(t, locator))
}

// lookOf is a message with its buttons, as a person reads it.
func lookOf(m fakes.Message) string {
	var out strings.Builder
	out.WriteString(strings.TrimRight(m.Text, "\n"))
	for _, button := range m.Buttons {
		fmt.Fprintf(&out, "\n[%s]", button.Label)
	}
	return out.String() + "\n"
}

func pendingLooks() []look {
	exec, plugin := execOf("Claude wants to run a command"), pluginOf("Claude wants to use Mail")
	plugin.Operation = core.Operation{Tool: "mail", Name: "send"}
	plugin.AlwaysOffer = &core.AlwaysOffer{Label: "mail to dora@example.com", Scope: "recipient", Value: "dora@example.com"}
	const command, arguments = "ssh prod 'systemctl restart api'", "to: dora@example.com\nsubject: Your order"
	writes, reads, money, draft, scope := exec, exec, plugin, plugin, plugin
	writes.Class, reads.Class, money.Class = core.ClassWrite, core.ClassRead, core.ClassMoney
	draft.Continuation = core.ContinuationDraft
	scope.AlwaysOffer = &core.AlwaysOffer{Label: "mail to every address that ends in @a-rather-long-name.example.com", Scope: "recipient"}
	return []look{
		{"pending command, reaches out", cardOf(exec, command)},
		{"pending command, makes changes", cardOf(writes, command)},
		{"pending command, only reads", cardOf(reads, command)},
		{"pending tool, always allow", cardOf(plugin, arguments)},
		{"pending tool, a long scope", cardOf(scope, arguments)},
		{"pending tool, money", cardOf(money, arguments)},
		{"pending draft", cardOf(draft, arguments)},
	}
}

// settledLooks are the ends of a question, in the chat of somebody else than who
// answered, where a runtime listens and a decline holds for ten minutes.
func settledLooks() []look {
	place := presentation.Place{Now: asked.Add(time.Hour), Listens: true, Sticky: 600_000, Delivery: "d1"}
	settled := func(change func(a *core.Approval)) presentation.Card {
		a := allowed()
		change(&a)
		return presentation.For(a, core.Detail{Text: "ssh prod 'systemctl restart api'"}, place)
	}
	deny := func(a *core.Approval) {
		a.Status, a.Decision, a.Grant = core.StatusDenied, core.DecisionDeny, core.Grant{Execution: core.ExecutionNone}
	}
	unknown := func(f *core.Aftermath) func(a *core.Approval) {
		return func(a *core.Approval) { a.Execution, a.Aftermath = core.ExecutionUnknown, f }
	}
	bob := func(minutes int) *core.Act {
		return &core.Act{By: "p2", Name: "Bob", At: asked.Add(time.Duration(minutes) * time.Minute)}
	}
	return []look{
		{"allowed once", settled(func(*core.Approval) {})},
		{"always allowed", settled(func(a *core.Approval) { a.Decision = core.DecisionAllowAlways })},
		{"declined", settled(deny)},
		{"declined with a note", settled(func(a *core.Approval) { deny(a); a.Note = "Wait for the release window." })},
		{"declined by a message", settled(func(a *core.Approval) {
			deny(a)
			a.Note, a.ByMessage, a.Reason = "Use the other host.", true, core.ReasonMessage
		})},
		{"declined draft", settled(func(a *core.Approval) { deny(a); a.Continuation = core.ContinuationDraft })},
		{"may have happened", settled(unknown(nil))},
		{"may have happened, dismissed", settled(unknown(&core.Aftermath{Dismissed: bob(20)}))},
		{"may have happened, asked again", settled(unknown(&core.Aftermath{Dismissed: bob(20), AskedAgain: bob(21)}))},
		{"permission lapsed", settled(func(a *core.Approval) { a.Execution, a.VoidReason = core.ExecutionVoided, core.VoidLapsed })},
		{"expired", settled(func(a *core.Approval) {
			deny(a)
			a.Status, a.Resolution = core.StatusExpired, core.Resolution{Reason: core.ReasonTimeout, ResolverKind: core.ResolverSystem, ResolvedAt: a.ExpiresAt}
		})},
		{"answered, and then damaged", presentation.DamagedCard(allowed().ID, core.KindExec, 2)},
	}
}

// menuLook is a menu under a name.
type menuLook struct {
	name string
	channels.Answer
}

func menuLooks() []menuLook {
	claude := presentation.MenuAgent{Runtime: "laptop", Name: "Claude", Mode: core.ModeBeforeOutside, Default: true, Rules: 1, May: true}
	rules := []core.Rule{{Label: "mail to dora@example.com", CreatedName: "Alice", CreatedAt: asked, Uses: 3}}
	return []menuLook{
		{"mode", menu("m1", presentation.MenuMode(claude), presentation.MenuModeLabel(core.ModeBeforeEverything),
			presentation.MenuModeLabel(core.ModeOnlyMoney), presentation.MenuRulesLabel(claude), presentation.LabelBack, presentation.LabelClose)},
		{"rules", menu("m2", presentation.MenuRules(claude, 1, rules, asked, nil), presentation.MenuTakeBack(1), presentation.LabelMode, presentation.LabelClose)},
		{"help", channels.Answer{Text: presentation.AnswerUsage}},
		{"ask again?", menu("m3", presentation.PromptAgain(func() core.Approval { a := allowed(); a.Execution = core.ExecutionUnknown; return a }()),
			presentation.LabelYesAskAgain, presentation.LabelDismiss)},
	}
}

// answerLooks are answers to typed commands as the person reads them.
func (b *bundle) answerLooks(t *testing.T, menus []menuLook) []string {
	t.Helper()
	next := make(chan channels.Answer, len(menus))
	b.receive(t, b.ch, &Inbox{OnText: func(context.Context, channels.Text) channels.Answer { return <-next }})
	list := make([]string, 0, len(menus))
	for i := range menus {
		before := len(b.Platform.Messages())
		next <- menus[i].Answer
		_, err := b.Platform.Type(Typed{Person: b.Owner, Address: b.Direct, Text: "/mode"})
		require.NoError(t, err)
		_, err = b.Platform.AwaitMessage(b.ctx, func(fakes.Message) bool { return len(b.Platform.Messages()) > before })
		require.NoError(t, err)
		all := b.Platform.Messages()
		list = append(list, lookOf(all[len(all)-1]))
	}
	return list
}
