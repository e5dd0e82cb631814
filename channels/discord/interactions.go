package discord

import (
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/saysohq/sayso/channels/internal/pushed"
)

// maxAge is how far the time of a pushed interaction may be from ours, both ways.
// The platform defines none; a copy that somebody kept is of no use after it.
const maxAge = 5 * time.Minute

// Names of the platform's headers.
const (
	signatureHeader = "X-Signature-Ed25519"
	timestampHeader = "X-Signature-Timestamp"
)

// serve lets pushed interactions in until ctx ends.
func (c *Channel) serve(ctx context.Context, s *session) error {
	c.gate.Lock()
	c.session = s
	c.gate.Unlock()
	<-ctx.Done()
	c.gate.Lock() // Waits for every one that is just being taken in.
	c.session = nil
	c.gate.Unlock()
	return nil
}

// Interactions is the handler behind the application's interactions endpoint URL. It
// answers 401 for whatever the platform did not sign within the last 5 minutes (the
// platform tries that regularly), 413 for a body over 1 MiB, 400 for one that cannot
// be read, 503 while Run is not under way or too much waits, the platform's ping with
// its pong, and 202 for an interaction that was taken in; its response is a call of
// its own.
func (c *Channel) Interactions() http.Handler { return pushed.Posts(c.serveInteraction) }

func (c *Channel) serveInteraction(w http.ResponseWriter, r *http.Request) {
	body, refusal := pushed.Body(w, r.Body)
	switch {
	case refusal != 0:
		w.WriteHeader(refusal)
		return
	case !c.authentic(r.Header, body):
		c.log.LogAttrs(r.Context(), slog.LevelInfo, "an interaction without a good signature")
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	i, err := readInteraction(body)
	switch {
	case err != nil:
		c.log.LogAttrs(r.Context(), slog.LevelError, "interaction cannot be read")
		w.WriteHeader(http.StatusBadRequest)
	case i.Type == interactionPing:
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"type":1}`) // The platform may have left.
	case !c.takePushed(i):
		w.WriteHeader(http.StatusServiceUnavailable)
	default:
		w.WriteHeader(http.StatusAccepted)
	}
}

func (c *Channel) takePushed(i interaction) bool {
	c.gate.RLock()
	defer c.gate.RUnlock()
	return c.session != nil && c.take(c.session, i, false)
}

// authentic verifies that the platform signed the body, lately. A channel without a
// key takes none.
func (c *Channel) authentic(h http.Header, body []byte) bool {
	stamp := h.Get(timestampHeader)
	signature, err := hex.DecodeString(h.Get(signatureHeader))
	at, stampErr := strconv.ParseInt(stamp, 10, 64)
	if c.key == nil || err != nil || stampErr != nil || len(signature) != ed25519.SignatureSize {
		return false
	}
	age := c.cfg.Now().Sub(time.Unix(at, 0))
	return age <= maxAge && age >= -maxAge && ed25519.Verify(c.key, append([]byte(stamp), body...), signature)
}
