package telegram

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/callbacks"
	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/presentation"
)

var update = flag.Bool("update", false, "write the golden files anew")

// readable writes a message so that a person can judge it: entities in angle
// brackets, one row of buttons a line.
func readable(m message) string {
	u := utf16.Encode([]rune(m.text))
	var b strings.Builder
	at := 0
	for _, e := range m.entities {
		b.WriteString(string(utf16.Decode(u[at:e.Offset])))
		fmt.Fprintf(&b, "<%s|%s>", e.Type, string(utf16.Decode(u[e.Offset:e.Offset+e.Length])))
		at = e.Offset + e.Length
	}
	b.WriteString(string(utf16.Decode(u[at:])) + "\n----\n")
	if m.keyboard == nil {
		return b.String()
	}
	for _, row := range m.keyboard.Rows {
		for _, button := range row {
			fmt.Fprintf(&b, "[%s|%s%d bytes|%s]", button.Text, button.Style+" ", len(button.CallbackData), button.URL)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// goldenCards are written out, so that a change of wording elsewhere does not
// touch how this platform lays a card out.
func goldenCards() map[string]presentation.Card {
	decide := func(d core.Decision, label string) core.Action {
		return core.Action{Type: core.ActionApproval, ApprovalID: "a", Kind: core.KindExec, Decision: d, Label: label}
	}
	note := core.Action{Type: core.ActionCallback, ApprovalID: "a", Kind: core.KindExec, Value: core.CallbackNote, Label: "Deny with a note"}
	showAll := core.Action{Type: core.ActionCallback, ApprovalID: "a", Kind: core.KindExec, Value: core.CallbackShowAll, Label: "Show all"}
	review := core.Action{Type: core.ActionURL, Label: "Review", URL: "https://ok.example.com/approve/a"}
	deny := decide(core.DecisionDeny, "Deny")
	pending := presentation.Card{
		ApprovalID: "a", Kind: core.KindExec, Status: core.StatusPending, Title: "Claude wants to run a command", Pill: "Reaches out",
		Command: "ssh prod 'systemctl restart api'",
		Facts: []presentation.Fact{
			{Label: "Agent", Value: "Claude"},
			{Label: "Runs in", Value: "/srv/api", Code: true},
			{Label: "Expires", Value: "14:30 UTC"},
			{Label: "Fingerprint", Value: "fvyrmqvx", Code: true},
		},
		Marks: []string{"Some values are hidden."}, CutMark: "Not all of it fits here. Review it before you allow it.",
		Actions:    []core.Action{decide(core.DecisionAllowOnce, "Allow once"), decide(core.DecisionAllowAlways, "Always allow ssh to prod"), deny, note, review},
		CutActions: []core.Action{deny, note, review},
	}
	cards := map[string]presentation.Card{"exec_pending": pending}
	local := pending
	local.Actions = slices.Clone(pending.Actions)
	local.Actions[4].URL = "http://localhost:8080/approve/a"
	cards["link_left_out"] = local
	long := pending
	long.Command = strings.Repeat("echo one of many lines\n", 300)
	long.CutActions = []core.Action{deny, note, showAll}
	cards["cut"] = long
	long.WholeShown, long.CutActions = true, pending.Actions
	cards["cut_and_whole_shown"] = long
	plugin := pending
	plugin.Kind, plugin.Command = core.KindPlugin, ""
	plugin.Title, plugin.Summary = "Claude wants to mail bob@example.com", "Sends one message to @bob, (see example.com)."
	plugin.Body = "to: bob@example.com\nsubject: <b>hi</b> ```"
	cards["plugin_pending"] = plugin
	done := pending
	done.Status, done.Pill, done.Facts, done.Marks, done.Actions, done.CutActions = core.StatusDenied, "", pending.Facts[:1], nil, nil, nil
	done.Outcome = &presentation.Outcome{Text: "Resolved elsewhere: denied by Alice on Slack, 14:03 UTC", Elsewhere: true, Note: "use the staging host, @alice"}
	cards["denied_elsewhere"] = done
	return cards
}

func TestGolden(t *testing.T) {
	t.Parallel()
	k, err := callbacks.NewCodec(callbacks.Key{ID: "k", Secret: bytes.Repeat([]byte("k"), 32)})
	require.NoError(t, err)
	c, err := New(Config{Token: "1:a"}, k)
	require.NoError(t, err)
	cards := goldenCards()
	for name, card := range cards {
		r, err := c.Render(card)
		require.NoError(t, err)
		m, ok := r.Payload.(message)
		require.True(t, ok)
		got := fmt.Sprintf("%scomplete %v, offers %v\n", readable(m), r.Complete, r.Offered)
		file := filepath.Join("testdata", name+".golden")
		if *update {
			require.NoError(t, os.WriteFile(file, []byte(got), 0o600))
		}
		want, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Empty(t, cmp.Diff(string(want), got), name)
	}
	files, err := os.ReadDir("testdata")
	require.NoError(t, err)
	for _, f := range files {
		name, isGolden := strings.CutSuffix(f.Name(), ".golden")
		require.True(t, !isGolden || slices.ContainsFunc(names(cards), func(n string) bool { return n == name }), "stale %s", f.Name())
	}
}

func names(cards map[string]presentation.Card) []string {
	var list []string
	for n := range cards {
		list = append(list, n)
	}
	return list
}
