package discord

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/bwmarrin/discordgo"

	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/core"
)

var _ channels.Doctor = (*Channel)(nil)

const (
	fixToken    = "Open the application at https://discord.com/developers/applications, make a new token under Bot, put it into the configuration and restart the service." //nolint:gosec // A sentence.
	fixIDs      = "Copy the application id and the public key from General Information of the application whose token is configured."
	fixEndpoint = "Open the application at https://discord.com/developers/applications; under General Information "
	fixInvite   = "Make an invitation under Installation (scopes bot and applications.commands; permissions View Channels, Send Messages, Send Messages in Threads, Embed Links, Attach Files, Read Message History), open it and choose the server."
)

// Examine implements channels.Doctor: the token, the servers and rights, the way that
// clicks come, what the gateway tells, and /sayso.
func (c *Channel) Examine(ctx context.Context) []channels.Finding {
	var app application
	_, failed := c.call(ctx, opCheck, http.MethodGet, "applications/@me", nil, &app)
	if failed == nil && !snowflake(app.ID) {
		failed = unreadable(opCheck)
	}
	switch {
	case failed != nil:
		return []channels.Finding{channels.Diagnose(channels.CheckToken, failed, fixToken)}
	case app.ID != c.appID:
		return []channels.Finding{channels.Failing(channels.CheckToken, "the token belongs to another application", fixIDs)}
	}
	return []channels.Finding{
		channels.Found(channels.CheckToken, "the application is "+c.appID),
		c.examineRights(ctx), c.examineIntents(), c.examineInteractivity(&app), c.examineCommand(ctx),
	}
}

// right is one bit of what a bot may do, with the name that the portal has for it.
type right struct {
	bit  int64
	name string
}

func rights() []right {
	return []right{
		{discordgo.PermissionViewChannel, "View Channels"},
		{discordgo.PermissionSendMessages, "Send Messages"},
		{discordgo.PermissionSendMessagesInThreads, "Send Messages in Threads"},
		{discordgo.PermissionEmbedLinks, "Embed Links"},
		{discordgo.PermissionAttachFiles, "Attach Files"}, // "Show all" brings a long action as a file.
		{discordgo.PermissionReadMessageHistory, "Read Message History"},
	}
}

// examineRights wants a server to be in common with people, or the platform opens no
// direct chats, and one where the bot may post. A channel's own overwrites are not
// looked at: the routes say which channels refuse.
func (c *Channel) examineRights(ctx context.Context) channels.Finding {
	var servers []struct {
		Permissions string `json:"permissions"`
	}
	if _, failed := c.call(ctx, opCheck, http.MethodGet, "users/@me/guilds", nil, &servers); failed != nil {
		return channels.Diagnose(channels.CheckPermissions, failed, fixToken)
	}
	if len(servers) == 0 {
		return channels.Failing(channels.CheckPermissions, "the bot is in no server, so it can reach nobody", fixInvite)
	}
	var missing []string
	for _, s := range servers {
		missing = lacking(s.Permissions)
		if len(missing) == 0 {
			return channels.Found(channels.CheckPermissions, fmt.Sprintf("in %d server(s), with the rights to post cards", len(servers)))
		}
	}
	return channels.Failing(channels.CheckPermissions, "the bot's role lacks "+strings.Join(missing, ", "),
		"Give the bot's role these rights in the server's settings, or invite it again. "+fixInvite)
}

// lacking names the rights that are not among the given ones; a number that cannot be
// read has none.
func lacking(permissions string) []string {
	have, err := strconv.ParseInt(permissions, 10, 64)
	if err == nil && have&discordgo.PermissionAdministrator != 0 {
		return nil
	}
	var missing []string
	for _, r := range rights() {
		if err != nil || have&r.bit == 0 {
			missing = append(missing, r.name)
		}
	}
	return missing
}

// examineIntents says what the gateway is asked for. None of it is privileged, so the
// portal has no switch to forget.
func (c *Channel) examineIntents() channels.Finding {
	if c.key != nil {
		return channels.Found(channels.CheckIntents, "none are needed; plain replies to a card do not arrive where interactions are pushed")
	}
	return channels.Found(channels.CheckIntents, "direct messages only, which need no switch in the portal")
}

// examineInteractivity compares where the platform pushes interactions to with how we
// receive: with an endpoint it pushes all of them, and the gateway gets none.
func (c *Channel) examineInteractivity(app *application) channels.Finding {
	fail := func(detail, fix string) channels.Finding {
		return channels.Failing(channels.CheckInteractivity, detail, fix)
	}
	switch {
	case c.key == nil && app.Endpoint != "":
		return fail("an Interactions Endpoint URL is set, which takes all clicks away from the gateway",
			fixEndpoint+"empty Interactions Endpoint URL; or configure public_key to receive pushes.")
	case c.key == nil:
		return channels.Found(channels.CheckInteractivity, "clicks come over the gateway")
	case app.VerifyKey != "" && !strings.EqualFold(app.VerifyKey, c.cfg.PublicKey):
		return fail("the public key belongs to another application", fixIDs)
	case app.Endpoint == "":
		return fail("no Interactions Endpoint URL is set, so no click comes",
			fixEndpoint+"set Interactions Endpoint URL to {public_url}/webhooks/discord/"+c.appID+" while the service runs.")
	case !strings.HasSuffix(app.Endpoint, "/webhooks/discord/"+c.appID):
		return fail("the Interactions Endpoint URL is not this service's",
			fixEndpoint+"set Interactions Endpoint URL to {public_url}/webhooks/discord/"+c.appID+".")
	}
	return channels.Found(channels.CheckInteractivity, "clicks are pushed to this service")
}

// registered is a command as far as it can be out of date.
type registered struct {
	Name    string       `json:"name"`
	Options []registered `json:"options"`
}

// examineCommand looks for /sayso with all that it can do today.
func (c *Channel) examineCommand(ctx context.Context) channels.Finding {
	var list []registered
	if _, failed := c.call(ctx, opCheck, http.MethodGet, "applications/"+c.appID+"/commands", nil, &list); failed != nil {
		return channels.Diagnose(channels.CheckCommand, failed, fixToken)
	}
	i := slices.IndexFunc(list, func(r registered) bool { return r.Name == commandName })
	if i >= 0 && slices.Equal(list[i].words(), wanted(command().Options)) {
		return channels.Found(channels.CheckCommand, "/"+commandName+" is registered")
	}
	detail := "/" + commandName + " is not registered"
	if i >= 0 {
		detail = "/" + commandName + " is registered as an older version had it"
	}
	f := channels.Failing(channels.CheckCommand, detail, "Run sayso doctor --fix, which registers it.")
	f.Mendable = true
	return f
}

// words lists the subcommands with their arguments, in order.
func (r registered) words() []string {
	var list []string
	for _, o := range r.Options {
		list = append(append(list, o.Name), o.words()...)
	}
	return list
}

func wanted(options []*discordgo.ApplicationCommandOption) []string {
	var list []string
	for _, o := range options {
		list = append(append(list, o.Name), wanted(o.Options)...)
	}
	return list
}

// Mend implements channels.Doctor: it registers /sayso.
func (c *Channel) Mend(ctx context.Context, check channels.Check) error {
	if check != channels.CheckCommand {
		return core.Invalid("check", "cannot be mended from here")
	}
	return c.Register(ctx)
}
