package web_test

import (
	"bytes"
	"io/fs"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/presentation"
	"github.com/saysohq/sayso/presentation/web"
)

// Every state has its own name, and none is made of another (R197, conformance 131).
func TestStateOf(t *testing.T) {
	t.Parallel()
	person, elsewhere, nobody := &presentation.Outcome{ByPerson: true}, &presentation.Outcome{ByPerson: true, Elsewhere: true}, &presentation.Outcome{}
	for _, c := range []struct {
		status  core.Status
		outcome *presentation.Outcome
		want    web.State
	}{
		{core.StatusPending, nil, web.StatePending},
		{core.StatusAllowed, person, web.StateHere},
		{core.StatusDenied, person, web.StateHere},
		{core.StatusAllowed, elsewhere, web.StateElsewhere},
		{core.StatusDenied, elsewhere, web.StateElsewhere},
		{core.StatusDenied, nobody, web.StateClosed},
		{core.StatusAllowed, nil, web.StateClosed},
		{core.StatusAllowed, nobody, web.StateUnasked},
		{core.StatusExpired, nobody, web.StateExpired},
		{core.StatusCancelled, nobody, web.StateCancelled},
	} {
		require.Equal(t, c.want, web.StateOf(&presentation.Card{Status: c.status, Outcome: c.outcome}))
	}
}

// hostile is what no page may let through as markup.
const hostile = `"><script>alert(1)</script><a href="javascript:alert(1)" onclick='x'>`

// All text of all pages is escaped, wherever it stands.
func TestRenderer_Escapes(t *testing.T) {
	t.Parallel()
	r, err := web.New()
	require.NoError(t, err)
	frame := web.Frame{Base: "/gate", Title: hostile, Person: hostile, SignOut: hostile, State: web.StatePending, NowMillis: 1}
	card := presentation.Card{
		ApprovalID: hostile, Kind: core.KindExec, Title: hostile, Pill: hostile, Class: core.ClassMoney, Summary: hostile,
		Facts: []presentation.Fact{{Label: hostile, Value: hostile}, {Label: hostile, Value: hostile, Code: true}, {Label: "x", Value: hostile, Time: 5}},
		Marks: []string{hostile}, Outcome: &presentation.Outcome{Text: hostile, Note: hostile},
	}
	act := web.Act{
		Text: hostile, Label: hostile, Sure: hostile, Action: hostile, Token: hostile, Back: hostile, Fields: []web.Field{{Name: "x", Value: hostile}},
	}
	rule := web.RuleRow{
		ID: hostile, Label: hostile, Agent: hostile, Runtime: hostile, AgentPath: hostile, Money: true, By: hostile, MadeText: hostile,
		Card: hostile, Uses: hostile, Until: 1, UntilText: hostile, Ended: hostile, Remove: &act,
	}
	pages := map[string]func(*bytes.Buffer, bool) error{
		"approval": func(b *bytes.Buffer, part bool) error {
			return r.Approval(b, web.Approval{
				Frame: frame, Card: card, Path: "/gate/approve/x", Text: hostile, Cut: true, Hidden: hostile, Notice: hostile, Footer: hostile,
				Notes: []web.Note{{Text: hostile, Path: hostile, PathText: hostile, Acts: []web.Act{act, {Label: hostile, Action: hostile}}}},
				Trail: &web.Trail{Title: hostile, Lines: []web.TrailLine{{Name: hostile, Result: hostile, Why: hostile, Matched: hostile, Change: hostile}}},
				Decide: &web.Decide{
					Token: hostile, View: hostile, Hash: hostile, Allow: []web.Choice{{Value: core.DecisionAllowOnce, Label: hostile}},
					Tick: hostile, TickHash: hostile, OpenFirst: true, Blocked: hostile,
				},
			}, part)
		},
		"agents": func(b *bytes.Buffer, part bool) error {
			return r.Agents(b, web.Agents{Frame: frame, Agents: []web.AgentRow{{
				Path: "/gate/agent?name=x", Name: hostile, Runtime: hostile, Mode: hostile, Default: true, Paused: true, Rules: 2,
			}}}, part)
		},
		"agent": func(b *bytes.Buffer, part bool) error {
			return r.Agent(b, web.Agent{
				Frame: frame, Path: hostile, Name: hostile, Runtime: hostile, Notice: hostile, Action: hostile, Token: hostile, Calls: hostile,
				Modes: []web.Mode{{Value: hostile, Name: hostile, Asks: hostile, Now: true}}, May: true,
				Paused: true, PausedBy: hostile, Pause: &act, Rules: []web.RuleRow{rule}, MoreRules: hostile,
				Money:   &web.Money{Action: hostile, Token: hostile, Tool: hostile, Fault: hostile, Life: hostile, Until: hostile, Sure: true},
				History: []web.Change{{Text: hostile, WhenText: hostile}},
			}, part)
		},
		"rules": func(b *bytes.Buffer, part bool) error {
			return r.Rules(b, web.Rules{Frame: frame, Live: []web.RuleRow{rule}, Ended: []web.RuleRow{rule}, Older: hostile, Only: web.Only{One: true, Agent: hostile, All: hostile}}, part)
		},
		"unattended": func(b *bytes.Buffer, part bool) error {
			return r.Unattended(b, web.Unattended{Frame: frame, Only: web.Only{One: true, Agent: hostile, All: hostile}, Older: hostile, Rows: []web.RanRow{{
				Path: hostile, Title: hostile, Class: core.ClassMoney, Pill: hostile, Agent: hostile, Under: hostile, Result: hostile, WhenText: hostile,
			}}}, part)
		},
		"inbox": func(b *bytes.Buffer, part bool) error {
			row := web.Row{Path: "/gate/approve/x", Title: hostile, Pill: hostile, Agent: hostile, Outcome: hostile, ExpiresText: hostile}
			return r.Inbox(b, web.Inbox{Frame: frame, Waiting: []web.Row{row}, Recent: []web.Row{row}, More: true, Links: hostile}, part)
		},
		"sign-in": func(b *bytes.Buffer, _ bool) error {
			return r.SignIn(b, web.SignIn{Frame: frame, First: true, Name: hostile, Next: hostile, Fault: hostile})
		},
		"confirm": func(b *bytes.Buffer, _ bool) error {
			return r.SignIn(b, web.SignIn{Frame: frame, Confirm: hostile, Code: hostile, Next: hostile})
		},
		"message": func(b *bytes.Buffer, part bool) error {
			return r.Message(b, web.Message{Frame: frame, Heading: hostile, Text: hostile, SignIn: hostile, Retry: true}, part)
		},
	}
	tags := regexp.MustCompile(`(?i)<script(?: defer src="/gate/assets/sayso\.js\?v=[0-9a-f]{12}")?>|<a [^>]*href="javascript:`)
	for name, render := range pages {
		for _, part := range []bool{false, true} {
			var b bytes.Buffer
			require.NoError(t, render(&b, part), name)
			for _, found := range tags.FindAllString(b.String(), -1) {
				require.True(t, strings.HasPrefix(found, `<script defer src=`), "%s: %s", name, found)
			}
			require.NotContains(t, b.String(), `="javascript:`, "%s: no address runs anything", name)
			require.NotContains(t, b.String(), `onclick='`, "quotes are escaped, so no value leaves its attribute")
			whole := strings.HasPrefix(b.String(), "<!doctype html>")
			require.Equal(t, !part || name == "sign-in" || name == "confirm", whole, name)
			require.Contains(t, b.String(), "data-state=", "the script knows a page of ours by it")
		}
	}
}

// A page that cannot be rendered to its end is not begun: half a page could show a
// card without its outcome.
func TestRenderer_AllOrNothing(t *testing.T) {
	t.Parallel()
	r, err := web.New()
	require.NoError(t, err)
	refused := refuses{}
	require.ErrorIs(t, r.Message(refused, web.Message{}, false), fs.ErrClosed)
	require.Len(t, r.Version(), 12)
	again, err := web.New()
	require.NoError(t, err)
	require.Equal(t, r.Version(), again.Version())
}

type refuses struct{}

func (refuses) Write([]byte) (int, error) { return 0, fs.ErrClosed }

// The script and the styles refer to nothing outside of the service, and the script
// writes no markup of its own.
func TestAssets_KeepToThemselves(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"sayso.js", "sayso.css", "icon.svg"} {
		b, err := fs.ReadFile(web.Assets(), name)
		require.NoError(t, err)
		text := strings.ReplaceAll(string(b), "http://www.w3.org/2000/svg", "")
		for _, foreign := range []string{"http:", "https:", "//cdn", "@import", "url(", "innerHTML", "eval(", "localStorage", "document.write"} {
			require.NotContains(t, text, foreign, name)
		}
		require.Less(t, len(b), 16<<10, "%s stays small", name)
	}
}
