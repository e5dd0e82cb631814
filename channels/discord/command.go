package discord

import (
	"context"
	"net/http"
	"strings"

	"github.com/bwmarrin/discordgo"

	"github.com/saysohq/sayso/core"
)

// commandName is the application command that stands for the typed ones.
const commandName = "sayso"

// The subcommands.
const (
	subApprove = "approve"
	subDeny    = "deny"
	subPending = "pending"
	subMode    = "mode"
	subRules   = "rules"
	subLink    = "link"
	subWhoami  = "whoami"
)

// commandText words a command as it would be typed. The order of the arguments is
// ours, not the sender's.
func commandText(d interactionOf) string {
	if d.Name != commandName || len(d.Options) == 0 {
		return "/" + d.Name
	}
	sub := d.Options[0]
	value := func(name string) string {
		for _, o := range sub.Options {
			if o.Name == name {
				return strings.TrimSpace(o.text())
			}
		}
		return ""
	}
	parts := []string{"/" + sub.Name}
	switch sub.Name {
	case subApprove:
		parts = append(parts, value("id"), value("decision"), value("fingerprint"))
	case subDeny:
		parts = append(parts, value("id"), value("note"))
	case subLink:
		parts[0] = "/start"
		parts = append(parts, value("code"))
	}
	return strings.TrimSpace(strings.Join(parts, " "))
}

// private reports whether a command is between the person and the bot alone,
// wherever it is given: nobody else sees its arguments or its answer. What decides
// stays where the card is.
func private(text string) bool {
	word, _, _ := strings.Cut(text, " ")
	switch word {
	case "/start", "/" + subPending, "/" + subMode, "/" + subRules, "/" + subWhoami:
		return true
	}
	return false
}

// Register tells the platform about /sayso. It replaces the command of that name and
// leaves all others alone, so it may be repeated. Errors: *channels.Error.
func (c *Channel) Register(ctx context.Context) error {
	_, failed := c.call(ctx, opCheck, http.MethodPost, "applications/"+c.appID+"/commands", command(), nil)
	if failed != nil {
		return failed
	}
	return nil
}

// command describes /sayso, for servers and for the direct chat with the bot.
func command() *discordgo.ApplicationCommand {
	text := func(name, description string, required bool) *discordgo.ApplicationCommandOption {
		return &discordgo.ApplicationCommandOption{
			Type: discordgo.ApplicationCommandOptionString, Name: name, Description: description, Required: required,
		}
	}
	sub := func(name, description string, options ...*discordgo.ApplicationCommandOption) *discordgo.ApplicationCommandOption {
		return &discordgo.ApplicationCommandOption{
			Type: discordgo.ApplicationCommandOptionSubCommand, Name: name, Description: description, Options: options,
		}
	}
	decision := text("decision", "What you decide", true)
	for _, d := range []core.Decision{core.DecisionAllowOnce, core.DecisionAllowAlways, core.DecisionDeny} {
		decision.Choices = append(decision.Choices, &discordgo.ApplicationCommandOptionChoice{Name: string(d), Value: string(d)})
	}
	contexts := []discordgo.InteractionContextType{discordgo.InteractionContextGuild, discordgo.InteractionContextBotDM}
	return &discordgo.ApplicationCommand{
		Name: commandName, Type: discordgo.ChatApplicationCommand, Description: "Answer what waits for you",
		Contexts: &contexts,
		Options: []*discordgo.ApplicationCommandOption{
			sub(subApprove, "Answer a question whose card is open here",
				text("id", "The question's id", true), decision, text("fingerprint", "As the card shows it", true)),
			sub(subDeny, "Deny a question", text("id", "The question's id", true), text("note", "What to do instead", false)),
			sub(subPending, "List what waits for you"),
			sub(subMode, "Show and change when an agent asks"),
			sub(subRules, "List what an agent may do without asking, and take it back"),
			sub(subLink, "Link this account to you", text("code", "The code that you were given", true)),
			sub(subWhoami, "Show who you are here"),
		},
	}
}
