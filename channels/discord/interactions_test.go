package discord_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/channels/channeltest"
	"github.com/saysohq/sayso/channels/discord"
	fake "github.com/saysohq/sayso/channels/fakes/discord"
)

// pushed is a platform that pushes to a channel which is receiving.
func pushed(t *testing.T, in channels.Inbound) (context.Context, *fake.Server, *discord.Channel, func() error) {
	t.Helper()
	push := new(http.Transport)
	s := world(t, fake.Config{Push: push})
	t.Cleanup(push.CloseIdleConnections)
	ch := open(t, s, codec(t), func(c *discord.Config) { c.PublicKey = s.PublicKey() })
	endpoint := httptest.NewServer(ch.Interactions())
	t.Cleanup(endpoint.Close)
	ctx, stop := receive(t, ch, in)
	require.NoError(t, s.SetEndpoint(endpoint.URL), "a ping is answered, bad signatures are turned away")
	require.Eventually(t, func() bool {
		got, err := s.Push([]byte(`{"id":"1","application_id":"5","type":3,"token":"t","channel_id":"2","user":{"id":"3"}}`), fake.Signing{})
		return err == nil && got.Status == http.StatusAccepted
	}, patience, time.Millisecond, "it receives")
	return ctx, s, ch, stop
}

func TestPushedInteractions(t *testing.T) {
	t.Parallel()
	in := new(channeltest.Inbox)
	ctx, s, ch, stop := pushed(t, in)
	for n, place := range []string{group, thread, "@" + owner} {
		locator := sent(t, ch, place)
		id, err := s.Press(fake.Press{User: owner, Message: locator, Label: "Deny"})
		require.NoError(t, err)
		reply, err := s.AwaitReply(ctx, id)
		require.NoError(t, err)
		require.Equal(t, "ok", reply.Text)
		clicks, err := in.AwaitClicks(ctx, n+1)
		require.NoError(t, err)
		require.Equal(t, locator, clicks[n].Message)
		require.Equal(t, place, clicks[n].Chat)
		require.Equal(t, owner, clicks[n].Actor.ID)
	}
	require.NoError(t, s.Probe(), "also later on")
	require.NoError(t, stop())
	got, err := s.Push([]byte(`{"id":"1","application_id":"`+fake.DefaultBotID+`","type":3,"token":"t","channel_id":"2","user":{"id":"3"}}`), fake.Signing{})
	require.NoError(t, err)
	require.Equal(t, http.StatusServiceUnavailable, got.Status, "nobody would work on it")
	require.Empty(t, s.Violations.List())
}

func TestStopFinishesPushedInteractions(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	in := &channeltest.Inbox{OnClick: func(context.Context, channels.Click) channels.Answer {
		<-release
		return channels.Answer{Text: "committed"}
	}}
	ctx, s, ch, stop := pushed(t, in)
	id, err := s.Press(fake.Press{User: owner, Message: sent(t, ch, group), Label: "Deny"})
	require.NoError(t, err)
	_, err = in.AwaitClicks(ctx, 1)
	require.NoError(t, err)
	stopped := make(chan error, 1)
	go func() { stopped <- stop() }()
	close(release)
	reply, err := s.AwaitReply(ctx, id)
	require.NoError(t, err)
	require.Equal(t, "committed", reply.Text)
	require.NoError(t, <-stopped)
}

func TestWhatTheEndpointTurnsAway(t *testing.T) {
	t.Parallel()
	in := new(channeltest.Inbox)
	_, s, ch, _ := pushed(t, in)
	good := []byte(`{"id":"1","application_id":"` + fake.DefaultBotID + `","type":9,"token":"t","channel_id":"2","user":{"id":"3"}}`)
	for name, c := range map[string]struct {
		body   []byte
		how    fake.Signing
		status int
	}{
		"wrong signature":     {good, fake.Signing{Wrong: true}, http.StatusUnauthorized},
		"no signature":        {good, fake.Signing{Missing: true}, http.StatusUnauthorized},
		"short signature":     {good, fake.Signing{Truncated: true}, http.StatusUnauthorized},
		"too old":             {good, fake.Signing{Age: 5*time.Minute + time.Second}, http.StatusUnauthorized},
		"from the future":     {good, fake.Signing{Age: -5*time.Minute - time.Second}, http.StatusUnauthorized},
		"just in time":        {good, fake.Signing{Age: 5 * time.Minute}, http.StatusAccepted},
		"too large":           {bytes.Repeat([]byte(" "), 1<<20+1), fake.Signing{}, http.StatusRequestEntityTooLarge},
		"empty":               {nil, fake.Signing{}, http.StatusBadRequest},
		"no JSON":             {[]byte(`{`), fake.Signing{}, http.StatusBadRequest},
		"null":                {[]byte(`null`), fake.Signing{}, http.StatusBadRequest},
		"nobody did it":       {[]byte(`{"id":"1","type":3,"token":"t","channel_id":"2"}`), fake.Signing{}, http.StatusBadRequest},
		"of another":          {[]byte(`{"id":"1","application_id":"5","type":3,"token":"t","channel_id":"2","user":{"id":"3"}}`), fake.Signing{}, http.StatusAccepted},
		"deep":                {[]byte(strings.Repeat(`{"data":`, 20_000) + `1` + strings.Repeat(`}`, 20_000)), fake.Signing{}, http.StatusBadRequest},
		"unknown kind of ask": {good, fake.Signing{}, http.StatusAccepted},
	} {
		got, err := s.Push(c.body, c.how)
		require.NoError(t, err, name)
		require.Equal(t, c.status, got.Status, name)
	}
	w := httptest.NewRecorder()
	ch.Interactions().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	require.Equal(t, http.StatusMethodNotAllowed, w.Code)
	clicks, err := in.AwaitClicks(t.Context(), 0)
	require.NoError(t, err)
	require.Empty(t, clicks)

	gateway := open(t, s, codec(t), nil)
	w = httptest.NewRecorder()
	gateway.Interactions().ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(good)))
	require.Equal(t, http.StatusUnauthorized, w.Code, "a channel without a key takes nothing")
}

// FuzzInteraction: whatever is signed, the endpoint neither panics nor answers with a
// status that it does not document.
func FuzzInteraction(f *testing.F) {
	for _, seed := range []string{
		`{"type":1}`, `null`, `{"id":"1","application_id":"900000000000000001","type":3,"token":"t","channel_id":"2","user":{"id":"3"},"data":{"custom_id":"x"}}`,
		`{"id":"1","type":5,"token":"t","channel_id":"2","user":{"id":"3"},"data":{"components":[{"component":{"component":{}}}]}}`,
		`{"id":"1","type":2,"token":"t","channel_id":"2","user":{"id":"3"},"data":{"name":"sayso","options":[{"name":"deny","options":[{"value":7}]}]}}`,
	} {
		f.Add([]byte(seed))
	}
	public, private, err := ed25519.GenerateKey(bytes.NewReader(bytes.Repeat([]byte("s"), 64)))
	require.NoError(f, err)
	ch, err := discord.New(discord.Config{
		Token: token, PublicKey: hex.EncodeToString(public), APIBase: "http://127.0.0.1:1", Now: func() time.Time { return time.Unix(1_000, 0) },
	}, nil)
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, body []byte) {
		r := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(body))
		r.Header.Set("X-Signature-Timestamp", "1000")
		r.Header.Set("X-Signature-Ed25519", hex.EncodeToString(ed25519.Sign(private, append([]byte("1000"), body...))))
		w := httptest.NewRecorder()
		ch.Interactions().ServeHTTP(w, r)
		require.True(t, slices.Contains([]int{200, 400, 503}, w.Code), "status %d", w.Code)
	})
}
