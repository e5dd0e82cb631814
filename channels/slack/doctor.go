package slack

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/core"
)

var _ channels.Doctor = (*Channel)(nil)

const (
	fixToken    = "Open the app at https://api.slack.com/apps, install it to the workspace, copy its bot token into the configuration and restart the service."                                                                     //nolint:gosec // A sentence.
	fixAppToken = "Open the app at https://api.slack.com/apps: switch Socket Mode on, and under Basic Information make an app-level token with the scope connections:write. Put it into the configuration and restart the service." //nolint:gosec // A sentence.
)

// scopes are what the bot token needs, as docs/slack-manifest.yaml has them.
func scopes() []string {
	return []string{"chat:write", "commands", "im:history", "im:write", "users:read"}
}

// Examine implements channels.Doctor: the tokens, the scopes of the bot's, and the way
// that clicks come.
func (c *Channel) Examine(ctx context.Context) []channels.Finding {
	if err := c.Check(ctx); err != nil {
		return []channels.Finding{channels.Diagnose(channels.CheckToken, asError(err), fixToken)}
	}
	return []channels.Finding{
		channels.Found(channels.CheckToken, "the workspace is "+c.cfg.Team),
		c.examineScopes(ctx), c.examineInteractivity(ctx),
	}
}

// examineScopes reads what the bot token may do, which the platform tells in a header
// of every answer.
func (c *Channel) examineScopes(ctx context.Context) channels.Finding {
	granted, failed := c.granted(ctx)
	switch {
	case failed != nil:
		return channels.Diagnose(channels.CheckPermissions, failed, fixToken)
	case len(granted) == 0:
		return channels.Untold(channels.CheckPermissions, "the platform did not say which scopes the token has",
			"Compare the app's bot scopes with docs/slack-manifest.yaml.")
	}
	var missing []string
	for _, s := range scopes() {
		if !slices.Contains(granted, s) {
			missing = append(missing, s)
		}
	}
	if len(missing) > 0 {
		return channels.Failing(channels.CheckPermissions, "the bot token lacks "+strings.Join(missing, ", "),
			"Open the app at https://api.slack.com/apps, add these under OAuth & Permissions, Bot Token Scopes, and install the app to the workspace again.")
	}
	return channels.Found(channels.CheckPermissions, "all scopes are granted: "+strings.Join(scopes(), ", "))
}

// granted lists the scopes of the bot token. The library keeps no headers, so this
// call is ours.
func (c *Channel) granted(ctx context.Context) ([]string, *channels.Error) {
	var header http.Header
	_, failed := c.call(ctx, opCheck, func(ctx context.Context) error {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.cfg.APIBase+"auth.test", http.NoBody)
		if err != nil {
			return errNoAnswer
		}
		r.Header.Set("Authorization", "Bearer "+c.cfg.BotToken)
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		resp, err := c.client.Do(r)
		if err != nil {
			return err
		}
		defer func() { _ = resp.Body.Close() }()
		header = resp.Header
		var got response
		if raw, err := io.ReadAll(resp.Body); err != nil || json.Unmarshal(raw, &got) != nil || !got.OK {
			return errRefused
		}
		return nil
	})
	if failed != nil {
		return nil, failed
	}
	var list []string
	for s := range strings.SplitSeq(header.Get("X-OAuth-Scopes"), ",") {
		if s = strings.TrimSpace(s); s != "" {
			list = append(list, s)
		}
	}
	return list, nil
}

// examineInteractivity tries whether a connection would be granted. Where the app
// receives pushes the platform tells nobody where it pushes to.
func (c *Channel) examineInteractivity(ctx context.Context) channels.Finding {
	if c.cfg.SigningSecret != "" {
		return channels.Untold(channels.CheckInteractivity, "Slack does not tell where it pushes clicks to",
			"The click on a test card proves it. If none comes back, set the app's Interactivity and Slash Command Request URLs to {public_url}/webhooks/slack/"+c.cfg.App+" and compare the signing secret.")
	}
	_, failed := c.call(ctx, opReceive, func(ctx context.Context) error {
		_, _, err := c.api.StartSocketModeContext(ctx) // A grant that nobody uses lapses.
		return err
	})
	if failed != nil {
		return channels.Diagnose(channels.CheckInteractivity, failed, fixAppToken)
	}
	return channels.Found(channels.CheckInteractivity, "Socket Mode is on and takes the app token")
}

// Mend implements channels.Doctor. Slack lets no token of an app change the app's own
// settings, so there is nothing that it can do.
func (c *Channel) Mend(context.Context, channels.Check) error {
	return core.Invalid("check", "cannot be mended from here")
}
