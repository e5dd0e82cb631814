package app_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	fakeslack "github.com/saysohq/sayso/channels/fakes/slack"
	"github.com/saysohq/sayso/cmd/internal/config"
	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/api"
)

const hookSecret = "hook-secret_1"

// push is one request of a platform.
type push struct {
	on     core.Surface
	kind   string // Content type; "" takes the platform's.
	body   []byte
	age    time.Duration // How long ago it was signed.
	header func(http.Header)
}

// pushed is a town to which all platforms push, with one person who is linked and has
// no direct chat.
func pushed(t *testing.T) *town {
	t.Helper()
	w := unsettled(t, func(c *config.Config, w *town) {
		c.PublicURL = "https://approve.example.com"
		c.Telegram[0].WebhookSecret = hookSecret
		c.Slack[0].AppToken, c.Slack[0].App, c.Slack[0].SigningSecret = "", fakeslack.App, fakeslack.Secret
		c.Discord[0].PublicKey = w.discord.PublicKey()
	})
	w.signIn(t, w.people[0].name)
	w.people[0].id = send[api.Me](t, w.running, http.StatusOK, call{method: http.MethodGet, path: "/v1/me", bearer: w.bearer(t)}).Person.ID
	for realm, id := range map[string]string{
		"telegram": strconv.FormatInt(w.people[0].telegram, 10), "slack:" + fakeslack.Team: w.people[0].slack, "discord": w.people[0].discord,
	} {
		a := w.do(t, call{
			method: http.MethodPost, path: "/v1/people/" + w.people[0].id + "/identities", bearer: w.bearer(t),
			body: encode(t, api.LinkIdentity{Realm: realm, ID: id}),
		})
		require.Less(t, a.status, 300, a.body)
	}
	for _, on := range []core.Surface{core.SurfaceTelegram, core.SurfaceSlack, core.SurfaceDiscord} {
		foreign := push{on: on, body: w.wire(t, on, map[string]any{})}
		if on == core.SurfaceDiscord {
			foreign.body = []byte(`{"id":"1","application_id":"5","type":3,"token":"t","channel_id":"2","user":{"id":"3"}}`)
		}
		require.Eventually(t, func() bool { return w.push(t, foreign) < 300 }, patience, 5*time.Millisecond, "%s is received", on)
	}
	return w
}

// push posts a request as its platform signs it, and returns the status.
func (w *town) push(t *testing.T, p push) int {
	t.Helper()
	account := map[core.Surface]string{
		core.SurfaceTelegram: strconv.FormatInt(w.bot.BotID(), 10), core.SurfaceSlack: fakeslack.App, core.SurfaceDiscord: "900000000000000001",
	}[p.on]
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.url+"/webhooks/"+string(p.on)+"/"+account, bytes.NewReader(p.body))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/json")
	at := time.Now().Add(-p.age)
	switch p.on {
	case core.SurfaceTelegram:
		r.Header.Set("X-Telegram-Bot-Api-Secret-Token", hookSecret)
	case core.SurfaceSlack:
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		stamp, signature := fakeslack.Sign(fakeslack.Secret, at, p.body)
		r.Header.Set("X-Slack-Request-Timestamp", stamp)
		r.Header.Set("X-Slack-Signature", signature)
	default:
		stamp, signature := w.discord.Sign(at, p.body)
		r.Header.Set("X-Signature-Timestamp", stamp)
		r.Header.Set("X-Signature-Ed25519", signature)
	}
	if p.kind != "" {
		r.Header.Set("Content-Type", p.kind)
	}
	if p.header != nil {
		p.header(r.Header)
	}
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
	require.NoError(t, err)
	_, err = io.Copy(io.Discard, resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	return resp.StatusCode
}

// wire encodes a payload as its platform does.
func (w *town) wire(t *testing.T, on core.Surface, payload map[string]any) []byte {
	t.Helper()
	raw, err := json.Marshal(payload)
	require.NoError(t, err)
	if on == core.SurfaceSlack {
		return []byte(url.Values{"payload": {string(raw)}}.Encode())
	}
	return raw
}

// pressed is what a platform pushes when the linked person presses a button of a card.
// n makes it another press.
func (w *town) pressed(t *testing.T, c *card, payload string, n int) map[string]any {
	t.Helper()
	chat, message, ok := strings.Cut(c.Locator, ":")
	require.True(t, ok)
	who := w.people[0]
	switch c.on {
	case core.SurfaceTelegram:
		id, err := strconv.ParseInt(chat, 10, 64)
		require.NoError(t, err)
		number, err := strconv.Atoi(message)
		require.NoError(t, err)
		return map[string]any{"update_id": 900_000 + n, "callback_query": map[string]any{
			"id": fmt.Sprintf("hand-made-%d", n), "from": map[string]any{"id": who.telegram, "first_name": who.name}, "chat_instance": "ci", "data": payload,
			"message": map[string]any{
				"message_id": number, "date": 1, "chat": map[string]any{"id": id, "type": "supergroup"},
				"from": map[string]any{"id": w.bot.BotID(), "is_bot": true, "first_name": "sayso"},
			},
		}}
	case core.SurfaceSlack:
		return map[string]any{
			"type": "block_actions", "team": map[string]any{"id": fakeslack.Team}, "api_app_id": fakeslack.App,
			"user":      map[string]any{"id": who.slack, "team_id": fakeslack.Team, "name": who.name},
			"container": map[string]any{"type": "message", "channel_id": chat, "message_ts": message},
			"actions":   []any{map[string]any{"type": "button", "action_id": "sayso.do.0", "value": payload}},
		}
	default:
		return map[string]any{
			"id": strconv.Itoa(800_000 + n), "application_id": "900000000000000001", "type": 3, "token": "hand-made", "version": 1,
			"channel_id": chat, "guild_id": "800000000000000001", "member": map[string]any{"user": map[string]any{"id": who.discord, "username": "ann"}},
			"message": map[string]any{"id": message, "channel_id": chat, "author": map[string]any{"id": "900000000000000001"}},
			"data":    map[string]any{"custom_id": payload, "component_type": 2},
		}
	}
}

// essential are the parts of a press without which it is none.
func essential(on core.Surface) []string {
	return map[core.Surface][]string{
		core.SurfaceTelegram: {"callback_query", "callback_query.from.id", "callback_query.data", "callback_query.message.message_id", "callback_query.message.chat.id"},
		core.SurfaceSlack:    {"type", "user", "user.id", "actions", "container.channel_id", "container.message_ts", "api_app_id"},
		core.SurfaceDiscord:  {"type", "member", "member.user", "member.user.id", "data", "data.custom_id", "message", "message.id", "application_id"},
	}[on]
}

// spoilt is a copy of a payload with something else at the path.
func spoilt(payload map[string]any, path string, value any) map[string]any {
	out := maps.Clone(payload)
	name, rest, deeper := strings.Cut(path, ".")
	if deeper {
		inner, _ := out[name].(map[string]any)
		out[name] = spoilt(inner, rest, value)
		return out
	}
	if value == nil {
		delete(out, name)
	} else {
		out[name] = value
	}
	return out
}

// Whatever comes in at the three webhooks that is malformed, foreign, forged, late or
// replayed gets the status that its platform expects, decides nothing, and blocks
// nobody behind it: the good press that comes last counts, once (conformance 84, 87-89,
// 99; R157; field reports D).
func TestBadPushes(t *testing.T) {
	t.Parallel()
	w := pushed(t)
	for _, on := range []core.Surface{core.SurfaceTelegram, core.SurfaceSlack, core.SurfaceDiscord} {
		title := "Pushed by " + string(on)
		a := w.shown(t, w.ask(t, about(title)))
		cards := w.cards(title)
		at := slices.IndexFunc(cards, func(c card) bool { return c.on == on })
		require.GreaterOrEqual(t, at, 0)
		c := &cards[at]
		good := w.pressed(t, c, c.payload("Deny"), 1)
		w.unsigned(t, on, w.wire(t, on, good))
		w.unreadable(t, on)
		// Telegram repeats what is not answered with 200, Discord wants to know.
		fine := map[core.Surface][]int{
			core.SurfaceTelegram: {http.StatusOK}, core.SurfaceSlack: {http.StatusOK}, core.SurfaceDiscord: {http.StatusAccepted, http.StatusBadRequest},
		}[on]
		for _, path := range essential(on) {
			for _, value := range []any{nil, json.RawMessage("null"), 7, -1.5, "", "x", strings.Repeat("9", 3_000), []any{}, []any{nil}, map[string]any{}, true} {
				status := w.push(t, push{on: on, body: w.wire(t, on, spoilt(good, path, value))})
				require.Contains(t, fine, status, "%s: %s is %.20v", on, path, value)
			}
		}
		require.Equal(t, core.StatusPending, w.get(t, a.ID).Status, "%s: nothing of this decides", on)

		for range 3 { // The same push again and again.
			require.Contains(t, fine, w.push(t, push{on: on, body: w.wire(t, on, good)}))
		}
		w.ended(t, a.ID)
		now := w.audited(t, a.ID)
		require.Equal(t, core.StatusDenied, now.Status)
		require.Equal(t, on, now.Resolver.Surface)
		late := w.pressed(t, c, c.payload("Allow once"), 2)
		require.Contains(t, fine, w.push(t, push{on: on, body: w.wire(t, on, late)}), "too late to decide")
		w.converged(t, a.ID)
		require.Equal(t, core.StatusDenied, w.get(t, a.ID).Status)
	}
	require.NotContains(t, w.log.String(), "panic")
}

// unsigned pushes a good press as somebody who is not the platform.
func (w *town) unsigned(t *testing.T, on core.Surface, body []byte) {
	t.Helper()
	headers := map[core.Surface][]string{
		core.SurfaceTelegram: {"X-Telegram-Bot-Api-Secret-Token"},
		core.SurfaceSlack:    {"X-Slack-Signature", "X-Slack-Request-Timestamp"},
		core.SurfaceDiscord:  {"X-Signature-Ed25519", "X-Signature-Timestamp"},
	}[on]
	for _, name := range headers {
		for _, value := range []string{"", "x", "0", "v0=" + strings.Repeat("0", 64), strings.Repeat("0", 128), strings.Repeat("f", 9_000)} {
			require.Equal(t, http.StatusUnauthorized, w.push(t, push{on: on, body: body, header: func(h http.Header) { h.Set(name, value) }}), "%s: %s is %.20s", on, name, value)
		}
		require.Equal(t, http.StatusUnauthorized, w.push(t, push{on: on, body: body, header: func(h http.Header) { h.Del(name) }}), "%s: no %s", on, name)
	}
	if on == core.SurfaceTelegram {
		return // Its secret has no time.
	}
	for _, age := range []time.Duration{6 * time.Minute, -6 * time.Minute, 24 * time.Hour} {
		require.Equal(t, http.StatusUnauthorized, w.push(t, push{on: on, body: body, age: age}), "%s: signed %s ago", on, age)
	}
}

// unreadable pushes what is signed and is no payload.
func (w *town) unreadable(t *testing.T, on core.Surface) {
	t.Helper()
	want := map[core.Surface]int{
		core.SurfaceTelegram: http.StatusOK, core.SurfaceSlack: http.StatusBadRequest, core.SurfaceDiscord: http.StatusBadRequest,
	}[on]
	deep := strings.Repeat(`{"data":`, 20_000) + "1" + strings.Repeat("}", 20_000)
	for _, body := range []string{"", "{", "null", "[]", "7", `"x"`, "\x00", "\xff\xfe", "{}", deep} {
		kind := ""
		if on == core.SurfaceSlack && (body == "null" || body == "{}" || body == deep) {
			kind = "text/plain" // As JSON each of these could be an event, which is acknowledged.
		}
		require.Equal(t, want, w.push(t, push{on: on, body: []byte(body), kind: kind}), "%s: %.10q", on, body)
	}
	want = http.StatusRequestEntityTooLarge
	if on == core.SurfaceTelegram {
		want = http.StatusOK // Or it would be repeated for a day, and hold up what is behind it.
	}
	require.Equal(t, want, w.push(t, push{on: on, body: bytes.Repeat([]byte(" "), 1<<20+1)}), on)
}
