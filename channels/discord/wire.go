package discord

import (
	"encoding/json"
	"errors"
	"fmt"
)

// What is read of the platform's events: only the fields that are needed, so that
// nothing else in them can make them unreadable.

// The types of interaction.
const (
	interactionPing    = 1
	interactionCommand = 2
	interactionClick   = 3
	interactionDialog  = 5
)

// The places that an interaction can come from, where the platform says it.
const contextDirect = 1 // The direct chat with the bot.

const channelDirect = 1 // The type of a direct chat.

// flagEphemeral marks a message that one person alone sees.
const flagEphemeral = 1 << 6

type interaction struct {
	ID          string `json:"id"`
	Application string `json:"application_id"`
	Type        int    `json:"type"`
	Token       string `json:"token"`
	Guild       string `json:"guild_id"`
	ChannelID   string `json:"channel_id"`
	Channel     struct {
		Type int `json:"type"`
	} `json:"channel"`
	Context *int          `json:"context"`
	Member  *member       `json:"member"`
	User    *user         `json:"user"`
	Message *wireMessage  `json:"message"`
	Data    interactionOf `json:"data"`
}

type interactionOf struct {
	Name       string      `json:"name"`
	CustomID   string      `json:"custom_id"`
	Options    []option    `json:"options"`
	Components []component `json:"components"`
}

type option struct {
	Name    string          `json:"name"`
	Value   json.RawMessage `json:"value"`
	Options []option        `json:"options"`
}

// text is the value of an option that is text, "" for any other.
func (o option) text() string {
	var s string
	if json.Unmarshal(o.Value, &s) != nil {
		return ""
	}
	return s
}

type member struct {
	User *user `json:"user"`
}

type user struct {
	ID         string `json:"id"`
	Username   string `json:"username"`
	GlobalName string `json:"global_name"`
	Bot        bool   `json:"bot"`
	System     bool   `json:"system"`
}

type wireMessage struct {
	ID          string      `json:"id"`
	ChannelID   string      `json:"channel_id"`
	Guild       string      `json:"guild_id"`
	Author      user        `json:"author"`
	Application string      `json:"application_id"`
	Webhook     string      `json:"webhook_id"`
	Content     string      `json:"content"`
	Type        int         `json:"type"`
	Flags       int         `json:"flags"`
	Components  []component `json:"components"`
	Attachments []any       `json:"attachments"`
	Stickers    []any       `json:"sticker_items"`
	Reference   *struct {
		Type    int    `json:"type"` // 1 is a forwarded copy.
		Channel string `json:"channel_id"`
		Message string `json:"message_id"`
	} `json:"message_reference"`
	Referenced *struct {
		Author user `json:"author"`
	} `json:"referenced_message"`
}

// component is any of them; what it holds stands in the platform's older or newer
// place.
type component struct {
	CustomID   string      `json:"custom_id"`
	Value      string      `json:"value"`
	Components []component `json:"components"`
	Component  *component  `json:"component"`
}

// within calls f for each component below list, in order.
func within(list []component, depth int, f func(component)) {
	if depth == 0 {
		return
	}
	for _, c := range list {
		f(c)
		within(c.Components, depth-1, f)
		if c.Component != nil {
			within([]component{*c.Component}, depth-1, f)
		}
	}
}

// maxDepth bounds how deep components are looked into; real ones nest three deep.
const maxDepth = 5

// payloads lists the custom ids of buttons.
func payloads(list []component) []string {
	var out []string
	within(list, maxDepth, func(c component) {
		if c.CustomID != "" {
			out = append(out, c.CustomID)
		}
	})
	return out
}

var errUnreadable = errors.New("the event is not in the platform's form")

// readInteraction decodes one. Errors: errUnreadable where it has no id, token or
// sender to be answered by; it never repeats content.
func readInteraction(raw []byte) (interaction, error) {
	var i interaction
	if json.Unmarshal(raw, &i) != nil || i.Type == 0 {
		return i, fmt.Errorf("decode interaction: %w", errUnreadable)
	}
	if i.Type == interactionPing {
		return i, nil
	}
	if !snowflake(i.ID) || i.Token == "" || !snowflake(i.sender().ID) || !snowflake(i.place()) {
		return i, fmt.Errorf("decode interaction: %w", errUnreadable)
	}
	return i, nil
}

// sender is who acted: a member in a server, a user elsewhere.
func (i *interaction) sender() user {
	switch {
	case i.Member != nil && i.Member.User != nil:
		return *i.Member.User
	case i.User != nil:
		return *i.User
	}
	return user{}
}

// place is the channel that it came from.
func (i *interaction) place() string {
	if i.ChannelID == "" && i.Message != nil {
		return i.Message.ChannelID
	}
	return i.ChannelID
}

// direct reports whether it came from the direct chat with the bot.
func (i *interaction) direct() bool {
	if i.Guild != "" || i.Member != nil {
		return false
	}
	if i.Context != nil {
		return *i.Context == contextDirect
	}
	return i.Channel.Type == channelDirect
}
