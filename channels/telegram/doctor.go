package telegram

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/go-telegram/bot/models"

	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/core"
)

var _ channels.Doctor = (*Channel)(nil)

const (
	fixToken   = "Ask @BotFather for the bot's token (/mybots, API Token), put it into the configuration and restart the service." //nolint:gosec // A sentence.
	fixRival   = "Stop the other program that uses this bot's token; if you do not know it, make a new token with @BotFather (/mybots, API Token, Revoke)."
	fixWebhook = "Run sayso doctor --fix. If it comes back, another program uses this bot's token: stop it, or revoke the token with @BotFather."
)

// Examine implements channels.Doctor: the token, what is registered for pushes, and
// whether clicks are among the updates that the platform hands out.
func (c *Channel) Examine(ctx context.Context) []channels.Finding {
	if err := c.Check(ctx); err != nil {
		return []channels.Finding{channels.Diagnose(channels.CheckToken, asError(err), fixToken)}
	}
	found := []channels.Finding{channels.Found(channels.CheckToken, "the bot is @"+clean(c.Username()))}
	var info *models.WebhookInfo
	_, failed := c.call(ctx, opCheck, func(ctx context.Context) (err error) {
		info, err = c.bot.GetWebhookInfo(ctx)
		return err
	})
	if failed != nil {
		return append(found, channels.Diagnose(channels.CheckWebhook, failed, fixToken))
	}
	return append(found, c.examineWebhook(info), c.examineUpdates(info))
}

// examineWebhook compares what is registered with what is configured. The address
// that stands there may hold somebody's secret, so it is not repeated.
func (c *Channel) examineWebhook(info *models.WebhookInfo) channels.Finding {
	mendable := func(detail string) channels.Finding {
		f := channels.Failing(channels.CheckWebhook, detail, fixWebhook)
		f.Mendable = true
		return f
	}
	waiting := fmt.Sprintf("%d updates wait", info.PendingUpdateCount)
	switch {
	case c.cfg.Webhook.URL == "" && info.URL != "":
		return mendable("another program has registered a webhook, which takes all clicks away from us")
	case c.cfg.Webhook.URL == "":
		return channels.Found(channels.CheckWebhook, "none, as polling needs it; "+waiting)
	case info.URL == "":
		return mendable("none is registered, so no click comes")
	case info.URL != c.cfg.Webhook.URL:
		return mendable("another address is registered, which takes all clicks away from us")
	case info.LastErrorDate != 0 && info.PendingUpdateCount > 0:
		detail, fix := pushFault(info.LastErrorMessage)
		return channels.Failing(channels.CheckWebhook, detail+"; "+waiting, fix)
	}
	return channels.Found(channels.CheckWebhook, "registered; "+waiting)
}

// pushFault words why the platform's pushes fail. Its own text is not repeated: it
// may hold what the other end answered.
func pushFault(message string) (detail, fix string) {
	message = strings.ToLower(message)
	names := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(message, w) })
	}
	switch {
	case names("401", "unauthorized"):
		return "our end refuses the platform's secret", fixWebhook
	case names("ssl", "certificate"):
		return "the platform does not trust the certificate of public_url",
			"Serve public_url with a certificate of a public authority and its whole chain."
	case names("404", "405"):
		return "something before sayso does not know the path",
			"Let the proxy pass everything below public_url to sayso, /webhooks/ included."
	case names("50", "wrong response"):
		return "something before sayso, or sayso itself, answers with an error",
			"Read the logs of the proxy and of sayso at the time of a click."
	}
	return "the platform cannot reach public_url",
		"Check that public_url leads from the internet to this service, on port 443, 80, 88 or 8443; or leave webhook_secret out and poll, which needs no public address."
}

// examineUpdates sees that clicks are among what the platform hands out. An empty
// list stands for the usual kinds, to which they belong.
func (c *Channel) examineUpdates(info *models.WebhookInfo) channels.Finding {
	if len(info.AllowedUpdates) > 0 && !slices.Contains(info.AllowedUpdates, models.AllowedUpdateCallbackQuery) {
		f := channels.Failing(channels.CheckInteractivity, "another program has told the platform to hand out no clicks", fixWebhook)
		f.Mendable = c.cfg.Webhook.URL != ""
		return f
	}
	// One is what a restart of ours leaves behind, and with a webhook that check says it.
	if info.URL == "" && c.rivals.Load() > 1 {
		return channels.Failing(channels.CheckInteractivity, "another program polls for this bot, so clicks go to either", fixRival)
	}
	if c.cfg.Webhook.URL != "" {
		return channels.Found(channels.CheckInteractivity, "clicks are pushed")
	}
	return channels.Found(channels.CheckInteractivity, "clicks come by polling")
}

// Mend implements channels.Doctor: it takes a foreign webhook away, or registers
// ours. What waits at the platform stays waiting.
func (c *Channel) Mend(ctx context.Context, check channels.Check) error {
	switch {
	case check != channels.CheckWebhook && check != channels.CheckInteractivity:
		return core.Invalid("check", "cannot be mended from here")
	case c.cfg.Webhook.URL == "":
		c.rivals.Store(0)
		return c.takeWebhookAway(ctx)
	}
	return c.register(ctx)
}
