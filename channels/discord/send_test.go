package discord_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/channels/discord"
	"github.com/saysohq/sayso/channels/fakes"
	fake "github.com/saysohq/sayso/channels/fakes/discord"
	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/presentation"
)

func card(command string, labels ...string) presentation.Card {
	c := presentation.Card{
		Title: "Claude wants to run a command", Pill: "Reaches out", Command: command, CutMark: "Not all of it fits here.",
		Facts: []presentation.Fact{{Label: "Agent", Value: "Claude"}, {Label: "Expires", Value: "14:30 UTC", Time: 1_700_000_000_000}},
	}
	for _, l := range labels {
		c.Actions = append(c.Actions, core.Action{Type: core.ActionApproval, Label: l, ApprovalID: "a-" + l, Kind: core.KindExec, Decision: core.DecisionDeny})
	}
	return c
}

func rendered(t *testing.T, ch *discord.Channel, c presentation.Card) channels.Rendered {
	t.Helper()
	r, err := ch.Render(c)
	require.NoError(t, err)
	return r
}

// A send whose answer was lost is repeated without a second message (platform's
// nonce); another message of the same card needs another nonce.
func TestRepeatedSendMakesOneMessage(t *testing.T) {
	t.Parallel()
	s := world(t, fake.Config{})
	ch := open(t, s, codec(t), nil)
	r := rendered(t, ch, card("ls", "Deny"))
	r.Nonce = "delivery-1"
	s.Script.Add(fakes.Fault{Kind: fakes.FaultResetAfter, Op: fakes.OpSend})
	_, err := ch.Send(t.Context(), "@"+owner, r)
	require.Equal(t, core.FailureAmbiguous, failure(t, err).Class)
	locator, err := ch.Send(t.Context(), "@"+owner, r)
	require.NoError(t, err)
	require.Len(t, s.Messages(), 1)
	require.Equal(t, s.Messages()[0].Locator, locator)

	// The repetition carries other buttons by now: the message must show what is
	// recorded as shown.
	changed := rendered(t, ch, card("ls", "Deny", "No"))
	changed.Nonce = r.Nonce
	again, err := ch.Send(t.Context(), "@"+owner, changed)
	require.NoError(t, err)
	require.Equal(t, locator, again)
	require.Len(t, s.Messages(), 1)
	require.Len(t, s.Messages()[0].Buttons, 2)

	s.Clock.Advance(time.Hour)
	_, err = ch.Send(t.Context(), "@"+owner, r)
	require.NoError(t, err)
	require.Len(t, s.Messages(), 2, "the platform remembers for minutes")
	require.Len(t, s.Calls("POST", "users/@me/channels"), 1, "a direct chat is opened once")
	require.Empty(t, s.Violations.List())
}

func failure(t *testing.T, err error) *channels.Error {
	t.Helper()
	var e *channels.Error
	require.ErrorAs(t, err, &e)
	return e
}

func TestArchivedThreadIsOpenedFirst(t *testing.T) {
	t.Parallel()
	s := world(t, fake.Config{})
	ch := open(t, s, codec(t), nil)
	locator, err := ch.Send(t.Context(), thread, rendered(t, ch, card("ls", "Deny")))
	require.NoError(t, err)
	s.Archive(thread, false)
	outcome, err := ch.Edit(t.Context(), locator, rendered(t, ch, card("pwd")))
	require.NoError(t, err)
	require.Equal(t, core.OutcomeReplaced, outcome)
	m, _ := s.Message(locator)
	require.Contains(t, m.Text, "pwd")

	s.Archive(thread, true)
	_, err = ch.Edit(t.Context(), locator, rendered(t, ch, card("cd")))
	e := failure(t, err)
	require.Equal(t, core.FailureGone, e.Class)
	require.Equal(t, "edit", e.Op)
	require.Empty(t, s.Violations.List())
}

// Without the right to read the history nothing can be a reply; the detail comes all
// the same.
func TestDetailWithoutHistory(t *testing.T) {
	t.Parallel()
	s := world(t, fake.Config{})
	ch := open(t, s, codec(t), nil)
	s.Blind(group)
	for _, command := range []string{"ls", strings.Repeat("ls\n", 5_000)} {
		c := card(command, "Deny")
		locator, err := ch.Send(t.Context(), group, rendered(t, ch, c))
		require.NoError(t, err)
		before := len(s.Messages())
		require.NoError(t, ch.SendDetail(t.Context(), group, locator, c))
		require.Len(t, s.Messages(), before+1)
		require.Empty(t, s.Messages()[before].ReplyTo)
	}
	require.Empty(t, s.Violations.List())
}

// People and chats that the bot cannot reach: the person's next route is planned.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*fake.Server) string{
		"closed direct messages": func(s *fake.Server) string { s.CloseDirect(owner); return "@" + owner },
		"no server in common":    func(s *fake.Server) string { s.LeaveServers(owner); return "@" + owner },
		"no right to write":      func(s *fake.Server) string { s.Mute(group); return group },
		"locked thread":          func(s *fake.Server) string { s.Archive(thread, true); return thread },
		"unknown channel":        func(*fake.Server) string { return "42" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := world(t, fake.Config{})
			ch := open(t, s, codec(t), nil)
			_, err := ch.Send(t.Context(), change(s), rendered(t, ch, card("ls")))
			require.Equal(t, core.FailureGone, failure(t, err).Class)
			require.Empty(t, s.Violations.List())
		})
	}
}

func TestEditsThatCannotBe(t *testing.T) {
	t.Parallel()
	s := world(t, fake.Config{})
	ch := open(t, s, codec(t), nil)
	locator, err := ch.Send(t.Context(), group, rendered(t, ch, card("ls")))
	require.NoError(t, err)
	s.Clock.Advance(2 * time.Hour)
	var last error
	edits := 0
	for ; last == nil && edits < 10; edits++ {
		_, last = ch.Edit(t.Context(), locator, rendered(t, ch, card("pwd")))
	}
	e := failure(t, last)
	require.Equal(t, core.FailureRateLimited, e.Class, "edits of messages older than an hour have a budget of their own")
	require.Equal(t, time.Minute, e.RetryAfter)
	require.True(t, e.Single, "new cards of the chat need not wait")
	require.False(t, e.Whole)
	s.Clock.Advance(time.Minute)
	_, err = ch.Edit(t.Context(), locator, rendered(t, ch, card("pwd")))
	require.NoError(t, err)

	require.NoError(t, s.Own(locator, other))
	outcome, err := ch.Edit(t.Context(), locator, rendered(t, ch, card("cd")))
	require.NoError(t, err)
	require.Equal(t, core.OutcomeRetired, outcome)
}

func TestHiddenEmbedsLeaveTheEssentials(t *testing.T) {
	t.Parallel()
	s := world(t, fake.Config{})
	s.HideEmbeds()
	ch := open(t, s, codec(t), nil)
	locator, err := ch.Send(t.Context(), group, rendered(t, ch, card("rm -r ./build", "Deny")))
	require.NoError(t, err)
	m, _ := s.Message(locator)
	require.Contains(t, m.Text, "Claude wants to run a command")
	require.Contains(t, m.Text, "rm -r ./build")
	require.NotContains(t, m.Text, "Agent")
}

// stub answers every call with the next of its answers, the last one again and again.
type stub struct {
	mu      sync.Mutex
	answers []answer
	bodies  []string
}

type answer struct {
	status int
	body   string
	header map[string]string
}

func (s *stub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	body, _ := io.ReadAll(r.Body) // The test looks at what came.
	s.bodies = append(s.bodies, string(body))
	a := s.answers[0]
	if len(s.answers) > 1 {
		s.answers = s.answers[1:]
	}
	for k, v := range a.header {
		w.Header().Set(k, v)
	}
	w.WriteHeader(a.status)
	_, _ = io.WriteString(w, a.body)
}

func stubbed(t *testing.T, answers ...answer) (*discord.Channel, *stub) {
	t.Helper()
	s := &stub{answers: answers}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	ch, err := discord.New(discord.Config{Token: token, APIBase: server.URL, Transport: &http.Transport{}, Pause: noPause}, codec(t))
	require.NoError(t, err)
	t.Cleanup(ch.Close)
	return ch, s
}

const token = "OTAwMDAwMDAwMDAwMDAwMDAx.Gabcde.the-secret-part" // Of application 900000000000000001.

// The error table of the platform.
func TestErrorTable(t *testing.T) {
	t.Parallel()
	type want struct {
		class   core.FailureClass
		delay   time.Duration
		whole   bool
		single  bool
		notSent bool
	}
	code := func(status int, body string) answer { return answer{status: status, body: body} }
	for name, c := range map[string]struct {
		answer answer
		send   want
	}{
		"401":                   {code(401, `{"message":"401: Unauthorized","code":0}`), want{class: core.FailureAuth, whole: true}},
		"401 without a body":    {code(401, ``), want{class: core.FailureAuth, whole: true}},
		"429":                   {code(429, `{"message":"slow","retry_after":0.3455,"global":false}`), want{class: core.FailureRateLimited, delay: 346 * time.Millisecond}},
		"429 global":            {code(429, `{"message":"slow","retry_after":2,"global":true}`), want{class: core.FailureRateLimited, delay: 2 * time.Second, whole: true}},
		"429 of the network":    {answer{429, "error code: 1015", map[string]string{"Retry-After": "77"}}, want{class: core.FailureRateLimited, delay: 77 * time.Second, whole: true}},
		"429 absurd":            {code(429, `{"message":"slow","retry_after":1e300}`), want{class: core.FailureRateLimited, delay: 24 * time.Hour}},
		"429 negative":          {code(429, `{"message":"slow","retry_after":-1}`), want{class: core.FailureRateLimited}},
		"30046":                 {code(429, `{"message":"old","code":30046,"retry_after":600}`), want{class: core.FailureRateLimited, delay: 10 * time.Minute, single: true}},
		"40003":                 {code(400, `{"message":"fast","code":40003}`), want{class: core.FailureRateLimited}},
		"10003":                 {code(404, `{"message":"x","code":10003}`), want{class: core.FailureGone}},
		"50001":                 {code(403, `{"message":"x","code":50001}`), want{class: core.FailureGone}},
		"50007":                 {code(403, `{"message":"x","code":50007}`), want{class: core.FailureGone}},
		"50278":                 {code(403, `{"message":"x","code":50278}`), want{class: core.FailureGone}},
		"403 of another code":   {code(403, `{"message":"x","code":40333}`), want{class: core.FailureGone}},
		"403 of the network":    {code(403, `<html>blocked</html>`), want{class: core.FailureAmbiguous}},
		"50109":                 {code(400, `{"message":"x","code":50109}`), want{class: core.FailureRejected}},
		"500":                   {code(500, `{"message":"x","code":0}`), want{class: core.FailureTemporary}},
		"503 without JSON":      {code(503, `upstream`), want{class: core.FailureAmbiguous}},
		"success without JSON":  {code(200, `<html>`), want{class: core.FailureAmbiguous}},
		"success without an id": {code(200, `{}`), want{class: core.FailureAmbiguous}},
		"redirect":              {answer{302, "", map[string]string{"Location": "https://evil.example"}}, want{class: core.FailureAmbiguous}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ch, _ := stubbed(t, c.answer)
			_, err := ch.Send(t.Context(), group, rendered(t, ch, card("ls")))
			e := failure(t, err)
			got := want{e.Class, e.RetryAfter, e.Whole, e.Single, e.NotSent}
			require.Empty(t, cmp.Diff(c.send, got, cmp.AllowUnexported(want{})))
			_, err = ch.Send(t.Context(), "@"+owner, rendered(t, ch, card("ls")))
			e = failure(t, err)
			require.NotEqual(t, core.FailureAmbiguous, e.Class, "opening a direct chat posts nothing")
			require.Equal(t, e.Class == core.FailureTemporary, e.NotSent)
		})
	}
}

// A refused layout is our own fault: it is logged by field, and the message goes out
// plain, once.
func TestLayoutRefused(t *testing.T) {
	t.Parallel()
	invalid := answer{status: 400, body: `{"message":"Invalid Form Body","code":50035,"errors":{"embeds":{"0":{"fields":{"1":{"value":{"_errors":[{"code":"BASE_TYPE_MAX_LENGTH","message":"secret content"}]}}}}}}}`}
	sent := answer{status: 200, body: `{"id":"7","channel_id":"500000000000000001","embeds":[],"components":[]}`}
	ch, s := stubbed(t, invalid, sent)
	locator, err := ch.Send(t.Context(), group, rendered(t, ch, card("ls", "Deny")))
	require.NoError(t, err)
	require.Equal(t, group+":7", locator)
	var plain struct {
		Content string            `json:"content"`
		Embeds  []json.RawMessage `json:"embeds"`
		Rows    []json.RawMessage `json:"components"`
	}
	require.NoError(t, json.Unmarshal([]byte(s.bodies[1]), &plain))
	require.Empty(t, plain.Embeds)
	require.Len(t, plain.Rows, 1)
	require.Contains(t, plain.Content, "ls")

	ch, s = stubbed(t, invalid)
	_, err = ch.Edit(t.Context(), group+":7", rendered(t, ch, card("ls")))
	e := failure(t, err)
	require.Equal(t, core.FailureRejected, e.Class)
	require.Equal(t, "edit: rejected: the request is refused (code 50035): embeds.0.fields.1.value: BASE_TYPE_MAX_LENGTH", err.Error())
	require.Len(t, s.bodies, 2, "once more, and then it is over")
}

func TestNewRefusesWhatCannotBeRight(t *testing.T) {
	t.Parallel()
	key := strings.Repeat("ab", 32)
	for name, c := range map[string]struct {
		cfg   discord.Config
		field string
	}{
		"no token":         {discord.Config{}, "token"},
		"prefix":           {discord.Config{Token: "Bot " + token}, "token"},
		"two parts":        {discord.Config{Token: "abcdefgh.x"}, "token"},
		"line":             {discord.Config{Token: token + "\n"}, "token"},
		"no id in it":      {discord.Config{Token: "abcdefghij.x.y"}, "application_id"},
		"id":               {discord.Config{Token: token, ApplicationID: "12a"}, "application_id"},
		"short key":        {discord.Config{Token: token, PublicKey: key[2:]}, "public_key"},
		"key of no digits": {discord.Config{Token: token, PublicKey: strings.Repeat("zz", 32)}, "public_key"},
		"late":             {discord.Config{Token: token, Late: 3 * time.Second}, "late"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := discord.New(c.cfg, codec(t))
			var f *core.FieldError
			require.ErrorAs(t, err, &f)
			require.Equal(t, c.field, f.Field)
			require.NotContains(t, err.Error(), "secret")
		})
	}
	ch, err := discord.New(discord.Config{Token: token, PublicKey: key}, codec(t))
	require.NoError(t, err)
	require.Equal(t, core.AccountRef{Channel: core.SurfaceDiscord, Account: "900000000000000001"}, ch.Ref(), "the token tells the application")
	ch, err = discord.New(discord.Config{Token: token, ApplicationID: "5"}, codec(t))
	require.NoError(t, err)
	require.Equal(t, "5", ch.Ref().Account, "unless it is one of the oldest")
}

func TestCheckTellsWhatIsMixedUp(t *testing.T) {
	t.Parallel()
	s := world(t, fake.Config{})
	require.NoError(t, open(t, s, codec(t), func(c *discord.Config) { c.PublicKey = s.PublicKey() }).Check(t.Context()))
	for name, change := range map[string]func(*discord.Config){
		"another application": func(c *discord.Config) { c.ApplicationID = "5" },
		"another's key":       func(c *discord.Config) { c.PublicKey = strings.Repeat("ab", 32) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := failure(t, open(t, s, codec(t), change).Check(t.Context()))
			require.Equal(t, core.FailureAuth, e.Class)
			require.Contains(t, e.Detail, "belongs to another application")
		})
	}
}

func TestRegister(t *testing.T) {
	t.Parallel()
	s := world(t, fake.Config{})
	ch := open(t, s, codec(t), nil)
	require.NoError(t, ch.Register(t.Context()))
	require.NoError(t, ch.Register(t.Context()))
	require.Len(t, s.Commands(), 2, "one call each, of the one command")
	var got struct {
		Name    string `json:"name"`
		Options []struct {
			Name string `json:"name"`
		} `json:"options"`
	}
	require.NoError(t, json.Unmarshal(s.Commands()[0], &got))
	require.Equal(t, "sayso", got.Name)
	names := []string{}
	for _, o := range got.Options {
		names = append(names, o.Name)
	}
	require.Equal(t, []string{"approve", "deny", "pending", "mode", "rules", "link", "whoami"}, names)
	require.Empty(t, s.Violations.List())
	s.Script.Add(fakes.Fault{Kind: fakes.FaultServerError, Op: fakes.OpCheck})
	require.Equal(t, core.FailureTemporary, failure(t, ch.Register(t.Context())).Class)
}
