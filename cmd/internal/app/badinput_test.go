package app_test

import (
	"bytes"
	"context"
	"database/sql"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/callbacks"
	fake "github.com/saysohq/sayso/channels/fakes/telegram"
	"github.com/saysohq/sayso/cmd/internal/app"
	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/api"
	"github.com/saysohq/sayso/core/store/sqlite"
	"github.com/saysohq/sayso/presentation"
)

// Bad input of every kind gets a clear answer and changes nothing. Where each kind
// is tested, end to end in this file and in detail below it:
//
//	malformed JSON              TestBadRequests        gateway.TestBadInput
//	unknown fields              TestBadRequests        gateway.TestBadInput
//	oversized bodies            TestBadRequests        gateway.TestBodyBounds
//	bad UTF-8                   TestBadRequests        gateway.TestBadInput, approvals.TestAskRefuses
//	hostile ids                 TestHostileIDs         gateway.TestIDsInPaths, storetest (conformance 4-13)
//	negative and huge expiries  TestBadRequests        gateway.TestExpiryBoundsAreTheServices, approvals.TestAskRefuses
//	unknown kinds               TestBadRequests        gateway.TestBadInput, redact.TestDescribeRefuses
//	decisions not offered       TestBadDecisions       approvals.TestResolveRefuses, callbacks.TestCutCardCannotAllow
//	wrong hash                  TestWrongHash          approvals.TestWrongHash, callbacks.TestWrongHashIsToldAsADenial
//	missing hash                TestBadDecisions       approvals.TestResolveRefuses, gateway.TestResolveRefusals
//	a runtime that allows       TestBadDecisions       gateway.TestMachineCannotAllow, approvals.TestResolveRefuses
//	a stranger's click          TestBadClicks          callbacks.TestStrangersChangeNothing
//	forged, foreign callbacks   TestBadClicks          callbacks.TestForgedPayloadsDecideNothing, TestDecodeRefuses
//	a forwarded copy            TestBadClicks          callbacks.TestClicksThatAreNotOnTheirCard, channeltest
//	another card's payload      TestBadClicks          callbacks.TestClicksThatAreNotOnTheirCard, channeltest
//	a message we never sent     TestBadClicks          callbacks.TestClicksThatAreNotOnTheirCard, storetest
//	bad pushes                  TestBadPushes          the rooms' FuzzPushed..., FuzzWebhook, FuzzFrame, FuzzRead
//	a full disk                 (needs a disk to fill) sqlite.TestDiskFull: no half-written row, at each place of a batch;
//	                                                   gateway.TestResolveRefusals: 507; callbacks.TestNothingRecordedIsSaidSo
//	a read-only data folder     TestStartRefuses       sqlite.TestOpenRefusesAReadOnlyFolder
//	a newer database            TestStartRefuses       sqlite.TestOpenRefusesANewerSchema
//	a second service            TestStartRefuses       sqlite.TestOpenRefusesASecondProcess
//	a sealed backup             TestStartRefuses       sqlite.TestOpenRefusesASealedStore

const simpleAsk = `{"kind":"plugin","title":"Send it","operation":{"tool":"mail","arguments":{"to":"ann"}}}`

// What cannot be read or can never be right is refused with a stable code, names
// the field at fault, and leaves no row.
func TestBadRequests(t *testing.T) {
	t.Parallel()
	r := start(t, folder(t))
	const operation = `"operation":{"tool":"mail","arguments":{}}`
	for name, c := range map[string]struct {
		body   string
		status int
		code   string
		field  string
	}{
		"malformed JSON":      {`{"kind":"plugin",`, 400, "malformed", "body"},
		"no JSON":             {`kind=plugin`, 400, "malformed", "body"},
		"name twice":          {`{"kind":"plugin","kind":"exec",` + operation + `}`, 400, "malformed", "body"},
		"unknown field":       {`{"kind":"plugin","always":true,` + operation + `}`, 422, "invalid", "body"},
		"unknown inner field": {`{"kind":"plugin","operation":{"tool":"m","arguments":{},"class":"read"}}`, 422, "invalid", "operation"},
		"oversized body":      {`{"kind":"plugin","title":"` + strings.Repeat("a", 1<<20) + `",` + operation + `}`, 413, "too_large", ""},
		"bad UTF-8":           {"{\"kind\":\"plugin\",\"title\":\"\xc3\x28\"," + operation + "}", 400, "malformed", "body"},
		"lone surrogate":      {`{"kind":"plugin","title":"\ud800",` + operation + `}`, 400, "malformed", "body"},
		"negative expiry":     {`{"kind":"plugin","expires_in":"-1s",` + operation + `}`, 422, "invalid", "expires_in"},
		"expiry of zero":      {`{"kind":"plugin","expires_in":"0s",` + operation + `}`, 422, "invalid", "expires_in"},
		"expiry above all":    {`{"kind":"plugin","expires_in":"168h0m0.001s",` + operation + `}`, 422, "invalid", "expires_in"},
		"expiry that is huge": {`{"kind":"plugin","expires_in":"999999999999h",` + operation + `}`, 422, "invalid", "expires_in"},
		"unknown kind":        {`{"kind":"shell",` + operation + `}`, 422, "invalid", "kind"},
		"kind in capitals":    {`{"kind":"EXEC",` + operation + `}`, 422, "invalid", "kind"},
		"no kind":             {`{` + operation + `}`, 422, "invalid", "kind"},
		"no arguments":        {`{"kind":"plugin","operation":{"tool":"m"}}`, 422, "invalid", "operation.arguments"},
		"no command":          {`{"kind":"exec","operation":{"tool":"m","arguments":{}}}`, 422, "invalid", "operation.arguments"},
		"unknown reviewer":    {`{"kind":"plugin","reviewers":["nobody"],` + operation + `}`, 422, "invalid", "reviewers[0]"},
	} {
		a := r.do(t, call{method: http.MethodPost, path: "/v1/approvals", bearer: r.machine, body: c.body})
		require.Equal(t, c.status, a.status, name)
		require.Equal(t, "application/problem+json", a.header.Get("Content-Type"), name)
		p := decode[api.Problem](t, a)
		require.Equal(t, c.code, p.Code, name)
		if c.field != "" {
			require.Len(t, p.Errors, 1, name)
			require.Equal(t, c.field, p.Errors[0].Field, name)
		}
	}
	require.Empty(t, send[api.List](t, r, http.StatusOK, call{method: http.MethodGet, path: "/v1/approvals"}).Approvals)
}

// Ids are opaque (conformance 4, 5, 10, 139): what is accepted is found again by the
// API and on the page; what is not is refused before anything is written.
func TestHostileIDs(t *testing.T) {
	t.Parallel()
	r := start(t, folder(t))
	r.signIn(t, "Ann")
	ask := func(id, title string) answer {
		body := strings.Replace(simpleAsk, `"title":"Send it"`, `"id":`+encode(t, id)+`,"title":"`+title+`"`, 1)
		return r.do(t, call{method: http.MethodPost, path: "/v1/approvals", bearer: r.machine, body: body})
	}
	for _, id := range []string{
		"../../etc/passwd", "...", "a/b", `a\b`, "x.js", "?a=b#c", "%2e%2e", "' OR 1=1 --", "<script>alert(1)</script>", "\u00a0edge\u00a0",
		"\ufeffbom", " leading", "local:other", strings.Repeat("ä", 100), "\u202eRTL", "null",
	} {
		a := ask(id, "Send it")
		require.Equal(t, http.StatusCreated, a.status, "%q: %s", id, a.body)
		got := decode[api.Asked](t, a).Approval
		require.Equal(t, "local:"+id, got.ID)
		require.Equal(t, got.ID, r.get(t, got.ID).ID)
		page := r.do(t, call{method: http.MethodGet, path: got.URLPath})
		require.Equal(t, http.StatusOK, page.status, "%q", id)
		require.NotContains(t, page.body, "<script>alert")
		require.Equal(t, http.StatusOK, ask(id, "Send it").status, "the same question is the same record")
		again := ask(id, "Send another")
		require.Equal(t, http.StatusConflict, again.status, "%q", id)
		require.Equal(t, "id_taken", decode[api.Problem](t, again).Code)
	}
	for _, id := range []string{".", "..", "a\x00b", "a\nb", "\x1b[2J", "\u0085", strings.Repeat("x", core.MaxGivenID+1)} {
		a := ask(id, "Send it")
		require.Equal(t, http.StatusUnprocessableEntity, a.status, "%q", id)
		require.Equal(t, "id", decode[api.Problem](t, a).Errors[0].Field)
	}
}

// An answer that may not be given changes nothing, whoever gives it (K8; conformance
// 21, 23, 26, 49).
func TestBadDecisions(t *testing.T) {
	t.Parallel()
	r := start(t, folder(t))
	r.signIn(t, "Ann")
	// Too long for the projection: an allow needs the view that the detail came with.
	a := r.ask(t, strings.Replace(simpleAsk, `"ann"`, `"`+strings.Repeat("ann ", 2_000)+`"`, 1))
	detail := send[api.Detail](t, r, http.StatusOK, call{method: http.MethodGet, path: "/v1/approvals/" + a.ID + "/detail", bearer: r.bearer(t)})
	good := api.Resolve{Kind: a.Kind, Decision: core.DecisionAllowOnce, ArgumentsHash: a.ArgumentsHash, View: detail.View}
	for name, c := range map[string]struct {
		change func(*api.Resolve)
		bearer string
		code   string
	}{
		"a runtime that allows":     {func(*api.Resolve) {}, r.machine, "forbidden"},
		"a runtime that denies":     {func(q *api.Resolve) { q.Decision = core.DecisionDeny }, r.machine, "forbidden"},
		"nobody":                    {func(*api.Resolve) {}, "sayso_ss_unknown", "unauthenticated"},
		"a decision not offered":    {func(q *api.Resolve) { q.Decision = core.DecisionAllowAlways }, "", "not_offered"},
		"a decision of no kind":     {func(q *api.Resolve) { q.Decision = "yes" }, "", "invalid"},
		"the other kind":            {func(q *api.Resolve) { q.Kind = core.KindExec }, "", "wrong_kind"},
		"a kind of no kind":         {func(q *api.Resolve) { q.Kind = "both" }, "", "invalid"},
		"no hash":                   {func(q *api.Resolve) { q.ArgumentsHash = "" }, "", "hash_required"},
		"nothing was shown":         {func(q *api.Resolve) { q.View = "" }, "", "not_shown"},
		"a view that was made up":   {func(q *api.Resolve) { q.View = strings.Repeat("A", len(q.View)) }, "", "not_shown"},
		"a part that does not lack": {func(q *api.Resolve) { q.View, q.PartialView = "", true }, "", "not_shown"},
	} {
		q := good
		c.change(&q)
		if c.bearer == "" {
			c.bearer = r.bearer(t)
		}
		refused := r.do(t, call{method: http.MethodPost, path: "/v1/approvals/" + a.ID + "/resolve", bearer: c.bearer, body: encode(t, q)})
		require.Equal(t, c.code, decode[api.Problem](t, refused).Code, name)
		now := r.get(t, a.ID)
		require.Equal(t, core.StatusPending, now.Status, name)
		require.Equal(t, a.CardRevision, now.CardRevision, name)
	}
	done := send[api.Resolved](t, r, http.StatusOK, call{method: http.MethodPost, path: "/v1/approvals/" + a.ID + "/resolve", bearer: r.bearer(t), body: encode(t, good)})
	require.True(t, done.Applied, "the good answer still counts")
}

// A wrong hash from somebody who may decide is a verdict on another action than was
// asked about: it denies (K9, R100).
func TestWrongHash(t *testing.T) {
	t.Parallel()
	r := start(t, folder(t))
	r.signIn(t, "Ann")
	a := r.ask(t, simpleAsk)
	form := r.form(t, a.ID)
	form.Set("decision", "allow-once")
	form.Set("hash", core.HashOf([]byte("another action")))
	require.Equal(t, http.StatusSeeOther, r.post(t, "/approve/"+a.ID, form).status)
	now := r.get(t, a.ID)
	require.Equal(t, core.StatusDenied, now.Status)
	require.Equal(t, core.ReasonHashMismatch, now.Reason)
}

// A click counts on its own card, by somebody who may decide, and nowhere else;
// each other one is answered and leaves the buttons for the right person (R157,
// R184; conformance 85, 89, 91-94, forwarded copies).
func TestBadClicks(t *testing.T) {
	t.Parallel()
	r := start(t, folder(t))
	r.signIn(t, "Ann")
	r.link(t)
	require.NoError(t, r.bot.StartChat(stranger, ""))
	a := r.shown(t, r.ask(t, strings.Replace(simpleAsk, "Send it", "The first", 1)))
	b := r.shown(t, r.ask(t, strings.Replace(simpleAsk, "Send it", "The second", 1)))
	card, other, shared := r.await(t, ann, "The first"), r.await(t, ann, "The second"), r.await(t, team, "The first")
	allow, ok := card.Button("Allow once")
	require.True(t, ok)
	own, err := r.bot.Type(fake.Typed{User: ann, Chat: ann, Text: "a message of my own"})
	require.NoError(t, err)
	hello := r.await(t, stranger, presentation.AnswerWelcome)
	codec, err := callbacks.NewCodec(callbacks.Key{ID: "k", Secret: bytes.Repeat([]byte{7}, 32)})
	require.NoError(t, err)
	foreign, _, err := codec.Encode(
		core.AccountRef{Channel: core.SurfaceTelegram, Account: strconv.FormatInt(r.bot.BotID(), 10)},
		core.Action{Type: core.ActionApproval, Decision: core.DecisionAllowOnce, ApprovalID: a.ID, Kind: a.Kind},
	)
	require.NoError(t, err)
	last := allow.Payload[len(allow.Payload)-1:]
	forged := allow.Payload[:len(allow.Payload)-1] + map[bool]string{true: "B", false: "A"}[last == "A"]

	for name, c := range map[string]struct {
		press fake.Press
		says  string
	}{
		"a stranger":                {fake.Press{User: stranger, Message: shared.Locator, Label: "Allow once"}, strconv.FormatInt(stranger, 10)},
		"an anonymous admin":        {fake.Press{User: stranger, Message: shared.Locator, Label: "Allow once", Anonymous: true}, ""},
		"forged":                    {fake.Press{User: ann, Message: card.Locator, Data: forged}, presentation.AnswerForeign},
		"another installation's":    {fake.Press{User: ann, Message: card.Locator, Data: foreign}, presentation.AnswerForeign},
		"cut off":                   {fake.Press{User: ann, Message: card.Locator, Data: allow.Payload[:40]}, presentation.AnswerForeign},
		"nobody's":                  {fake.Press{User: ann, Message: card.Locator, Data: "approve=1"}, presentation.AnswerNotOurs},
		"a forwarded copy":          {fake.Press{User: ann, Message: card.Locator, Label: "Allow once", Forwarded: true}, presentation.AnswerOpenOriginal},
		"another card's payload":    {fake.Press{User: ann, Message: other.Locator, Data: allow.Payload}, presentation.AnswerOpenOriginal},
		"a message of their own":    {fake.Press{User: ann, Message: own, Data: allow.Payload}, presentation.AnswerOpenOriginal},
		"a message that is no card": {fake.Press{User: ann, Message: hello.Locator, Data: allow.Payload}, presentation.AnswerOpenOriginal},
		"no message":                {fake.Press{User: ann, Message: card.Locator, Label: "Allow once", Inline: true}, presentation.AnswerOpenOriginal},
		"a decision nobody offered": {fake.Press{User: ann, Message: card.Locator, Data: strings.Replace(allow.Payload, "~1Ao", "~1Aa", 1)}, presentation.AnswerForeign},
	} {
		reply := r.press(t, c.press)
		require.True(t, reply.Alert, name)
		require.NotEmpty(t, reply.Text, name)
		require.Contains(t, reply.Text, c.says, name)
		for _, id := range []string{a.ID, b.ID} {
			require.Equal(t, core.StatusPending, r.get(t, id).Status, name)
		}
	}
	now, _ := r.bot.Message(card.Locator)
	require.Equal(t, card.Buttons, now.Buttons, "the buttons stay")
	r.press(t, fake.Press{User: ann, Message: card.Locator, Label: "Allow once"})
	require.Equal(t, core.StatusAllowed, r.get(t, a.ID).Status)
	require.Equal(t, core.StatusPending, r.get(t, b.ID).Status)
	require.Empty(t, r.bot.Violations.List())
}

// alter changes the database of a service that has stopped.
func alter(t *testing.T, data, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(data, app.DatabaseFile))
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	_, err = db.ExecContext(t.Context(), statement)
	require.NoError(t, err)
}

// A data folder that the service cannot or must not use ends the start with an
// error that says why, and without a path of this machine (conformance 54).
func TestStartRefuses(t *testing.T) {
	t.Parallel()
	used := func(t *testing.T) string {
		data := folder(t)
		require.NoError(t, start(t, data).stop())
		return data
	}
	for name, c := range map[string]struct {
		data func(t *testing.T) string
		is   error
		says string
	}{
		"read-only folder": {func(t *testing.T) string {
			if os.Geteuid() == 0 { // Permissions do not stop root; the system's own folder does.
				return "/proc/sys/sayso"
			}
			data := t.TempDir()
			require.NoError(t, os.Chmod(data, 0o500))
			return data
		}, nil, ""},
		"newer database": {func(t *testing.T) string {
			data := used(t)
			alter(t, data, `INSERT INTO goose_db_version (version_id, is_applied) VALUES (99999, 1)`)
			return data
		}, core.ErrNewerSchema, "newer version"},
		"sealed backup": {func(t *testing.T) string {
			data := used(t)
			alter(t, data, `UPDATE deployment SET sealed = 1`)
			return data
		}, core.ErrSealed, "restore it first"},
		"second service": {func(t *testing.T) string { return start(t, folder(t)).data }, sqlite.ErrInUse, ""},
		"folder for all": {func(t *testing.T) string {
			data := t.TempDir()
			require.NoError(t, os.Chmod(data, 0o755))
			return data
		}, nil, "chmod 700"},
		"a file": {func(t *testing.T) string {
			data := filepath.Join(t.TempDir(), "data")
			require.NoError(t, os.WriteFile(data, nil, 0o600))
			return data
		}, nil, "data folder"},
		"no database": {func(t *testing.T) string {
			data := folder(t)
			require.NoError(t, os.Mkdir(data, 0o700))
			require.NoError(t, os.WriteFile(filepath.Join(data, app.DatabaseFile), bytes.Repeat([]byte("no database\n"), 999), 0o600))
			return data
		}, core.ErrUnavailable, ""},
		"another secret key": {func(t *testing.T) string {
			data := used(t)
			require.NoError(t, os.WriteFile(filepath.Join(data, app.SecretKeyFile), bytes.Repeat([]byte{1}, 32), 0o600))
			return data
		}, nil, "key"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := c.data(t)
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			o := options(data, nil, io.Discard)
			o.OnReady = func(app.Ready) { cancel() }
			began := time.Now()
			err := app.Run(ctx, o)
			require.Error(t, err)
			require.Less(t, time.Since(began), patience, "it says so at once")
			if c.is != nil {
				require.ErrorIs(t, err, c.is)
			}
			require.ErrorContains(t, err, c.says)
			require.NotContains(t, err.Error(), filepath.Dir(data))
		})
	}
}
