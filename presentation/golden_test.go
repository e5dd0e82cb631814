package presentation_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/presentation"
)

var update = flag.Bool("update", false, "write the golden files anew")

type golden struct {
	name   string
	record core.Approval
	detail core.Detail
	place  presentation.Place
}

// TestGoldenCards shows every state and every hostile input as people see it
// (R80-R90, K29, K31, conformance 117-128).
func TestGoldenCards(t *testing.T) {
	t.Parallel()
	cases := append(pendingCases(), append(terminalCases(), hostileCases()...)...)
	for _, g := range cases {
		t.Run(g.name, func(t *testing.T) {
			t.Parallel()
			compare(t, g.name, dump(presentation.For(g.record, g.detail, g.place)))
		})
	}
}

func compare(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name+".golden")
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o750))
		require.NoError(t, os.WriteFile(file, []byte(got), 0o600))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}

func pendingCases() []golden {
	exec, plugin := execApproval(), pluginApproval()
	command := detailOf(exec.Presentation.Command)
	arguments := detailOf("to: dora@example.com\nsubject: Your order\nbody: It is on its way.")

	marked := exec
	marked.Presentation.Redacted, marked.Presentation.MixedScript = true, true
	money := plugin
	money.Class = core.ClassMoney
	moneyCommand := exec
	moneyCommand.Class, moneyCommand.AlwaysOffer = core.ClassMoney, nil
	draft := plugin
	draft.Continuation = core.ContinuationDraft
	longScope := plugin
	longScope.AlwaysOffer = &core.AlwaysOffer{Label: "mail to " + strings.Repeat("a", 80) + "@example.com", Scope: "recipient"}
	read := exec
	read.Class = core.ClassRead
	own := exec
	own.RequestedBy = alice
	onlyDeny := exec
	onlyDeny.Offered = []core.Decision{core.DecisionDeny}
	days := exec
	days.ExpiresAt = asked.Add(168 * time.Hour)
	given := exec
	given.ID = "laptop:a/b c?.js"

	berlin := at(aliceCard)
	berlin.Zone = time.FixedZone("CET", 3600)
	shown := local(aliceCard)
	shown.WholeShown = true
	alicesChat := at(aliceCard)
	alicesChat.Person = alice

	return []golden{
		{"pending_exec", exec, command, at(aliceCard)},
		{"pending_exec_without_public_url", exec, command, local(aliceCard)},
		{"pending_exec_whole_shown", exec, command, shown},
		{"pending_exec_in_another_zone", days, command, berlin},
		{"pending_exec_marks", marked, command, at(aliceCard)},
		{"pending_exec_read", read, command, at(aliceCard)},
		{"pending_exec_asked_by_you", own, command, alicesChat},
		{"pending_exec_only_deny", onlyDeny, command, at(aliceCard)},
		{"pending_exec_given_id", given, command, at(aliceCard)},
		{"pending_plugin_always", plugin, arguments, at(aliceCard)},
		{"pending_plugin_money_never_always", money, arguments, at(aliceCard)},
		{"pending_exec_money_no_list", moneyCommand, command, at(aliceCard)},
		{"pending_plugin_draft", draft, arguments, at(aliceCard)},
		{"pending_plugin_long_scope", longScope, arguments, at(aliceCard)},
	}
}

func terminalCases() []golden {
	exec, plugin := execApproval(), pluginApproval()
	command := detailOf(exec.Presentation.Command)
	once := decided(exec, core.DecisionAllowOnce)
	denied := decided(exec, core.DecisionDeny)
	noted := denied
	noted.Note = "Wait for the release window."
	message := noted
	message.ByMessage = true
	partial := once
	partial.PartialView = true
	late := once
	late.ResolvedAt = asked.Add(40 * time.Hour)
	paged := once
	paged.Surface, paged.DeliveryID = core.SurfacePage, ""
	nameless := once
	nameless.ResolverName = ""
	unknown := once
	unknown.Execution = core.ExecutionUnknown
	yours := at(otherCard)
	yours.Person = alice
	sticky := at(aliceCard)
	sticky.Sticky = 10 * 60 * 1000
	listened := at(otherCard)
	listened.Listens = true
	listenedYours := listened
	listenedYours.Person = alice
	dismissed, again := unknown, unknown
	dismissed.Aftermath = &core.Aftermath{Dismissed: &core.Act{By: alice, Name: "Alice", At: asked.Add(25 * time.Hour)}}
	again.Aftermath = &core.Aftermath{
		Dismissed:  &core.Act{By: "person-bob", Name: "ליאור <b> 😀", At: asked.Add(20 * time.Minute)},
		AskedAgain: &core.Act{By: "person-bob", At: asked.Add(21 * time.Minute)},
	}
	draft := exec
	draft.Continuation = core.ContinuationDraft
	draftDenied := decided(draft, core.DecisionDeny)
	draftAgain := draftDenied
	draftAgain.Aftermath = &core.Aftermath{AskedAgain: &core.Act{By: alice, Name: "Alice", At: asked.Add(4 * time.Minute)}}
	rule := decided(plugin, core.DecisionAllowAlways)
	rule.AlwaysOffer = &core.AlwaysOffer{Label: "mail to " + strings.Repeat("<&>", 60) + "@example.com", Scope: "recipient"}
	page := at("")
	page.Person, page.Page = alice, true
	long := noted
	long.Note = strings.Repeat("A long note. ", 40)
	long.Presentation.Redacted = true

	cases := []golden{
		{"allowed_once_clicked", once, command, at(aliceCard)},
		{"allowed_once_elsewhere", once, command, at(otherCard)},
		{"allowed_once_elsewhere_by_you", once, command, yours},
		{"allowed_once_on_the_page_here", paged, command, page},
		{"allowed_once_on_the_page_elsewhere", paged, command, at(otherCard)},
		{"denied_on_the_page_whole", long, detailOf(repeated("0123456789\n", 660)), page},
		{"allowed_once_partial_view", partial, command, at(otherCard)},
		{"allowed_once_days_later", late, command, at(otherCard)},
		{"allowed_once_nameless", nameless, command, at(otherCard)},
		{"allowed_always_clicked", decided(plugin, core.DecisionAllowAlways), detailOf("to: dora@example.com"), at(aliceCard)},
		{"allowed_outcome_unknown", unknown, command, at(aliceCard)},
		{"allowed_always_elsewhere", decided(plugin, core.DecisionAllowAlways), detailOf("to: dora@example.com"), at(otherCard)},
		{"allowed_always_long_rule", rule, detailOf("to: dora@example.com"), at(aliceCard)},
		{"unknown_where_a_runtime_listens", unknown, command, listened},
		{"unknown_dismissed", dismissed, command, listened},
		{"unknown_dismissed_by_you", dismissed, command, listenedYours},
		{"unknown_asked_again", again, command, listened},
		{"denied_sticks", denied, command, sticky},
		{"denied_sticks_but_not_by_time", ended(exec, core.StatusExpired, core.ReasonTimeout), command, sticky},
		{"denied_draft_where_a_runtime_listens", draftDenied, command, listened},
		{"denied_draft_asked_again", draftAgain, command, listened},
		{"expired_draft_where_a_runtime_listens", ended(draft, core.StatusExpired, core.ReasonTimeout), command, listened},
		{"denied_clicked", denied, command, at(aliceCard)},
		{"denied_elsewhere_with_note", noted, command, at(otherCard)},
		{"denied_by_message", message, command, at(aliceCard)},
		{"expired", ended(exec, core.StatusExpired, core.ReasonTimeout), command, at(aliceCard)},
	}
	for _, r := range []core.Reason{
		core.ReasonMalformedVerdict, core.ReasonHashMismatch, core.ReasonNoRoute, core.ReasonStickyDecline,
		core.ReasonStorageCorrupt, core.ReasonPolicy,
	} {
		cases = append(cases, golden{"denied_" + string(r), ended(exec, core.StatusDenied, r), command, at(aliceCard)})
	}
	for _, r := range []core.Reason{
		core.ReasonWithdrawn, core.ReasonAdmin, core.ReasonRunAborted, core.ReasonRuntimeRestart,
		core.ReasonSuperseded, core.ReasonStorageRestored,
	} {
		cases = append(cases, golden{"cancelled_" + string(r), ended(exec, core.StatusCancelled, r), command, at(aliceCard)})
	}
	for _, v := range []core.VoidReason{
		core.VoidLapsed, core.VoidRunAborted, core.VoidRuntimeRestart, core.VoidSuperseded,
		core.VoidStorageRestored, core.VoidHashMismatch,
	} {
		voided := once
		voided.Execution, voided.VoidReason = core.ExecutionVoided, v
		cases = append(cases, golden{"voided_" + string(v), voided, command, at(aliceCard)})
	}
	return cases
}

// hostileCases hold text as the redactor leaves it: hidden characters are written
// out, markup is not yet escaped.
func hostileCases() []golden {
	bidi := execApproval()
	bidi.Presentation.Command = `echo \u{202E}gpj.exe\u{202C}`
	zero := pluginApproval()
	zero.Presentation.Title = `Claude\u{200B} wants to use Mail`
	fence := execApproval()
	fence.Presentation.Title = "``` </pre><b>Allowed</b>"
	fence.Agent = "*bold* _it_ [x](javascript:alert(1))"
	mention := pluginApproval()
	mention.Presentation.Description = "<!channel> @everyone <@U123> tg://user?id=1"
	mention = decided(mention, core.DecisionDeny)
	mention.Note = "<!here> @everyone ```"
	empty := execApproval()
	empty.Agent, empty.Risk, empty.RequestedBy = "", "", ""
	empty.Presentation = core.Presentation{Kind: core.KindExec, Title: "x"}
	nowhere := local(aliceCard)
	nowhere.Requester = ""
	arabic := decided(execApproval(), core.DecisionAllowOnce)
	arabic.ResolverName = "ليلى"
	hebrew := execApproval()
	hebrew.Presentation.Title = "קלוד רוצה להריץ פקודה"
	long := decided(execApproval(), core.DecisionDeny)
	long.ResolverName = strings.Repeat("𝔸", 64)
	long.Note = strings.Repeat("note & more ", 83)
	short := decided(empty, core.DecisionAllowAlways)
	short.ResolverName, short.Surface = strings.Repeat("𝔸", 64), core.SurfaceTelegram

	big := core.Detail{Text: repeated(`<a&b> 😀 \u{200B}`+"\n", core.MaxDetail)}
	beyond := core.Detail{Text: big.Text, Omitted: 1_234_567}
	lost := pluginApproval()
	lost.DetailBytes = 5_000

	return []golden{
		{"hostile_bidi", bidi, detailOf(bidi.Presentation.Command), at(aliceCard)},
		{"hostile_zero_width", zero, detailOf("to: x"), at(aliceCard)},
		{"hostile_fence", fence, detailOf("``` \n</code></pre>"), at(aliceCard)},
		{"hostile_mentions", mention, detailOf("@everyone <!channel>"), at(otherCard)},
		{"hostile_empty", empty, core.Detail{}, nowhere},
		{"hostile_empty_terminal", short, core.Detail{}, nowhere},
		{"hostile_rtl_name", arabic, detailOf("ls"), at(otherCard)},
		{"hostile_rtl_title", hebrew, detailOf("ls"), at(aliceCard)},
		{"hostile_long_terminal", long, big, at(otherCard)},
		{"hostile_64k", execApproval(), big, local(aliceCard)},
		{"hostile_beyond_64k", execApproval(), beyond, at(aliceCard)},
		{"hostile_beyond_64k_whole_shown", execApproval(), beyond, wholeShown()},
		{"hostile_detail_missing", lost, core.Detail{}, at(aliceCard)},
	}
}

func wholeShown() presentation.Place {
	p := local(aliceCard)
	p.WholeShown = true
	return p
}

// dump writes a card for eyes; blocks beyond 2,000 bytes are summed up.
func dump(c presentation.Card) string {
	var b strings.Builder
	line := func(label, value string) {
		if value == "" {
			return
		}
		if len(value) > 2000 {
			value = fmt.Sprintf("%s... %d bytes", value[:len(`<a&b> 😀 \u{200B}`)], len(value))
		}
		fmt.Fprintf(&b, "%s: %s\n", label, value)
	}
	line("title", c.Title)
	line("pill", c.Pill)
	line("summary", c.Summary)
	line("command", c.Command)
	line("body", c.Body)
	for _, f := range c.Facts {
		line("fact "+f.Label, f.Value)
	}
	for _, m := range c.Marks {
		line("mark", m)
	}
	if c.Omitted != 0 {
		fmt.Fprintf(&b, "omitted: %d\n", c.Omitted)
	}
	line("cut mark", c.CutMark)
	if o := c.Outcome; o != nil {
		line("outcome", strings.ReplaceAll(o.Text, "\u200e", "[LRM]"))
		line("note", o.Note)
		fmt.Fprintf(&b, "allowed %t, elsewhere %t\n", o.Allowed, o.Elsewhere)
		if o.Unknown {
			b.WriteString("unknown\n")
		}
	}
	for _, a := range c.Actions {
		fmt.Fprintf(&b, "action: [%s] %s%s%s %s\n", a.Label, a.Decision, a.Value, a.URL, a.Type)
	}
	for _, a := range c.CutActions {
		fmt.Fprintf(&b, "when cut: [%s] %s%s%s %s\n", a.Label, a.Decision, a.Value, a.URL, a.Type)
	}
	fmt.Fprintf(&b, "%s %s, revision %d, whole shown %t\n", c.Kind, c.Status, c.Revision, c.WholeShown)
	return b.String()
}
