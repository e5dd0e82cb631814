package gateway_test

import (
	"bufio"
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
)

// eventsOf opens the stream of a page and returns its events as they come; the
// channel closes with the stream.
func (v *visitor) eventsOf(path string) <-chan string {
	v.site.t.Helper()
	ctx, cancel := context.WithTimeout(v.site.t.Context(), 30*time.Second)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, v.site.url+path, nil)
	require.NoError(v.site.t, err)
	res, err := v.client.Do(req) //nolint:bodyclose // Closed by the reader below, which the cleanup waits for.
	require.NoError(v.site.t, err)
	require.Equal(v.site.t, http.StatusOK, res.StatusCode)
	require.Equal(v.site.t, "text/event-stream", res.Header.Get("Content-Type"))
	out, done := make(chan string, 16), make(chan struct{})
	v.site.t.Cleanup(func() {
		cancel()
		<-done
	})
	go func() {
		defer close(done)
		defer close(out)
		defer res.Body.Close()
		for lines := bufio.NewScanner(res.Body); lines.Scan(); {
			if name, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
				out <- name
			}
		}
	}()
	return out
}

func next(t *testing.T, events <-chan string) string {
	t.Helper()
	select {
	case e, open := <-events:
		if !open {
			return "closed"
		}
		return e
	case <-time.After(20 * time.Second):
		t.Fatal("no event came")
		return ""
	}
}

func TestPage_EventsEndWithTheAnswer(t *testing.T) {
	t.Parallel()
	s := newSite(t, siteOptions{})
	a := s.ask()
	events := s.admin.eventsOf(pathOf(&a) + "/events?revision=1")
	require.Equal(t, "alive", next(t, events))
	s.admin.post(pathOf(&a), s.admin.get(pathOf(&a)).form(core.DecisionDeny))
	require.Equal(t, "end", next(t, events))
	require.Equal(t, "closed", next(t, events))

	after := s.admin.eventsOf(pathOf(&a) + "/events?revision=nonsense")
	require.Equal(t, "alive", next(t, after))
	require.Equal(t, "end", next(t, after), "whoever connects late is told at once")
}

// A stream ends with the session, and with the right to see the question; what it
// last announced comes no later than the next change.
func TestPage_EventsEndWithTheRight(t *testing.T) {
	t.Parallel()
	s := newSite(t, siteOptions{})
	a := s.ask()
	bea := s.person("Bea", core.RoleAdmin)
	events := bea.eventsOf(pathOf(&a) + "/events")
	require.Equal(t, "alive", next(t, events))
	gone := true
	_, err := s.people.ChangePerson(t.Context(), core.Caller{Operator: true}, core.ChangePrincipal{ID: bea.id, Disabled: &gone})
	require.NoError(t, err)
	_, err = s.service.Cancel(t.Context(), s.agent, core.Lookup{ID: a.ID})
	require.NoError(t, err)
	require.Equal(t, "end", next(t, events))
	require.Equal(t, "closed", next(t, events))

	require.Equal(t, http.StatusUnauthorized, s.visitor().get(pathOf(&a)+"/events").status)
}

// A quiet stream gives signs of life, and ends by itself when the session did.
func TestPage_QuietEventsAreCheckedAgain(t *testing.T) {
	t.Parallel()
	s := newSite(t, siteOptions{check: 20 * time.Millisecond})
	a := s.ask()
	bea := s.person("Bea", core.RoleAdmin)
	events := bea.eventsOf(pathOf(&a) + "/events")
	for range 5 {
		require.Equal(t, "alive", next(t, events))
	}
	sessions, err := s.people.SessionsOf(t.Context(), core.Caller{Operator: true}, bea.id)
	require.NoError(t, err)
	require.NoError(t, s.people.EndSession(t.Context(), core.Caller{Operator: true}, bea.id, sessions[0].ID))
	for e := next(t, events); e != "end"; e = next(t, events) {
		require.Equal(t, "alive", e)
	}
	require.Equal(t, "closed", next(t, events))
	require.Equal(t, core.StatusPending, s.read(a.ID).Status)
}

// A stop ends the streams of this replica; the page connects again elsewhere.
func TestPage_EventsEndWithTheReplica(t *testing.T) {
	t.Parallel()
	s := newSite(t, siteOptions{})
	a := s.ask()
	events := s.admin.eventsOf(pathOf(&a) + "/events")
	require.Equal(t, "alive", next(t, events))
	s.stop()
	require.Equal(t, "closed", next(t, events))
}
