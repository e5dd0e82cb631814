package telegram

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/go-telegram/bot/models"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/presentation"
)

// someText draws text with much of what is hard: astral characters, white space,
// mentions, escapes, invalid bytes.
func someText(most int) *rapid.Generator[string] {
	piece := rapid.OneOf(
		rapid.String(),
		rapid.SampledFrom([]string{"@a ", "https://x.y ", "𝒳", "\n", " ", "\\u{200B}", "\u030a", "\r", "word ", "/start", "1234567", "\xff", "…", "<&>"}),
	)
	return rapid.Custom(func(t *rapid.T) string {
		n := rapid.IntRange(0, 40).Draw(t, "pieces")
		repeat := rapid.IntRange(1, max(1, most/40)).Draw(t, "repeat")
		var b strings.Builder
		for range n {
			b.WriteString(strings.Repeat(piece.Draw(t, "piece"), repeat))
		}
		return b.String()
	})
}

// TestLayoutAlwaysFits: no card fails the platform's limits, and one that is not
// marked as cut holds its command to the letter.
func TestLayoutAlwaysFits(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		card := presentation.Card{
			Title: someText(80).Draw(t, "title"), Pill: "Reaches out", Summary: someText(500).Draw(t, "summary"),
			Command: someText(2_000).Draw(t, "command"), Marks: []string{"Some values are hidden."}, CutMark: "Not all of it fits here.",
		}
		for i := range rapid.SampledFrom([]int{0, 1, 7, 12, 60, 200}).Draw(t, "facts") {
			card.Facts = append(card.Facts, presentation.Fact{Label: fmt.Sprint("F", i), Value: someText(600).Draw(t, "fact"), Code: i%2 == 0})
		}
		if rapid.Bool().Draw(t, "terminal") {
			card.Outcome = &presentation.Outcome{Text: someText(100).Draw(t, "outcome"), Note: someText(1_000).Draw(t, "note")}
		}
		m, whole := layout(card)
		u := utf16.Encode([]rune(m.text))
		require.True(t, utf8.ValidString(m.text))
		require.LessOrEqual(t, len(u), maxText)
		require.NotEmpty(t, strings.TrimSpace(m.text))
		require.LessOrEqual(t, len(m.entities), maxEntities)
		end := 0
		for _, e := range m.entities {
			require.GreaterOrEqual(t, e.Offset, end, "entities do not overlap")
			end = e.Offset + e.Length
			require.LessOrEqual(t, end, len(u))
			require.Positive(t, e.Length)
		}
		if whole {
			require.Contains(t, m.text, clean(card.Command))
			return
		}
		require.Contains(t, m.text, card.CutMark)
	})
}

// TestStripTellsNoURL: errors of net/http name the URL, and with it the token.
func TestStripTellsNoURL(t *testing.T) {
	t.Parallel()
	c := newClient(nil, "1:SECRET")
	named := &url.Error{Op: "Post", URL: "https://api.telegram.org/bot1:SECRET/getMe", Err: io.ErrUnexpectedEOF}
	require.Equal(t, io.ErrUnexpectedEOF, c.strip(named))
	deep := fmt.Errorf("proxy said SECRET: %w", context.Canceled)
	require.EqualError(t, c.strip(deep), "proxy said ***: context canceled")
	require.ErrorIs(t, c.strip(deep), context.Canceled)
}

// TestCopyOf: only the original message of this very bot counts for adoption.
func TestCopyOf(t *testing.T) {
	t.Parallel()
	c, err := New(Config{Token: "7:a"}, nil)
	require.NoError(t, err)
	us := &models.User{ID: 7, IsBot: true}
	for name, m := range map[string]models.Message{
		"somebody":    {From: &models.User{ID: 8}},
		"nobody":      {},
		"a forward":   {From: us, ForwardOrigin: &models.MessageOrigin{}},
		"through bot": {From: us, ViaBot: us},
	} {
		require.False(t, c.copyOf(&m).SentByUs, name)
	}
	require.True(t, c.copyOf(&models.Message{From: us}).SentByUs)
}

// TestTopicRoot: in a topic every message replies to the service message that made
// it, also where the bot had made the topic; that is no reply to us.
func TestTopicRoot(t *testing.T) {
	t.Parallel()
	c, err := New(Config{Token: "7:a"}, nil)
	require.NoError(t, err)
	m := models.Message{
		Text: "lunch?", From: &models.User{ID: 8}, Chat: models.Chat{ID: -5, Type: models.ChatTypeSupergroup},
		ReplyToMessage: &models.Message{ID: 42, From: &models.User{ID: 7}, ForumTopicCreated: &models.ForumTopicCreated{}},
	}
	_, ours := c.text(&m)
	require.False(t, ours)
	m.ReplyToMessage.ForumTopicCreated = nil
	text, ours := c.text(&m)
	require.True(t, ours)
	require.Equal(t, "-5:42", text.ReplyTo)
}

func TestCut(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in   string
		most int
		want string
	}{
		{"abc", 3, "abc"},
		{"abcd", 3, "ab…"},
		{"𝒳𝒳", 4, "𝒳𝒳"},
		{"𝒳𝒳", 3, "𝒳…"},
		{"𝒳𝒳𝒳", 4, "𝒳…"},
		{`ab\u{200B}cd`, 6, "ab…"},
		{`ab\u{200B}cd`, 4, "ab…"},
		{`ab\u{200B}cd`, 11, `ab\u{200B}…`},
		{"", 0, ""},
	} {
		got, wasCut := cut(c.in, c.most)
		require.Equal(t, c.want, got, "%q at %d", c.in, c.most)
		require.Equal(t, got != c.in, wasCut)
	}
}

func TestLinkable(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]bool{
		"@alice": true, "(@alice)": true, "a@b.c": true, "#tag": true, "$USD": true, "https://x": true,
		"example.com": true, "/start": true, "(/start)": true, "tel:1": true, "+491701234567": true, "v1.2": true, "пример.рф": true,
		"and/or": false, "14:03": false, "end.": false, "Claude": false, "…": false, "80%": false, "don't": false, "Agent:": false, "123456": false,
	} {
		require.Equal(t, want, linkable(word), word)
	}
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"5": "5", "-100123": "-100123", "-100123/42": "-100123/42", "-100123/1": "-100123", "+5": "5"} {
		a, err := parseAddress(in)
		require.NoError(t, err)
		require.Equal(t, want, a.String())
	}
	for _, in := range []string{"", "0", "x", "5/", "5/0", "5/x", "5/-1", "99999999999999999999"} {
		_, err := parseAddress(in)
		require.Error(t, err, in)
	}
	for _, in := range []string{"", "5", "5:", "5:0", "5:-1", "0:5", "5:x", "x:5"} {
		_, err := parseLocator(opEdit, in)
		require.Error(t, err, in)
	}
	l, err := parseLocator(opEdit, "-100123:7")
	require.NoError(t, err)
	require.Equal(t, "-100123:7", l.String())
}

func TestKeyboard(t *testing.T) {
	t.Parallel()
	for link, want := range map[string]bool{
		"https://ok.example.com/a": true, "http://127.0.0.1:8080": true, "http://[::1]:80": true,
		"http://localhost:8080": false, "http://sayso": false, "http://sayso.": false, "ftp://a.b": false, "javascript:alert(1)": false,
		"https://user:pw@a.b": false, "": false, "https://": false, "%zz": false,
	} {
		require.Equal(t, want, linkAllowed(link), link)
	}
	k := arrange([]button{{Text: "Allow once"}, {Text: "Always allow ssh to production"}, {Text: "Deny"}, {Text: "Deny with a note"}, {Text: "Review"}})
	require.Equal(t, [][]button{
		{{Text: "Allow once"}},
		{{Text: "Always allow ssh to production"}},
		{{Text: "Deny"}, {Text: "Deny with a note"}},
		{{Text: "Review"}},
	}, k.Rows)
	require.Nil(t, arrange(nil))
	require.Nil(t, (&keyboard{Rows: [][]button{{{Text: "Review", URL: "https://a.b"}}}}).withoutLinks())
	require.Equal(t, "success", style(core.Action{Decision: core.DecisionAllowAlways}))
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"update_id":1,"callback_query":{"id":"1","from":{"id":1},"message":{"date":0}}}`))
	f.Add([]byte(`{"update_id":1,"message":{"reply_markup":{"inline_keyboard":[[{}]]},"chat":{}}}`))
	f.Add([]byte(`null`))
	c, err := New(Config{Token: "1:a"}, nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		u, _ := c.decode(t.Context(), raw)
		if u == nil {
			return
		}
		if u.CallbackQuery != nil {
			click, _ := c.click(u.CallbackQuery)
			require.Equal(t, u.CallbackQuery.Data, click.Payload)
		}
		if u.Message != nil {
			_, ours := c.text(u.Message)
			require.False(t, ours && u.Message.Text == "" && u.Message.Caption == "")
		}
	})
}
