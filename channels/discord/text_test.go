package discord

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/require"

	fake "github.com/saysohq/sayso/channels/fakes/discord"
	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/presentation"
)

func TestBlockCannotBeLeft(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"ls", "a `b` c", "```", "x```y", "```js\nalert(1)\n```", "``", "`", "ends with `", "\n\n", "bash\nls", "<@1> @everyone https://evil.example",
		`\`, "tab\there", "two\n\nlines",
	} {
		text, pings := fake.Show(block(clean(s)))
		require.Equal(t, strings.Trim(s, "\n"), strings.Trim(text, "\n"), "%q", s)
		require.Empty(t, pings, "%q", s)
	}
}

// FuzzText: whatever a text holds, a person reads that text, and nothing of it becomes
// a mention, a link or markup (conformance 117-127).
func FuzzText(f *testing.F) {
	for _, seed := range []string{
		"*a* _b_ ~~c~~ ||d|| `e`", "```x```", "[a](https://evil.example)", "<@1> <@&2> <#3> <t:1:R> </a:1> <:b:2>", "@everyone @here",
		"# h\n> q\n- l\n1. n\n-# s", ":smile:", `\*a\*`, "https://evil.example", "\u202ea\u200b", "\x00\xff", "<https://evil.example>",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		want := clean(s)
		for name, encode := range map[string]func(string) string{"escape": escape, "block": block, "code": code} {
			text, pings := fake.Show(encode(want))
			require.Empty(t, pings, name)
			require.Equal(t, strings.Trim(want, "\n"), strings.Trim(text, "\n"), name)
		}
		bounded, wasCut := fit(want, 50, escape)
		require.LessOrEqual(t, units(bounded), 50)
		require.Equal(t, units(escape(want)) > 50, wasCut)
		_, pings := fake.Show(bounded)
		require.Empty(t, pings)
	})
}

// FuzzFrame: no frame of the gateway makes the decoders panic.
func FuzzFrame(f *testing.F) {
	for _, seed := range []string{
		`null`, `{"op":0,"t":"MESSAGE_CREATE","s":1,"d":{"id":"1"}}`, `{"op":10,"d":{"heartbeat_interval":0}}`, `{"op":9,"d":true}`, `{"op":7}`,
		`{"op":0,"t":"READY","d":null}`, `{"op":0,"t":"INTERACTION_CREATE","d":[]}`,
	} {
		f.Add([]byte(seed))
	}
	c, err := New(Config{Token: "OTAwMDAwMDAwMDAwMDAwMDAx.Gabcde.secret"}, nil)
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, data []byte) {
		fr, err := readFrame(websocket.TextMessage, data)
		if err != nil {
			require.ErrorIs(t, err, errNoFrame)
			return
		}
		k := &connection{c: c, session: new(gatewaySession), beat: make(chan struct{}, 1)}
		watchdog := time.NewTimer(time.Hour)
		defer watchdog.Stop()
		switch *fr.Op {
		case opDispatch:
			_, _ = readInteraction(fr.Data)
			_, _, _ = c.readMessage(fr.Data)
			if fr.Type == "READY" {
				_ = k.ready(fr.Data)
			}
		default:
			_ = k.take(nil, fr, watchdog)
		}
	})
}

func TestFacts(t *testing.T) {
	t.Parallel()
	at := core.MillisOf(time.Date(2026, 11, 30, 14, 0, 0, 0, time.UTC))
	m, whole := layout(presentation.Card{
		Title: "t", Command: "ls", Class: core.ClassMoney,
		Facts: []presentation.Fact{
			{Label: "Agent", Value: "*Claude*"},
			{Label: "Folder", Value: "/srv/a_b", Code: true},
			{Label: "Tick", Value: "a`b", Code: true},
			{Label: "Expires", Value: "14:00 UTC", Time: at},
			{Label: "Empty", Value: " "},
		},
	})
	require.True(t, whole)
	got := map[string]string{}
	for _, f := range m.embed.Fields {
		got[f.Name] = f.Value
	}
	require.Equal(t, map[string]string{
		"Agent": `\*Claude\*`, "Folder": "`/srv/a_b`", "Tick": "a\\`b", "Expires": "<t:1796047200:f>", "Empty": "–",
	}, got, "each reader sees their own zone")
	require.Equal(t, colourDenied, m.embed.Color)

	var facts []presentation.Fact
	for range 30 {
		facts = append(facts, presentation.Fact{Label: strings.Repeat("l", 300), Value: strings.Repeat("*", 2000)})
	}
	_, whole = layout(presentation.Card{Title: "t", Command: "ls", Facts: facts})
	require.False(t, whole, "what is left out makes the card a cut one")
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"1", "18446744073709551615", "@5"} {
		a, err := parseAddress(good)
		require.NoError(t, err)
		require.Equal(t, good, a.String())
	}
	for _, bad := range []string{"", "@", "0", "01", "-1", "+1", "18446744073709551616", "1 ", "@@1", "a", "1/2", "..", "１"} {
		_, err := parseAddress(bad)
		require.Error(t, err, bad)
		_, err = parseLocator(opEdit, bad+":1")
		require.Error(t, err, bad)
	}
}

func TestWrongField(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		`{"content":{"_errors":[{"code":"BASE_TYPE_MAX_LENGTH"}]}}`: "content: BASE_TYPE_MAX_LENGTH",
		`{"a":{"secret value":{"_errors":[{"code":"X"}]}}}`:         "",
		`{"a":{"_errors":[{"code":"free text"}]}}`:                  "",
		`{"a":{"_errors":[]}}`:                                      "",
		`null`:                                                      "",
		`[]`:                                                        "",
		strings.Repeat(`{"a":`, 50) + `1` + strings.Repeat(`}`, 50): "",
	} {
		require.Equal(t, want, wrongField(json.RawMessage(raw)), raw)
	}
}
