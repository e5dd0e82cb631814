package channeltest

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/presentation"
)

func textCases() []testCase {
	return []testCase{
		{"hostile_text_stays_text_117_127", hostileText},
		{"hostile_text_in_every_field_127", hostileFields},
		{"too_long_is_cut_visibly_122_128", cutVisibly},
		{"every_length_around_the_limit_120_123", aroundTheLimit},
		{"escaping_never_breaks_a_limit_124", escapingGrowth},
		{"show_all_completes_a_cut_card", wholeShown},
		{"missing_bytes_never_allow", omittedBytes},
		{"longest_ids_and_labels_10_81", longestIDs},
		{"crowded_card_keeps_its_command", crowded},
		{"links_that_the_platform_refuses_are_left_out", badLinks},
	}
}

// hostile texts: markup of every messenger, mentions, fence breakouts, scripts.
func hostile() []string {
	return []string{
		"<b>bold</b> &lt;i&gt; <script>alert(1)</script> &amp;amp;",
		"*bold* _italic_ ~strike~ `code` ||spoiler|| [link](https://evil.example)",
		"```\nfence\n``` and ~~~ and \\``` and `` ` ``",
		"@everyone @here @channel @sayso_bot <@U123> <!channel> <!here> <@&99> <#C1> <#55>",
		"https://evil.example/x?a=b#c www.evil.example evil.example mailto:a@evil.example tg://user?id=1",
		"/start /approve@sayso_bot x (/deny) #hashtag $CASH +49 170 1234567 4111111111111111",
		":smile: <:custom:1> :+1:",
		"<https://evil.example|click> <t:1700000000:R> <!date^1^{date}|x>",
		"مرحبا بالعالم שלום עולם नमस्ते 你好 こんにちは 안녕하세요 สวัสดี Ελληνικά Кириллица",
		"👩‍👩‍👧‍👦 🏳️‍🌈 🇩🇪 é à 𝒳𝓎𝓏 👍🏽",
		"å ring, ̳ double low line, ̿ double over line",
		"\\u{200B}\\u{202E}\\u{2066} visible escapes",
		"line one\nline two\n\n\nline five\ttab",
		"> quote\n>>> block\n# heading\n- list\n1. list\n-# small",
		strings.Repeat("a.b ", 120),
		strings.Repeat("@x #y ", 60),
		"{\"a\":[1,2,{\"b\":null}]} %s %d %[1]v $(rm -rf /) `id` ; | & > <",
		"\u202ereversed\u202c zero\u200bwidth",
	}
}

// same compares texts without what platforms do to white space.
func same(s string) string { return strings.Join(strings.Fields(s), " ") }

func hostileText(t *testing.T, b *bundle) {
	for _, kind := range []core.Kind{core.KindExec, core.KindPlugin} {
		for _, text := range hostile() {
			a := execOf("Claude wants to run a command")
			if kind == core.KindPlugin {
				a = pluginOf("Claude wants to use a tool")
			}
			for _, address := range []string{b.Direct, b.Group} {
				locator, r := b.send(t, address, cardOf(a, text))
				m := b.shown(t, locator)
				require.True(t, r.Complete)
				require.Empty(t, m.Pings, "mention or link out of %q", text)
				require.True(t, utf8.ValidString(m.Text))
				if readable(text) {
					require.Contains(t, same(m.Text), same(text), "what you see is what runs")
				}
			}
		}
	}
}

// readable is false for texts with characters that a platform drops by itself and
// that a channel therefore spells out.
func readable(text string) bool {
	return !strings.ContainsAny(text, "\u030a\u0333\u033f\u202e\u202c\u200b\u2066")
}

func hostileFields(t *testing.T, b *bundle) {
	for _, text := range hostile() {
		a := pluginOf(text)
		a.Presentation.Description, a.Agent, a.Risk, a.Presentation.Folder = text, text, text, text
		card := cardOf(a, text)
		locator, _ := b.send(t, b.Group, card)
		require.Empty(t, b.shown(t, locator).Pings, "mention or link out of %q", text)

		a.Status = core.StatusDenied
		a.Resolution = core.Resolution{
			Decision: core.DecisionDeny, Reason: core.ReasonUser, ResolvedAt: asked, AttemptID: "a", Note: text,
			ResolverKind: core.ResolverHuman, ResolverID: "p", ResolverName: text, Surface: core.SurfacePage,
		}
		outcome, err := b.ch.Edit(b.ctx, locator, b.render(t, cardOf(a, text)))
		require.NoError(t, err)
		require.Equal(t, core.OutcomeReplaced, outcome)
		require.Empty(t, b.shown(t, locator).Pings, "mention or link out of %q", text)
	}
}

// allows reports whether a rendering offers to allow.
func allows(offered []core.Decision) bool {
	for _, d := range offered {
		if d.Allows() {
			return true
		}
	}
	return false
}

func cutVisibly(t *testing.T, b *bundle) {
	for _, kind := range []core.Kind{core.KindExec, core.KindPlugin} {
		card := long(kind)
		locator, r := b.send(t, b.Direct, card)
		m := b.shown(t, locator)
		require.False(t, r.Complete)
		require.False(t, allows(r.Offered), "a cut card never allows (K29)")
		require.Contains(t, r.Offered, core.DecisionDeny)
		require.Contains(t, same(m.Text), same(card.CutMark))
		require.Contains(t, m.Text, "…")
		require.Len(t, m.Buttons, len(card.CutActions))
	}
}

// aroundTheLimit grows the command one unit at a time over the point where it is
// cut, with characters of one and of two UTF-16 units.
func aroundTheLimit(t *testing.T, b *bundle) {
	for _, unit := range []string{"x", "𝒳", "é"} {
		fits, cut := 0, 60_000
		for cut-fits > 1 { // Find the first length that is cut.
			n := (fits + cut) / 2
			if b.render(t, cardOf(execOf("t"), strings.Repeat(unit, n))).Complete {
				fits = n
			} else {
				cut = n
			}
		}
		require.Greater(t, fits, 500, "a channel shows a decent command whole")
		for n := fits - 1; n <= cut+2; n++ {
			locator, r := b.send(t, b.Direct, cardOf(execOf("t"), strings.Repeat(unit, n)))
			m := b.shown(t, locator)
			require.Equal(t, n <= fits, r.Complete)
			require.Equal(t, n <= fits, allows(r.Offered))
			require.True(t, utf8.ValidString(m.Text))
			require.NotContains(t, m.Text, "\uFFFD", "no half character at the cut")
			if r.Complete {
				require.Equal(t, n, strings.Count(m.Text, unit)-strings.Count(b.around(t), unit))
			}
		}
	}
}

// around is the text of the same card without its command.
func (b *bundle) around(t *testing.T) string {
	t.Helper()
	locator, _ := b.send(t, b.Direct, cardOf(execOf("t"), "-"))
	return b.shown(t, locator).Text
}

func escapingGrowth(t *testing.T, b *bundle) {
	for _, unit := range []string{"<", "&", "\"", "`", "```", "*_~|[]()", "\\", "@a ", "\n", "𝒳", "\u030a", "\\u{200B}"} {
		for _, bytes := range []int{500, 1_500, 2_900, 3_900, 4_200, 20_000, 60_000} {
			text := strings.Repeat(unit, bytes/len(unit)) + "."
			card := cardOf(pluginOf("Claude wants to use a tool"), text)
			locator, r := b.send(t, b.Direct, card)
			require.Equal(t, r.Complete, allows(r.Offered), "%d bytes of %q", bytes, unit)
			require.Empty(t, b.shown(t, locator).Pings)
			outcome, err := b.ch.Edit(b.ctx, locator, b.render(t, resolved()))
			require.NoError(t, err)
			require.Equal(t, core.OutcomeReplaced, outcome)
		}
	}
}

func wholeShown(t *testing.T, b *bundle) {
	a := execOf("Claude wants to run a long command")
	card := presentation.For(a, core.Detail{Text: longText()}, presentation.Place{Now: asked, WholeShown: true})
	_, r := b.send(t, b.Direct, card)
	require.True(t, r.Complete)
	require.True(t, allows(r.Offered))
}

func omittedBytes(t *testing.T, b *bundle) {
	card := presentation.For(execOf("t"), core.Detail{Text: "short", Omitted: 9}, presentation.Place{Now: asked, PublicURL: publicURL, WholeShown: true})
	_, r := b.send(t, b.Direct, card)
	require.False(t, r.Complete)
	require.False(t, allows(r.Offered))
}

func longestIDs(t *testing.T, b *bundle) {
	for _, r := range []string{"x", "é", "𝒳"} {
		given := strings.Repeat(r, core.MaxGivenID/len(r))
		id, err := core.GivenID(strings.Repeat("r", core.MaxRuntimeName), given)
		require.NoError(t, err)
		a := pluginOf(strings.Repeat(r, 80))
		a.ID, a.Ref = id, core.ResolutionRef(a.Kind, id)
		a.AlwaysOffer.Label = strings.Repeat(r, 300)
		a.Agent, a.Runtime = strings.Repeat(r, core.MaxShortText), strings.Repeat("r", core.MaxRuntimeName)
		card := cardOf(a, strings.Repeat(r, 300))
		locator, rendered := b.send(t, b.Direct, card)
		require.True(t, allows(rendered.Offered))
		for _, button := range b.shown(t, locator).Buttons {
			require.LessOrEqual(t, len(button.Payload), b.PayloadLimit)
		}
	}
}

// crowded: long values around a command are shortened before the command is.
func crowded(t *testing.T, b *bundle) {
	a := execOf(strings.Repeat("t", 80))
	long := strings.Repeat("word ", 60)
	a.Agent, a.Risk, a.Presentation.Folder, a.Presentation.Executable = long, strings.Repeat(long, 4), strings.Repeat(long, 6), strings.Repeat(long, 6)
	a.Presentation.Description = strings.Repeat("d", 512)
	command := "rm -rf / # " + strings.Repeat("c", 300)
	locator, r := b.send(t, b.Direct, cardOf(a, command))
	require.Contains(t, b.shown(t, locator).Text, command)
	require.Equal(t, r.Complete, allows(r.Offered), "a cut value is a cut card")
}

func badLinks(t *testing.T, b *bundle) {
	for i, public := range []string{"http://localhost:8080", "http://127.0.0.1:8080", "https://ok.example.com", "http://sayso"} {
		card := presentation.For(execOf("t"), core.Detail{Text: fmt.Sprint("echo ", i)}, presentation.Place{Now: asked, PublicURL: public})
		locator, r := b.send(t, b.Direct, card)
		require.True(t, r.Complete)
		require.NotEmpty(t, b.shown(t, locator).Buttons)
	}
}
