package slack

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/saysohq/sayso/channels/internal/pushed"
)

// The rules of pushes.
const (
	maxAge    = 5 * time.Minute
	signedBy  = "X-Slack-Signature"
	signedAt  = "X-Slack-Request-Timestamp"
	signature = "v0"
)

// serve lets pushes in until ctx ends.
func (c *Channel) serve(ctx context.Context, s *session) error {
	c.gate.Lock()
	c.session = s
	c.gate.Unlock()
	<-ctx.Done()
	c.gate.Lock()
	c.session = nil
	c.gate.Unlock()
	return nil
}

// Webhook is the handler behind the app's request URLs, one for interactions, commands
// and events alike. The signature over the raw body is checked before anything of it
// is read: 401 for a wrong or old one, 413 for a body beyond 1 MiB, 400 for one that
// cannot be read, 503 while Run is not under way. Otherwise it answers 200 with an
// empty body, within 2 s; an event only when its work is done.
func (c *Channel) Webhook() http.Handler { return pushed.Posts(c.servePush) }

func (c *Channel) servePush(w http.ResponseWriter, r *http.Request) {
	body, refusal := pushed.Body(w, r.Body)
	switch {
	case refusal != 0:
		w.WriteHeader(refusal)
		return
	case !c.authentic(r.Header, body):
		c.log.LogAttrs(r.Context(), slog.LevelWarn, "push with a wrong signature")
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	kind, raw, challenge := open(r.Header.Get("Content-Type"), body)
	switch {
	case challenge != "":
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, challenge) //nolint:gosec // Signed by the platform, and plain text.
		return
	case kind == "":
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if err := c.push(r.Context(), kind, raw); err != nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	w.WriteHeader(http.StatusOK)
}

// push hands a payload on and waits for its acknowledgement. The work goes on where
// the platform hangs up.
func (c *Channel) push(ctx context.Context, kind string, raw []byte) error {
	c.gate.RLock()
	s := c.session
	if s == nil { // The app has one URL for all of its workspaces: this one may be out.
		s = c.cfg.Workspaces.any()
	}
	if s == nil {
		c.gate.RUnlock()
		return errNotServing
	}
	acked := make(chan struct{})
	s.accept(kind, raw, sync.OnceFunc(func() { close(acked) }))
	c.gate.RUnlock()
	select {
	case <-acked:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// authentic checks the platform's signature over the raw body, and that it is at most
// 5 minutes off, so that no push can be played again later.
func (c *Channel) authentic(h http.Header, body []byte) bool {
	if c.cfg.SigningSecret == "" {
		return false // Socket Mode takes no pushes.
	}
	at := h.Get(signedAt)
	seconds, err := strconv.ParseInt(at, 10, 64)
	if err != nil {
		return false
	}
	age := c.cfg.Now().Sub(time.Unix(seconds, 0))
	if age > maxAge || age < -maxAge {
		return false
	}
	mac := hmac.New(sha256.New, []byte(c.cfg.SigningSecret))
	mac.Write([]byte(signature + ":" + at + ":")) // A hash never fails to be written.
	mac.Write(body)
	want := signature + "=" + hex.EncodeToString(mac.Sum(nil))
	return hmac.Equal([]byte(want), []byte(h.Get(signedBy)))
}

// open tells the three forms of a push apart. kind is "" for none of them; challenge
// is set where the platform only asks whether this URL is ours.
func open(contentType string, body []byte) (kind string, raw []byte, challenge string) {
	media, _, _ := mime.ParseMediaType(contentType) // An unknown type is none of ours.
	switch media {
	case "application/json":
		var e struct {
			Type      string `json:"type"`
			Challenge string `json:"challenge"`
		}
		if json.Unmarshal(body, &e) != nil {
			return "", nil, ""
		}
		if e.Type == "url_verification" {
			return kindEvent, nil, e.Challenge
		}
		return kindEvent, body, ""
	case "application/x-www-form-urlencoded":
		form, err := url.ParseQuery(string(body))
		if err != nil {
			return "", nil, ""
		}
		if p := form.Get("payload"); p != "" {
			return kindInteractive, []byte(p), ""
		}
		if form.Get("command") == "" {
			return "", nil, ""
		}
		raw, err := commandForm(form)
		if err != nil {
			return "", nil, ""
		}
		return kindCommand, raw, ""
	}
	return "", nil, ""
}

var errNotServing = errors.New("receive: the channel does not run")
