package slack_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/channels"
	fake "github.com/saysohq/sayso/channels/fakes/slack"
	"github.com/saysohq/sayso/channels/slack"
	"github.com/saysohq/sayso/core"
)

// canned is a channel whose platform gives one answer to everything.
func canned(t *testing.T, status int, header, body string) *slack.Channel {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if header != "" {
			w.Header().Set("Retry-After", header)
		}
		w.WriteHeader(status)
		_, _ = fmt.Fprint(w, body)
	}))
	t.Cleanup(server.Close)
	ch, err := slack.New(slack.Config{
		BotToken: fake.BotToken, AppToken: fake.AppToken, Team: fake.Team, APIBase: server.URL + "/api",
		Transport: &http.Transport{DisableKeepAlives: true}, Pause: noPause,
	}, codec(t))
	require.NoError(t, err)
	return ch
}

// outcome is what a call came to.
type outcome struct {
	class   core.FailureClass
	retired bool // Edits only.
	whole   bool
}

func send(t *testing.T, ch *slack.Channel) outcome {
	t.Helper()
	r, err := ch.Render(card())
	require.NoError(t, err)
	_, err = ch.Send(t.Context(), shared, r)
	return of(t, err)
}

func edit(t *testing.T, ch *slack.Channel) outcome {
	t.Helper()
	r, err := ch.Render(card())
	require.NoError(t, err)
	got, err := ch.Edit(t.Context(), shared+":1.000001", r)
	o := of(t, err)
	o.retired = got == core.OutcomeRetired
	return o
}

func of(t *testing.T, err error) outcome {
	t.Helper()
	if err == nil {
		return outcome{}
	}
	var e *channels.Error
	require.ErrorAs(t, err, &e)
	require.LessOrEqual(t, len(e.Error()), 200)
	return outcome{class: e.Class, whole: e.Whole}
}

// The platform's error table, for sends and edits.
func TestErrorTable(t *testing.T) {
	t.Parallel()
	gone, rejected := outcome{class: core.FailureGone}, outcome{class: core.FailureRejected}
	auth := outcome{class: core.FailureAuth, whole: true}
	temporary, ambiguous := outcome{class: core.FailureTemporary}, outcome{class: core.FailureAmbiguous}
	limited := outcome{class: core.FailureRateLimited}
	limitedEdit := outcome{class: core.FailureRateLimited, whole: true}
	for code, want := range map[string]struct{ send, edit outcome }{
		"ratelimited": {limited, limitedEdit}, "rate_limited": {limited, limitedEdit}, "message_limit_exceeded": {limited, limitedEdit},
		"message_not_found": {rejected, outcome{retired: true}}, "cant_update_message": {rejected, outcome{retired: true}},
		"edit_window_closed": {rejected, outcome{retired: true}},
		"is_inactive":        {gone, gone}, "is_archived": {gone, gone}, "channel_not_found": {gone, gone}, "not_in_channel": {gone, gone},
		"restricted_action": {gone, gone}, "restricted_action_thread_locked": {gone, gone}, "posting_to_channel_denied": {gone, gone},
		"messages_tab_disabled": {gone, gone}, "user_disabled": {gone, gone}, "user_not_found": {gone, gone},
		"user_not_visible": {gone, gone}, "cannot_reply_to_message": {gone, gone},
		"invalid_blocks": {rejected, rejected}, "invalid_blocks_format": {rejected, rejected}, "msg_blocks_too_long": {rejected, rejected},
		"msg_too_long": {rejected, rejected}, "no_text": {rejected, rejected}, "invalid_arguments": {rejected, rejected},
		"block_mismatch": {rejected, rejected}, "something_new": {rejected, rejected}, "Ünknown <error>": {rejected, rejected},
		"invalid_auth": {auth, auth}, "token_revoked": {auth, auth}, "token_expired": {auth, auth}, "account_inactive": {auth, auth},
		"not_authed": {auth, auth}, "missing_scope": {auth, auth}, "access_denied": {auth, auth}, "team_access_not_granted": {auth, auth},
		"service_unavailable": {temporary, temporary}, "request_timeout": {temporary, temporary},
		// "Some aspect of the operation" may have succeeded.
		"fatal_error": {ambiguous, temporary}, "internal_error": {ambiguous, temporary}, "update_failed": {ambiguous, temporary},
	} {
		ch := canned(t, http.StatusOK, "", fmt.Sprintf(`{"ok":false,"error":%q}`, code))
		require.Equal(t, want.send, send(t, ch), "send: %s", code)
		require.Equal(t, want.edit, edit(t, ch), "edit: %s", code)
	}
}

// Answers that are not in the platform's form, or only half.
func TestUnusualAnswers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status     int
		body       string
		send, edit core.FailureClass
	}{
		"proxy":               {http.StatusBadGateway, "<html>", core.FailureAmbiguous, core.FailureTemporary},
		"own 500":             {http.StatusInternalServerError, `{"ok":false,"error":"oops"}`, core.FailureAmbiguous, core.FailureTemporary},
		"no JSON":             {http.StatusOK, "ok", core.FailureAmbiguous, core.FailureTemporary},
		"neither":             {http.StatusOK, "{}", core.FailureAmbiguous, core.FailureTemporary},
		"redirect":            {http.StatusFound, "", core.FailureAmbiguous, core.FailureTemporary},
		"not found":           {http.StatusNotFound, "", core.FailureAmbiguous, core.FailureTemporary},
		"no id":               {http.StatusOK, `{"ok":true}`, core.FailureAmbiguous, core.FailureNone},
		"strange id":          {http.StatusOK, `{"ok":true,"channel":"../x","ts":"1.1"}`, core.FailureAmbiguous, core.FailureNone},
		"unreadable message":  {http.StatusOK, `{"ok":true,"channel":"C1","ts":"1.1","message":{"blocks":7}}`, core.FailureNone, core.FailureNone},
		"limited, no seconds": {http.StatusTooManyRequests, "", core.FailureRateLimited, core.FailureRateLimited},
	} {
		ch := canned(t, c.status, "", c.body)
		require.Equal(t, c.send, send(t, ch).class, name)
		require.Equal(t, c.edit, edit(t, ch).class, name)
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]time.Duration{"30": 30 * time.Second, "0": 0, "-1": 0, "soon": 0, "": 0} {
		ch := canned(t, http.StatusTooManyRequests, header, `{"ok":false,"error":"ratelimited"}`)
		_, err := ch.Edit(t.Context(), shared+":1.1", render(t, ch))
		var e *channels.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, want, e.RetryAfter, header)
	}
}

func render(t *testing.T, ch *slack.Channel) channels.Rendered {
	t.Helper()
	r, err := ch.Render(card())
	require.NoError(t, err)
	return r
}

// A layout that is refused is tried once more in the plainest form, which shows the
// same and offers the same; never twice.
func TestRefusedLayoutIsSentPlain(t *testing.T) {
	t.Parallel()
	r := setup(t, nil)
	whole, ok := r.s.Message(r.post(t, shared))
	require.True(t, ok)
	for _, failed := range []string{"invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long"} {
		var tries atomic.Int64
		inner := http.DefaultTransport.(*http.Transport).Clone()
		t.Cleanup(inner.CloseIdleConnections)
		ch := open(t, r.s, codec(t), func(c *slack.Config) {
			c.Transport = roundTrip(func(q *http.Request) (*http.Response, error) {
				if tries.Add(1) == 1 {
					w := httptest.NewRecorder()
					_, _ = fmt.Fprintf(w, `{"ok":false,"error":%q,"response_metadata":{"messages":["[ERROR] x [json-pointer:/blocks/0/text]"]}}`, failed)
					return w.Result(), nil
				}
				return inner.RoundTrip(q)
			})
		})
		locator, err := ch.Send(r.ctx, shared, render(t, ch))
		require.NoError(t, err)
		plain, ok := r.s.Message(locator)
		require.True(t, ok)
		require.Equal(t, int64(2), tries.Load())
		require.Equal(t, whole.Text, plain.Text)
		require.Equal(t, whole.Buttons, plain.Buttons)

		tries.Store(0)
		c := card()
		c.Outcome = closed()
		done, err := ch.Render(c)
		require.NoError(t, err)
		got, err := ch.Edit(r.ctx, locator, done)
		require.NoError(t, err)
		require.Equal(t, core.OutcomeReplaced, got)
		plain, _ = r.s.Message(locator)
		require.Contains(t, plain.Text, "Denied by Alice")
		require.Empty(t, plain.Buttons)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(q *http.Request) (*http.Response, error) { return f(q) }

// Posting to a person answers the id of their direct chat, by which alone the message
// can be edited.
func TestDirectChatIsEditedByItsOwnID(t *testing.T) {
	t.Parallel()
	r := setup(t, nil)
	locator := r.post(t, owner)
	require.True(t, strings.HasPrefix(locator, "D0OWNER01:"))
	got, err := r.ch.Edit(r.ctx, locator, render(t, r.ch))
	require.NoError(t, err)
	require.Equal(t, core.OutcomeReplaced, got)
	for _, direct := range []string{"D0OWNER01", "D0OWNER01/1.1", owner + "/1.1", shared + "/x", "c0shared1"} {
		_, err := r.ch.Send(r.ctx, direct, render(t, r.ch))
		require.Equal(t, core.FailureRejected, of(t, err).class, "%s is no address", direct)
	}
}

// Shared channels and threads have one spelling; people are no channels.
func TestCanonical(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{shared: shared, shared + "/1.000001": shared + "/1.000001", owner: "", "general": "", "D0OWNER01": "", shared + "/": ""} {
		got, ok := slack.Canonical(text)
		require.Equal(t, want, got)
		require.Equal(t, want != "", ok)
	}
}

// Chats that are closed in each of the platform's ways.
func TestClosedChats(t *testing.T) {
	t.Parallel()
	r := setup(t, nil)
	locator := r.post(t, shared)
	r.s.CloseChat(owner)
	_, err := r.ch.Send(r.ctx, owner, render(t, r.ch))
	require.Equal(t, core.FailureGone, of(t, err).class)
	_, err = r.ch.Send(r.ctx, shared+"/1.000001", render(t, r.ch))
	require.Equal(t, core.FailureGone, of(t, err).class, "no such thread")
	r.s.Archive(shared)
	_, err = r.ch.Send(r.ctx, shared, render(t, r.ch))
	require.Equal(t, core.FailureGone, of(t, err).class)
	_, err = r.ch.Edit(r.ctx, locator, render(t, r.ch))
	require.Equal(t, core.FailureGone, of(t, err).class)
}

// Tokens of another workspace or app end receiving before anything is received.
func TestTokensOfSomebodyElse(t *testing.T) {
	t.Parallel()
	r := setup(t, func(c *slack.Config) { c.Team = "T0ELSE001" })
	require.Equal(t, outcome{class: core.FailureAuth, whole: true}, of(t, r.ch.Check(r.ctx)))
	require.Equal(t, core.FailureAuth, of(t, r.ch.Run(r.ctx, nil)).class)

	r = setup(t, func(c *slack.Config) { c.AppToken = strings.Replace(c.AppToken, fake.App, "A0ELSE001", 1) })
	require.Equal(t, core.FailureAuth, of(t, r.ch.Run(r.ctx, nil)).class)
}

func TestIdentify(t *testing.T) {
	t.Parallel()
	r := setup(t, nil)
	cfg := slack.Config{BotToken: fake.BotToken, AppToken: fake.AppToken, APIBase: r.s.URL(), Transport: &http.Transport{DisableKeepAlives: true}}
	id, err := slack.Identify(r.ctx, cfg)
	require.NoError(t, err)
	require.Equal(t, slack.Identity{Team: fake.Team, TeamName: "Fake", App: fake.App, Bot: fake.BotUser}, id)
	cfg.BotToken += "x"
	_, err = slack.Identify(r.ctx, cfg)
	require.Equal(t, core.FailureAuth, of(t, err).class)
	cfg.BotToken = "nothing"
	_, err = slack.Identify(r.ctx, cfg)
	require.ErrorIs(t, err, core.ErrInvalid)
}

// Settings that cannot be right are named, never repeated.
func TestSettings(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*slack.Config){
		"bot_token":      func(c *slack.Config) { c.BotToken = "xapp-secret-wrong" },
		"app_token":      func(c *slack.Config) { c.AppToken = "xoxb-secret-wrong" },
		"neither":        func(c *slack.Config) { c.AppToken = "" },
		"both":           func(c *slack.Config) { c.SigningSecret = fake.Secret },
		"signing_secret": func(c *slack.Config) { c.AppToken, c.SigningSecret = "", "secret-wrong" },
		"now":            func(c *slack.Config) { c.AppToken, c.SigningSecret = "", fake.Secret },
		"team":           func(c *slack.Config) { c.Team = "secret-wrong" },
		"another app":    func(c *slack.Config) { c.App = "A0SECRETWRONG" },
		"no app":         func(c *slack.Config) { c.AppToken, c.SigningSecret, c.Now = "", fake.Secret, time.Now },
		"api_base":       func(c *slack.Config) { c.APIBase = "ftp://secret-wrong" },
	} {
		cfg := slack.Config{BotToken: fake.BotToken, AppToken: fake.AppToken, Team: fake.Team}
		change(&cfg)
		_, err := slack.New(cfg, nil)
		require.ErrorIs(t, err, core.ErrInvalid, name)
		require.NotContains(t, strings.ToLower(err.Error()), "wrong", name)
	}
	ch, err := slack.New(slack.Config{BotToken: fake.BotToken, AppToken: fake.AppToken, Team: fake.Team}, nil)
	require.NoError(t, err)
	require.Equal(t, core.AccountRef{Channel: core.SurfaceSlack, Account: fake.Team + "." + fake.App}, ch.Ref())
}

// A stop before the platform could be reached is no fault.
func TestStopWhileUnreachable(t *testing.T) {
	t.Parallel()
	r := setup(t, func(c *slack.Config) { c.APIBase = nobody(t) })
	ctx, cancel := context.WithTimeout(r.ctx, 50*time.Millisecond)
	defer cancel()
	require.NoError(t, r.ch.Run(ctx, nil))
}

// The detail says what is missing of it, and a card without one has its title.
func TestDetailOfLittle(t *testing.T) {
	t.Parallel()
	r := setup(t, nil)
	locator := r.post(t, owner)
	c := card()
	c.Omitted = 7
	require.NoError(t, r.ch.SendDetail(r.ctx, owner, locator, c))
	c.Command, c.Omitted = " ", 0
	require.NoError(t, r.ch.SendDetail(r.ctx, owner, locator, c))
	shown := r.s.Messages()
	require.Len(t, shown, 3)
	require.Contains(t, shown[1].Text, "7 bytes are missing")
	require.Contains(t, shown[2].Text, c.Title)
	require.Equal(t, core.FailureRejected, of(t, r.ch.SendDetail(r.ctx, "x", locator, c)).class)
	require.Equal(t, core.FailureRejected, of(t, r.ch.SendDetail(r.ctx, owner, "x", c)).class)
	r.s.CloseChat(owner)
	require.Equal(t, core.FailureGone, of(t, r.ch.SendDetail(r.ctx, owner, locator, c)).class)
}
