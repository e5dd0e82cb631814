package telegram

import (
	"context"
	"crypto/subtle"
	"log/slog"
	"net/http"
	"time"

	"github.com/go-telegram/bot"

	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/channels/internal/pushed"
)

// secretHeader is the name of the header, no secret.
const secretHeader = "X-Telegram-Bot-Api-Secret-Token" //nolint:gosec // A name.

// session is what webhook calls need while Run lasts.
type session struct {
	ctx context.Context
	in  channels.Inbound
}

// register tells the platform where to push.
func (c *Channel) register(ctx context.Context) error {
	_, failed := c.call(ctx, opReceive, func(ctx context.Context) error {
		_, err := c.bot.SetWebhook(ctx, &bot.SetWebhookParams{
			URL: c.cfg.Webhook.URL, SecretToken: c.cfg.Webhook.Secret,
			MaxConnections: c.cfg.Webhook.Connections, AllowedUpdates: allowedUpdates(),
		})
		return err
	})
	if failed != nil {
		return failed
	}
	return nil
}

// serve lets webhook calls in until ctx ends and then waits for those under way.
func (c *Channel) serve(ctx context.Context, in channels.Inbound) error {
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	c.gate.Lock()
	c.session = &session{ctx: work, in: in}
	c.gate.Unlock()
	<-ctx.Done()
	late := time.AfterFunc(c.grace, cancel)
	defer late.Stop()
	c.gate.Lock() // Waits for every call under way.
	c.session = nil
	c.gate.Unlock()
	return nil
}

// Webhook is the handler behind Webhook.URL. It answers 401 for a wrong secret,
// 503 while Run is not under way (the platform tries again), 400 for a body that
// broke off, and 200 once the update has ended; an update that can never be
// processed has ended too, or it would block its user's next clicks for a day.
func (c *Channel) Webhook() http.Handler { return pushed.Posts(c.serveUpdate) }

func (c *Channel) serveUpdate(w http.ResponseWriter, r *http.Request) {
	if !c.authentic(r) {
		c.log.LogAttrs(r.Context(), slog.LevelWarn, "webhook call with a wrong secret")
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	c.gate.RLock()
	defer c.gate.RUnlock()
	if c.session == nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	body, refusal := pushed.Body(w, r.Body)
	switch refusal {
	case 0:
	case http.StatusRequestEntityTooLarge:
		c.log.LogAttrs(r.Context(), slog.LevelError, "update is too large")
		w.WriteHeader(http.StatusOK) // Anything else brings it again.
		return
	default:
		w.WriteHeader(refusal)
		return
	}
	if u, _ := c.decode(r.Context(), body); u != nil {
		// Not the request's context: a click is finished even where the platform hangs up.
		c.handle(c.session.ctx, c.session.in, u)
	}
	w.WriteHeader(http.StatusOK)
}

// authentic compares the secret in constant time. A channel without a webhook
// takes none.
func (c *Channel) authentic(r *http.Request) bool {
	want := c.cfg.Webhook.Secret
	return want != "" && subtle.ConstantTimeCompare([]byte(r.Header.Get(secretHeader)), []byte(want)) == 1
}
