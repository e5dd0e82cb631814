package slack

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/slack-go/slack"
	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/callbacks"
	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/presentation"
)

var update = flag.Bool("update", false, "write the golden files anew")

func testChannel(t *testing.T) *Channel {
	t.Helper()
	codec, err := callbacks.NewCodec(callbacks.Key{ID: "k", Secret: bytes.Repeat([]byte("k"), 32)})
	require.NoError(t, err)
	c, err := New(Config{BotToken: "xoxb-1", AppToken: "xapp-1-A1-1-x", Team: "T1"}, codec)
	require.NoError(t, err)
	return c
}

// goldenCards are written out, so that a change of wording elsewhere does not touch
// how this platform lays a card out.
func goldenCards() map[string]presentation.Card {
	decide := func(d core.Decision, label string) core.Action {
		return core.Action{Type: core.ActionApproval, ApprovalID: "a", Kind: core.KindExec, Decision: d, Label: label}
	}
	call := func(v core.CallbackValue, label string) core.Action {
		return core.Action{Type: core.ActionCallback, ApprovalID: "a", Kind: core.KindExec, Value: v, Label: label}
	}
	note, deny := call(core.CallbackNote, "Deny with a note"), decide(core.DecisionDeny, "Deny")
	review := core.Action{Type: core.ActionURL, Label: "Review", URL: "https://ok.example.com/approve/a"}
	pending := presentation.Card{
		ApprovalID: "a", Kind: core.KindExec, Status: core.StatusPending, Title: "Claude wants to run <@U1> & more", Pill: "Reaches out",
		Command: "ssh prod 'systemctl restart api' && echo <!channel>",
		Facts: []presentation.Fact{
			{Label: "Agent", Value: "Claude"},
			{Label: "Runs in", Value: "/srv/api", Code: true},
			{Label: "Expires", Value: "14:30 UTC", Time: 1_796_049_000_000},
			{Label: "Fingerprint", Value: "fvyrmqvx", Code: true},
		},
		Marks: []string{"Some values are hidden."}, CutMark: "Not all of it fits here. Review it before you allow it.",
		Actions:    []core.Action{decide(core.DecisionAllowOnce, "Allow once"), decide(core.DecisionAllowAlways, "Always allow ssh to prod"), deny, note, review},
		CutActions: []core.Action{deny, note, review},
	}
	cards := map[string]presentation.Card{"exec_pending": pending}
	long := pending
	long.Command = strings.Repeat("echo one of many lines\n", 200)
	cards["cut"] = long
	denied := pending
	denied.Outcome = &presentation.Outcome{Text: "Resolved elsewhere: denied by Alice on Telegram, 14:03 UTC", Elsewhere: true, ByPerson: true, Note: "use <staging>"}
	cards["denied_elsewhere"] = denied
	return cards
}

// readable writes a message so that a person can judge it.
func readable(t *testing.T, m message) string {
	t.Helper()
	raw, err := json.MarshalIndent(m.all(), "", " ")
	require.NoError(t, err)
	text := string(raw)
	for _, b := range m.buttons {
		if b.Value != "" {
			text = strings.ReplaceAll(text, b.Value, fmt.Sprintf("%d bytes", len(b.Value)))
		}
	}
	return m.notice + "\n----\n" + strings.ReplaceAll(text, `echo one of many lines\n`, "…\n") + "\n"
}

func TestGoldenCards(t *testing.T) {
	t.Parallel()
	c := testChannel(t)
	for name, card := range goldenCards() {
		r, err := c.Render(card)
		require.NoError(t, err)
		m, ok := r.Payload.(message)
		require.True(t, ok)
		got := readable(t, m)
		path := filepath.Join("testdata", name+".golden")
		if *update {
			require.NoError(t, os.MkdirAll("testdata", 0o750))
			require.NoError(t, os.WriteFile(path, []byte(got), 0o600))
		}
		want, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Empty(t, cmp.Diff(string(want), got), name)
	}
}

// Every block stays within its limit after escaping, whatever comes (R81, K29), and a
// plain layout shows all that the first one did.
func TestBlocksStayWithinTheirLimits(t *testing.T) {
	t.Parallel()
	for _, unit := range []string{"x", "<", "&", "𝒳", "\n", "\x00", "<!channel> "} {
		for _, n := range []int{1, 2_990, 3_010} {
			text := strings.Repeat(unit, n)
			card := goldenCards()["exec_pending"]
			card.Command, card.Summary, card.Title = text, text, text
			card.Marks = slices.Repeat([]string{text}, 3)
			card.Facts = append(card.Facts, presentation.Fact{Label: "Folder", Value: text, Code: true})
			for _, outcome := range []*presentation.Outcome{nil, {Text: text, Note: text}} {
				card.Outcome = outcome
				m, _ := layout(card)
				require.LessOrEqual(t, len(m.blocks), 3)
				for _, shown := range m.texts {
					require.LessOrEqual(t, size(shown), maxBlock, "%d of %q", n, unit)
				}
				require.LessOrEqual(t, len(m.notice), 6*maxNotice)
				m.buttons = []*slack.ButtonBlockElement{{Value: "v", Text: plainText("Deny", maxLabel)}}
				plain := m.plain()
				require.Equal(t, strings.Join(m.texts, "\n"), strings.Join(plain.texts, ""))
				require.LessOrEqual(t, len(plain.blocks), 6)
				require.Len(t, plain.buttons, 1)
			}
		}
	}
}

// One button at most is the obvious one, and links that cannot work are left out.
func TestButtons(t *testing.T) {
	t.Parallel()
	c := testChannel(t)
	allow := core.Action{Type: core.ActionApproval, ApprovalID: "a", Kind: core.KindExec, Decision: core.DecisionAllowOnce, Label: " "}
	var actions []core.Action
	for _, url := range []string{"https://ok.example.com", "http://localhost:8080/x", "javascript:alert(1)", "//x", "https://u:p@x", ":", "https://x/" + strings.Repeat("y", maxLink)} {
		actions = append(actions, core.Action{Type: core.ActionURL, Label: "Review", URL: url})
	}
	actions = append(actions, allow, allow, core.Action{Type: core.ActionCommand, Command: "/approve"})
	list, keyID, err := c.buttons(actions)
	require.NoError(t, err)
	require.Equal(t, "k", keyID)
	require.Len(t, list, 4)
	require.Equal(t, slack.StylePrimary, list[2].Style)
	require.Empty(t, list[3].Style)
	require.Equal(t, "approval", list[2].Text.Text, "never without a word on it")
	m := message{buttons: slices.Repeat(list, 20)}
	require.Len(t, m.all(), 4, "in rows of 25")
	_, _, err = c.buttons([]core.Action{{Type: core.ActionApproval, Decision: "perhaps"}})
	require.Error(t, err)
}

func TestCutAndSplit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in   string
		most int
		out  string
	}{
		{"abc", 3, "abc"}, {"abcd", 3, "ab…"}, {"a&b", 7, "a&b"}, {"a&b", 6, "a…"}, {"𝒳𝒳", 3, "𝒳…"}, {`ab\u{200B}`, 8, "ab…"}, {"", 1, ""},
	} {
		got, wasCut := cut(c.in, c.most)
		require.Equal(t, c.out, got)
		require.Equal(t, c.in != c.out, wasCut)
	}
	text := strings.Repeat("line <of> text\n", 500) + strings.Repeat("𝒳", 5_000)
	parts := split(text, 1_000)
	require.Equal(t, text, strings.Join(parts, ""))
	for _, p := range parts {
		require.LessOrEqual(t, size(p), 1_000)
	}
	require.Equal(t, "a<b>&c", unescape(escape("a<b>&c")))
	require.Equal(t, "&lt;", unescape("&amp;lt;"))
	require.Equal(t, `\u{0}\u{85}\u{202E}`+"\n\t\uFFFD", clean("\x00\u0085\u202e\n\t\xff"))
}

// A dialog brings back which prompt it answers, whatever else does not fit.
func TestMetadata(t *testing.T) {
	t.Parallel()
	m := metadata{Prompt: "p", Chat: "C1/1.1", Direct: true, Response: "https://hooks.slack.com/actions/x"}
	got, ok := readMetadata(m.String())
	require.True(t, ok)
	require.Equal(t, m, got)
	m.Response += strings.Repeat("x", maxMetadata)
	require.LessOrEqual(t, len(m.String()), maxMetadata)
	got, ok = readMetadata(m.String())
	require.True(t, ok)
	require.Empty(t, got.Response)
	for _, bad := range []string{"", "{", "{}", "[]", `{"chat":"C1"}`} {
		_, ok := readMetadata(bad)
		require.False(t, ok, bad)
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	for want, u := range map[string]*slack.User{
		"Olga (@olga)": {Name: "olga", RealName: "Olga"}, "@olga": {Name: "olga"}, "Olga": {RealName: "Olga"},
		"O (@olga)": {Name: "olga", RealName: "Olga", Profile: slack.UserProfile{DisplayName: " O "}}, "": {},
	} {
		require.Equal(t, want, nameOf(u))
	}
}
