package telegram_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/channels/fakes"
	fake "github.com/saysohq/sayso/channels/fakes/telegram"
	"github.com/saysohq/sayso/channels/telegram"
	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/presentation"
)

// scripted answers calls with fixed bodies, one after the other, and keeps what
// was asked. The last answer repeats.
type scripted struct {
	mu      sync.Mutex
	answers []string
	asked   []map[string]string
}

func (s *scripted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, fields(r))
	answer := s.answers[0]
	if len(s.answers) > 1 {
		s.answers = s.answers[1:]
	}
	var e struct {
		Code int `json:"error_code"`
	}
	if json.Unmarshal([]byte(answer), &e) == nil && e.Code != 0 {
		w.WriteHeader(e.Code)
	}
	_, _ = io.WriteString(w, answer)
}

func fields(r *http.Request) map[string]string {
	_, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		return nil
	}
	found := map[string]string{}
	for m := multipart.NewReader(r.Body, params["boundary"]); ; {
		part, err := m.NextPart()
		if err != nil {
			return found
		}
		data, err := io.ReadAll(part)
		if err != nil {
			return found
		}
		found[part.FormName()] = string(data)
	}
}

func against(t *testing.T, answers ...string) (*telegram.Channel, *scripted) {
	t.Helper()
	s := &scripted{answers: answers}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	ch, err := telegram.New(telegram.Config{Token: fake.DefaultToken, APIBase: server.URL, Transport: &http.Transport{}}, codec(t))
	require.NoError(t, err)
	t.Cleanup(ch.Close)
	return ch, s
}

func refused(code int, description, parameters string) string {
	return fmt.Sprintf(`{"ok":false,"error_code":%d,"description":%q%s}`, code, description, parameters)
}

// TestErrorTable is the platform's errors and what each means for the ledger.
func TestErrorTable(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		answer string
		send   core.FailureClass
		edit   core.FailureClass    // "" where the outcome says it.
		done   core.DeliveryOutcome // Of the edit.
		detail string
	}{
		{refused(429, "Too Many Requests: retry after 5", `,"parameters":{"retry_after":5}`), core.FailureRateLimited, core.FailureRateLimited, "", "too many requests"},
		{refused(429, "Too Many Requests", ``), core.FailureRateLimited, core.FailureRateLimited, "", "too many requests"},
		{refused(400, "Bad Request: message is not modified: specified new message content and reply markup are exactly the same", ``), core.FailureRejected, "", core.OutcomeReplaced, ""},
		{refused(400, "Bad Request: message to edit not found", ``), core.FailureRejected, "", core.OutcomeRetired, ""},
		{refused(400, "Bad Request: message can't be edited", ``), core.FailureRejected, "", core.OutcomeRetired, ""},
		{refused(400, "Bad Request: MESSAGE_ID_INVALID", ``), core.FailureRejected, "", core.OutcomeRetired, ""},
		{refused(400, "Bad Request: there is no text in the message to edit", ``), core.FailureRejected, "", core.OutcomeRetired, ""},
		{refused(400, "Bad Request: chat not found", ``), core.FailureGone, core.FailureGone, "", "chat not found"},
		{refused(400, "Bad Request: group chat was upgraded to a supergroup chat", `,"parameters":{"migrate_to_chat_id":-1001}`), core.FailureMoved, core.FailureMoved, "", "supergroup"},
		{refused(400, "Bad Request: message thread not found", ``), core.FailureGone, core.FailureGone, "", "message thread not found"},
		{refused(400, "Bad Request: TOPIC_CLOSED", ``), core.FailureGone, core.FailureGone, "", "topic_closed"},
		{refused(400, "Bad Request: not enough rights to send text messages to the chat", ``), core.FailureGone, core.FailureGone, "", "not enough rights"},
		{refused(400, "Bad Request: BUTTON_TYPE_INVALID", ``), core.FailureRejected, core.FailureRejected, "", "BUTTON_TYPE_INVALID"},
		{refused(400, "Bad Request: can't parse entities: Unsupported start tag \"XMARKX\"", ``), core.FailureRejected, core.FailureRejected, "", "refused"},
		{refused(400, "Bad Request: a sentence that repeats XMARKX", ``), core.FailureRejected, core.FailureRejected, "", "refused"},
		{refused(403, "Forbidden: bot was blocked by the user", ``), core.FailureGone, core.FailureGone, "", "bot was blocked"},
		{refused(403, "Forbidden: user is deactivated", ``), core.FailureGone, core.FailureGone, "", "user is deactivated"},
		{refused(403, "Forbidden: bot was kicked from the supergroup chat", ``), core.FailureGone, core.FailureGone, "", "bot was kicked"},
		{refused(403, "Forbidden: something new", ``), core.FailureGone, core.FailureGone, "", "closed to the bot"},
		{refused(401, "Unauthorized", ``), core.FailureAuth, core.FailureAuth, "", "token"},
		{refused(404, "Not Found", ``), core.FailureAuth, core.FailureAuth, "", "token"},
		{refused(413, "Request Entity Too Large", ``), core.FailureRejected, core.FailureRejected, "", "refused"},
		{refused(500, "Internal Server Error: restart", ``), core.FailureTemporary, core.FailureTemporary, "", "fault"},
		{refused(504, "Gateway Timeout", ``), core.FailureTemporary, core.FailureTemporary, "", "fault"},
		{"<html>502 XMARKX</html>", core.FailureAmbiguous, core.FailureTemporary, "", "could not be read"},
		{"", core.FailureAmbiguous, core.FailureTemporary, "", "could not be read"},
		{`{"ok":true,"result":"XMARKX"}`, core.FailureAmbiguous, core.FailureTemporary, "", "could not be read"},
	} {
		ch, _ := against(t, c.answer)
		_, err := ch.Send(t.Context(), "5", must(t, ch))
		check(t, err, c.send, c.detail, c.answer)
		outcome, err := ch.Edit(t.Context(), "5:6", must(t, ch))
		require.Equal(t, c.done, outcome, c.answer)
		if c.edit == core.FailureNone {
			require.NoError(t, err, c.answer)
			continue
		}
		check(t, err, c.edit, c.detail, c.answer)
	}
}

func check(t *testing.T, err error, class core.FailureClass, detail, about string) {
	t.Helper()
	var e *channels.Error
	require.ErrorAs(t, err, &e, about)
	require.Equal(t, class, e.Class, about)
	require.Contains(t, e.Detail, detail, about)
	require.Equal(t, class == core.FailureAuth, e.Whole, about)
	for at := err; at != nil; at = errors.Unwrap(at) {
		require.NotContains(t, at.Error(), "XMARKX")
	}
}

func TestLongRateLimitIsForTheWholeBot(t *testing.T) {
	t.Parallel()
	for seconds, whole := range map[int]bool{1: false, 60: false, 61: true, 900: true} {
		ch, _ := against(t, refused(429, "Too Many Requests", fmt.Sprintf(`,"parameters":{"retry_after":%d}`, seconds)))
		_, err := ch.Send(t.Context(), "5", must(t, ch))
		var e *channels.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, whole, e.Whole)
		require.Equal(t, time.Duration(seconds)*time.Second, e.RetryAfter)
	}
}

const sentMessage = `{"ok":true,"result":{"message_id":9,"date":1,"chat":{"id":5,"type":"private"}}}`

// TestPlainFallback: a layout that the platform does not take is sent once more
// as one plain block without links.
func TestPlainFallback(t *testing.T) {
	t.Parallel()
	c := card()
	c.Actions = append(c.Actions, core.Action{Type: core.ActionURL, Label: "Review", URL: "https://ok.example.com/approve/a"})
	for _, description := range []string{"can't parse entities: offset", "ENTITY_BOUNDS_INVALID", "inline keyboard button URL 'x' is invalid: Wrong HTTP URL", "BUTTON_URL_INVALID"} {
		ch, s := against(t, refused(400, "Bad Request: "+description, ""), sentMessage)
		r, err := ch.Render(c)
		require.NoError(t, err)
		locator, err := ch.Send(t.Context(), "5", r)
		require.NoError(t, err)
		require.Equal(t, "5:9", locator)
		require.Len(t, s.asked, 2)
		require.Equal(t, s.asked[0]["text"], s.asked[1]["text"])
		require.JSONEq(t, fmt.Sprintf(`[{"type":"pre","offset":0,"length":%d}]`, len(s.asked[1]["text"])), s.asked[1]["entities"])
		require.Contains(t, s.asked[0]["reply_markup"], "https://")
		require.NotContains(t, s.asked[1]["reply_markup"], "https://")
		require.Contains(t, s.asked[1]["reply_markup"], "callback_data")

		ch, s = against(t, refused(400, "Bad Request: "+description, ""), sentMessage)
		outcome, err := ch.Edit(t.Context(), "5:9", r)
		require.NoError(t, err)
		require.Equal(t, core.OutcomeReplaced, outcome)
		require.Len(t, s.asked, 2)
	}
}

// TestRepeatedEditKeepsItsLayout: an edit that had arrived before is no layout refused,
// although the platform's words for it name the reply markup (conformance 113).
func TestRepeatedEditKeepsItsLayout(t *testing.T) {
	t.Parallel()
	ch, s := against(t, refused(400, "Bad Request: message is not modified: specified new message content and reply markup "+
		"are exactly the same as a current content and reply markup of the message", ""))
	outcome, err := ch.Edit(t.Context(), "5:9", must(t, ch))
	require.NoError(t, err)
	require.Equal(t, core.OutcomeReplaced, outcome)
	require.Len(t, s.asked, 1)
}

// TestWire pins what goes over the wire.
func TestWire(t *testing.T) {
	t.Parallel()
	ch, s := against(t, sentMessage)
	r := must(t, ch)
	_, err := ch.Send(t.Context(), "5/42", r)
	require.NoError(t, err)
	_, err = ch.Edit(t.Context(), "5:9", r)
	require.NoError(t, err)
	for _, asked := range s.asked {
		require.Equal(t, "5", asked["chat_id"])
		require.NotContains(t, asked, "parse_mode")
		require.JSONEq(t, `{"is_disabled":true}`, asked["link_preview_options"])
		require.NotContains(t, asked["reply_markup"], "copy_text")
	}
	require.Equal(t, "42", s.asked[0]["message_thread_id"])
	require.NotContains(t, s.asked[1], "message_thread_id", "an edit needs chat and message alone")
	c := card()
	c.Outcome = &presentation.Outcome{Text: "Denied by Alice."}
	done, err := ch.Render(c)
	require.NoError(t, err)
	_, err = ch.Edit(t.Context(), "5:9", done)
	require.NoError(t, err)
	require.NotContains(t, s.asked[2], "reply_markup", "left out, so that the keyboard goes away")
}

func TestTopics(t *testing.T) {
	t.Parallel()
	r := setup(t, nil)
	in := fmt.Sprintf("%d/%d", forum, topic)
	m, ok := r.s.Message(r.post(t, fmt.Sprintf("%d/1", forum)))
	require.True(t, ok)
	require.Equal(t, text(forum), m.Address, "General is addressed by leaving the topic out")

	r.s.CloseTopic(forum, topic)
	_, err := r.ch.Send(r.ctx, in, must(t, r.ch))
	check(t, err, core.FailureGone, "topic_closed", in)
	r.s.DeleteTopic(forum, topic, false)
	_, err = r.ch.Send(r.ctx, in, must(t, r.ch))
	check(t, err, core.FailureGone, "message thread not found", in)
}

// TestDeletedTopicFallsToGeneral: the platform moves the message without a word;
// the channel says so and keeps the card editable.
func TestDeletedTopicFallsToGeneral(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	r := setup(t, func(c *telegram.Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	r.s.DeleteTopic(forum, topic, true)
	locator := r.post(t, fmt.Sprintf("%d/%d", forum, topic))
	require.Contains(t, log.String(), "message landed outside its topic")
	outcome, err := r.ch.Edit(r.ctx, locator, must(t, r.ch))
	require.NoError(t, err)
	require.Equal(t, core.OutcomeReplaced, outcome)
}

func TestPeopleWhoCannotBeReached(t *testing.T) {
	t.Parallel()
	r := setup(t, nil)
	r.s.AddUser(55, "Never", "")
	_, err := r.ch.Send(r.ctx, "55", must(t, r.ch))
	check(t, err, core.FailureGone, "chat not found", "never pressed Start")
	locator := r.post(t, text(other))
	r.s.Change(other, func(c *fake.Chat) { c.Blocked = true })
	_, err = r.ch.Send(r.ctx, text(other), must(t, r.ch))
	check(t, err, core.FailureGone, "bot was blocked", "blocked")
	_, err = r.ch.Edit(r.ctx, locator, must(t, r.ch))
	check(t, err, core.FailureGone, "bot was blocked", "blocked")
	r.s.Change(group, func(c *fake.Chat) { c.Muted = true })
	_, err = r.ch.Send(r.ctx, text(group), must(t, r.ch))
	check(t, err, core.FailureGone, "not enough rights", "muted")
}

// TestDetailForms: up to four messages, beyond it one file.
func TestDetailForms(t *testing.T) {
	t.Parallel()
	r := setup(t, nil)
	locator := r.post(t, text(owner))
	for _, c := range []struct{ bytes, messages, files int }{
		{10, 1, 0}, {4_000, 1, 0}, {4_001, 2, 0}, {16_000, 4, 0}, {16_001, 0, 1}, {65_536, 0, 1},
	} {
		before := len(r.s.Messages())
		whole := card()
		whole.Command = strings.Repeat("x", c.bytes)
		require.NoError(t, r.ch.SendDetail(r.ctx, text(owner), locator, whole))
		var messages, files int
		for _, m := range r.s.Messages()[before:] {
			if m.File != nil {
				require.Equal(t, whole.Command, string(m.File))
				require.Equal(t, "action.txt", m.FileName)
				files++
				continue
			}
			messages++
		}
		require.Equal(t, c.messages, messages, "%d bytes", c.bytes)
		require.Equal(t, c.files, files, "%d bytes", c.bytes)
	}
	require.NoError(t, r.s.DeleteMessage(locator))
	require.NoError(t, r.ch.SendDetail(r.ctx, text(owner), locator, card()), "a deleted card is no reason to withhold it")
	r.s.Script.Add(fakes.Fault{Kind: fakes.FaultRateLimit, Op: fakes.OpFile, Delay: time.Second})
	whole := card()
	whole.Command = strings.Repeat("x", 30_000)
	check(t, r.ch.SendDetail(r.ctx, text(owner), locator, whole), core.FailureRateLimited, "", "file")
}

// leaky is a transport whose error repeats the whole URL.
type leaky struct{}

func (leaky) RoundTrip(r *http.Request) (*http.Response, error) {
	_ = r.Body.Close()
	return nil, fmt.Errorf("proxy: cannot reach %s: %w", r.URL, context.DeadlineExceeded)
}

func TestTokenNeverInErrors(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	ch, err := telegram.New(telegram.Config{
		Token: fake.DefaultToken, Transport: leaky{}, Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}, codec(t))
	require.NoError(t, err)
	_, sendErr := ch.Send(t.Context(), "5", must(t, ch))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.NoError(t, ch.Run(ctx, nil))
	_, secret, _ := strings.Cut(fake.DefaultToken, ":")
	for _, failed := range []error{sendErr, ch.Check(t.Context())} {
		require.ErrorIs(t, failed, context.DeadlineExceeded)
		for at := failed; at != nil; at = errors.Unwrap(at) {
			require.NotContains(t, at.Error(), secret)
			require.NotContains(t, fmt.Sprintf("%#v", at), secret)
		}
	}
	require.NotEmpty(t, log.String())
	require.NotContains(t, log.String(), secret)
}

func TestConfigIsChecked(t *testing.T) {
	t.Parallel()
	good := telegram.Config{Token: fake.DefaultToken}
	for field, change := range map[string]func(*telegram.Config){
		"token":       func(c *telegram.Config) { c.Token = "SECRETVALUE" },
		"webhook.url": func(c *telegram.Config) { c.Webhook = telegram.Webhook{URL: "http://SECRETVALUE", Secret: "s"} },
		"webhook.secret": func(c *telegram.Config) {
			c.Webhook = telegram.Webhook{URL: "https://x.example", Secret: "SECRETVALUE!"}
		},
		"webhook.connections": func(c *telegram.Config) { c.Webhook.Connections = 101 },
		"poll_timeout":        func(c *telegram.Config) { c.PollTimeout = time.Minute },
	} {
		cfg := good
		change(&cfg)
		_, err := telegram.New(cfg, codec(t))
		var e *core.FieldError
		require.ErrorAs(t, err, &e)
		require.Equal(t, field, e.Field)
		require.ErrorIs(t, err, core.ErrInvalid)
		require.NotContains(t, err.Error(), "SECRETVALUE")
	}
	ch, err := telegram.New(good, codec(t))
	require.NoError(t, err)
	require.Equal(t, core.AccountRef{Channel: core.SurfaceTelegram, Account: "7000000001"}, ch.Ref())
}

// failing is a codec that cannot encode.
type failing struct{}

func (failing) Encode(core.AccountRef, core.Action) (string, string, error) {
	return "", "", core.ErrInvalid
}

func TestRenderTellsTheCodecsError(t *testing.T) {
	t.Parallel()
	ch, err := telegram.New(telegram.Config{Token: fake.DefaultToken}, failing{})
	require.NoError(t, err)
	_, err = ch.Render(card())
	require.ErrorIs(t, err, core.ErrInvalid)
}
