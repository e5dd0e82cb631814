package telegram

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"time"

	"github.com/saysohq/sayso/channels/fakes"
)

// hook is the registered webhook.
type hook struct {
	url         string
	secret      string
	connections int
	active      int
	responses   []int // Status of every delivery, 0 for none.
	pumping     bool
}

var secretRule = regexp.MustCompile(`^[A-Za-z0-9_-]*$`)

// webhookPorts are the ports that the real server connects to.
var webhookPorts = []string{"", "443", "80", "88", "8443"}

func (s *Server) setWebhook(q *request) (any, *apiError) {
	u, err := url.Parse(q.values["url"])
	secret := q.values["secret_token"]
	switch {
	case err != nil || (q.values["url"] != "" && u.Scheme != "https"):
		return nil, s.refuse(q.method, "bad webhook: An HTTPS URL must be provided for webhook")
	case !slices.Contains(webhookPorts, u.Port()):
		return nil, s.refuse(q.method, "bad webhook: Webhook can be set up only on ports 80, 88, 443 or 8443")
	case len(secret) > maxSecret || !secretRule.MatchString(secret):
		return nil, s.refuse(q.method, "secret token contains unallowed characters")
	}
	if refusal := s.allow(q); refusal != nil {
		return nil, refusal
	}
	s.hook.url, s.hook.secret, s.hook.connections = q.values["url"], secret, int(q.integer("max_connections"))
	if s.hook.connections == 0 {
		s.hook.connections = 40
	}
	if q.boolean("drop_pending_updates") {
		s.queue.list = nil
	}
	if !s.hook.pumping && s.ctx.Err() == nil {
		s.hook.pumping = true
		s.tasks.Go(s.pump)
	}
	return true, nil
}

func (s *Server) deleteWebhook(q *request) (any, *apiError) {
	s.hook.url = ""
	if q.boolean("drop_pending_updates") {
		s.queue.list = nil
	}
	return true, nil
}

func (s *Server) getWebhookInfo(*request) (any, *apiError) {
	s.dropStale()
	return map[string]any{"url": s.hook.url, "has_custom_certificate": false, "pending_update_count": len(s.queue.list)}, nil
}

// WebhookURL is the registered address, "" for none.
func (s *Server) WebhookURL() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hook.url
}

// AwaitWebhook waits for n deliveries and returns their statuses.
func (s *Server) AwaitWebhook(ctx context.Context, n int) ([]int, error) {
	return fakes.Await(ctx, &s.signal, func() ([]int, bool) {
		s.mu.Lock()
		defer s.mu.Unlock()
		return slices.Clone(s.hook.responses), len(s.hook.responses) >= n
	})
}

// pump hands updates to the webhook: in parallel, but the next one of a user only
// after the one before was taken.
func (s *Server) pump() {
	for {
		changed := s.signal.Changed()
		s.mu.Lock()
		s.dispatch()
		s.mu.Unlock()
		select {
		case <-changed:
		case <-s.ctx.Done():
			return
		}
	}
}

func (s *Server) dispatch() {
	if s.hook.url == "" {
		return
	}
	s.dropStale()
	waiting := map[string]bool{}
	for _, u := range s.queue.list {
		if u.busy || waiting[u.key] || s.hook.active >= s.hook.connections {
			waiting[u.key] = true
			continue
		}
		waiting[u.key], u.busy = true, true
		s.hook.active++
		target, secret := s.hook.url, s.hook.secret
		s.tasks.Go(func() { s.deliver(u, target, secret) })
	}
}

// deliver makes one attempt. The first repetition follows at once, the later ones
// with a growing delay, as on the real server but shorter.
func (s *Server) deliver(u *update, target, secret string) {
	if u.attempts > 1 {
		timer := time.NewTimer(min(10*time.Millisecond<<min(u.attempts, 6), time.Second))
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-s.ctx.Done():
			return
		}
	}
	s.mu.Lock()
	if q := s.queryOf(u); q != nil && u.attempts > 0 { // Whoever failed may have answered it first.
		q.copies++
	}
	s.mu.Unlock()
	status := s.post(u, target, secret)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hook.active--
	s.hook.responses = append(s.hook.responses, status)
	u.busy, u.attempts = false, u.attempts+1
	if status >= 200 && status < 300 {
		s.queue.list = slices.DeleteFunc(s.queue.list, func(o *update) bool { return o == u })
	}
	s.signal.Notify()
}

func (s *Server) post(u *update, target, secret string) int {
	body, err := json.Marshal(u.wire)
	if err != nil {
		return 0
	}
	r, err := http.NewRequestWithContext(s.ctx, http.MethodPost, target, bytes.NewReader(body))
	if err != nil {
		return 0
	}
	r.Header.Set("Content-Type", "application/json")
	if secret != "" {
		r.Header.Set("X-Telegram-Bot-Api-Secret-Token", secret)
	}
	transport := s.webhook
	if transport == nil {
		transport = &http.Transport{DisableKeepAlives: true}
	}
	resp, err := transport.RoundTrip(r)
	if err != nil {
		return 0
	}
	defer func() { _ = resp.Body.Close() }()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<20))
	return resp.StatusCode
}

// SetWebhook registers an address as an earlier deployment would have.
func (s *Server) SetWebhook(address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hook.url = address
}

// Register sets the webhook as a call of setWebhook does.
func (s *Server) Register(address, secret string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := &request{method: "setWebhook", values: map[string]string{"url": address, "secret_token": secret}}
	if _, refusal := s.setWebhook(q); refusal != nil {
		return errors.New(refusal.description)
	}
	s.signal.Notify()
	return nil
}
