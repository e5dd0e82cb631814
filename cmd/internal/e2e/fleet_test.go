//go:build unix

package e2e_test

import (
	"bufio"
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/api"
	"github.com/saysohq/sayso/core/client"
)

// One answer is given wherever it is given, and heard wherever it is awaited.
func TestFleetDecidesAnywhere(t *testing.T) {
	t.Parallel()
	f := newFleet(t, setup{noBots: true})
	page := f.a.alice()
	for decision, code := range map[string]int{"allow-once": 0, "deny": 10} {
		title := secretWord + " " + decision
		waits := f.a.cli("ask", title)
		id := f.b.idOfSoon(title)
		require.Contains(t, page.at(f.b).get("/approve/"+id), title, "the session is good everywhere")
		page.at(f.b).decide(id, decision)
		waits.ends(code)
		require.True(t, f.a.record(id).Status.Terminal())
		require.NotContains(t, page.at(f.a).get("/approve/"+id), `id="decide"`)
	}
}

// idOfSoon waits until another process has made a question.
func (r *replica) idOfSoon(title string) string {
	r.t.Helper()
	var id string
	require.Eventually(r.t, func() bool {
		page, err := r.api().List(r.ctx, client.Filter{}, "")
		require.NoError(r.t, err)
		for i := range page.Approvals {
			if page.Approvals[i].Presentation.Title == title {
				id = page.Approvals[i].ID
			}
		}
		return id != ""
	}, afterRestart, patiently)
	return id
}

// Whoever waits at a replica that dies asks the next one and finds the truth there,
// whether the answer comes before or after.
func TestFleetLosesAReplica(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(*replica){
		"killed": func(r *replica) { r.crash() }, "stopped": func(r *replica) { r.stop() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, setup{noBots: true})
			page := f.a.alice()
			id := f.a.ask(secretWord)
			command := f.b.launch(f.outside(), "wait", id)
			program := f.waits(id)
			stream := page.follow(f, id)
			require.Equal(t, "alive", stream.next())
			f.front.await(f.a, "wait=", 2)
			lose(f.a)
			require.Empty(t, stream.rest(), "it ends without a word")
			again := page.follow(f, id)
			require.Equal(t, "alive", again.next())
			f.front.await(f.b, "wait=", 2)
			page.at(f.b).decide(id, "deny")
			require.Equal(t, core.StatusDenied, (<-program).Approval.Status)
			command.ends(10)
			require.Equal(t, "end", again.rest())
		})
	}
}

// waits is a program that waits at the public address.
func (f *fleet) waits(id string) <-chan api.Answer {
	f.t.Helper()
	c, answers := f.client(), make(chan api.Answer, 1)
	ctx, cancel := context.WithCancel(f.ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if a, err := c.Wait(ctx, id); err == nil { // Whoever wants the answer notices.
			answers <- a
		}
	}()
	f.t.Cleanup(func() {
		cancel()
		<-ended
	})
	return answers
}

// stream is an open page.
type stream struct {
	t      *testing.T
	events chan string // Closed when the stream has ended, in whatever way.
}

// follow opens the stream of a question at the public address.
func (r *reader) follow(f *fleet, id string) *stream {
	f.t.Helper()
	ctx, cancel := context.WithCancel(f.ctx)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, f.front.url()+"/approve/"+id+"/events", nil)
	require.NoError(f.t, err)
	resp, err := r.http.Do(req) //nolint:bodyclose // Whoever reads it closes it.
	require.NoError(f.t, err)
	require.Equal(f.t, http.StatusOK, resp.StatusCode)
	s := &stream{t: f.t, events: make(chan string, 100)}
	go func() {
		defer close(s.events)
		defer func() { _ = resp.Body.Close() }()
		for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
			if name, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
				s.events <- name
			}
		}
	}()
	f.t.Cleanup(func() {
		cancel()
		for range s.events { // Until it has ended.
			continue
		}
	})
	return s
}

// next waits for an event; "" is the end of the stream.
func (s *stream) next() string { return <-s.events }

// rest hears the stream to its end, and returns the last event.
func (s *stream) rest() (last string) {
	for e := range s.events {
		last = e
	}
	return last
}
