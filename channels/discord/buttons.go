package discord

import (
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/bwmarrin/discordgo"

	"github.com/saysohq/sayso/core"
)

// Limits of buttons.
const (
	maxLabel     = 80 // UTF-16 units.
	maxURL       = 512
	buttonsARow  = 5
	maxRows      = 5
	maxCustomID  = 100
	maxModalName = 45
)

// buttons encodes the actions of a card or an answer. A link that the platform would
// refuse is left out rather than failing the message; a command is text and has no
// button.
func (c *Channel) buttons(actions []core.Action) ([]discordgo.MessageComponent, string, error) {
	var list []discordgo.Button
	keyID := ""
	for _, a := range actions {
		switch a.Type {
		case core.ActionApproval, core.ActionCallback:
			payload, id, err := c.codec.Encode(c.ref, a)
			if err != nil {
				return nil, "", fmt.Errorf("encode button: %w", err)
			}
			keyID = id
			list = append(list, discordgo.Button{Label: label(a), Style: style(a), CustomID: payload})
		case core.ActionURL, core.ActionWebApp:
			if linkAllowed(a.URL) {
				list = append(list, discordgo.Button{Label: label(a), Style: discordgo.LinkButton, URL: a.URL})
			}
		case core.ActionCommand:
		}
	}
	return rows(list), keyID, nil
}

// rows lays buttons out; what does not fit into the platform's five rows of five is
// left out, which no card comes near.
func rows(list []discordgo.Button) []discordgo.MessageComponent {
	out := []discordgo.MessageComponent{} // Empty is "none"; absent would keep the old ones.
	for chunk := range slices.Chunk(list, buttonsARow) {
		if len(out) == maxRows {
			break
		}
		var row discordgo.ActionsRow
		for _, b := range chunk {
			row.Components = append(row.Components, b)
		}
		out = append(out, row)
	}
	return out
}

func label(a core.Action) string {
	s := firstOf(strings.TrimSpace(clean(a.Label)), string(a.Type)) // Labels know no markup.
	s, _ = cut(s, maxLabel)
	return s
}

func style(a core.Action) discordgo.ButtonStyle {
	switch a.Decision {
	case core.DecisionAllowOnce, core.DecisionAllowAlways:
		return discordgo.SuccessButton
	case core.DecisionDeny:
		return discordgo.DangerButton
	case core.DecisionNone:
	}
	if a.Value == core.CallbackConfirm {
		return discordgo.PrimaryButton
	}
	return discordgo.SecondaryButton
}

// linkAllowed is the platform's rule for links: http or https, and a host with a dot
// in it or an address in digits.
func linkAllowed(raw string) bool {
	u, err := url.Parse(raw)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.User != nil || len(raw) > maxURL {
		return false
	}
	host := u.Hostname()
	return strings.Contains(strings.Trim(host, "."), ".") || net.ParseIP(host) != nil
}

// buttonsOf lists the buttons of rows.
func buttonsOf(components []discordgo.MessageComponent) []discordgo.Button {
	var list []discordgo.Button
	for _, r := range components {
		row, _ := r.(discordgo.ActionsRow)
		for _, e := range row.Components {
			if b, ok := e.(discordgo.Button); ok {
				list = append(list, b)
			}
		}
	}
	return list
}

func withoutLinks(components []discordgo.MessageComponent) []discordgo.MessageComponent {
	return rows(slices.DeleteFunc(buttonsOf(components), func(b discordgo.Button) bool { return b.URL != "" }))
}
