package discord

import "encoding/json"

type wireUser struct {
	ID         string `json:"id"`
	Username   string `json:"username"`
	GlobalName string `json:"global_name,omitempty"`
	Bot        bool   `json:"bot,omitempty"`
	System     bool   `json:"system,omitempty"`
}

// wireIn is a message or an edit as the bot sends it.
type wireIn struct {
	Content     *string         `json:"content"`
	Embeds      *[]wireEmbed    `json:"embeds"`
	Components  *[]wireRow      `json:"components"`
	Mentions    *wireMentions   `json:"allowed_mentions"`
	Flags       int             `json:"flags"`
	Nonce       *string         `json:"nonce"`
	Enforce     bool            `json:"enforce_nonce"`
	Reference   *wireReference  `json:"message_reference"`
	Attachments json.RawMessage `json:"attachments"`
	TTS         bool            `json:"tts"`
}

type wireMentions struct {
	Parse       []string `json:"parse"`
	Users       []string `json:"users"`
	Roles       []string `json:"roles"`
	RepliedUser bool     `json:"replied_user"`
}

type wireReference struct {
	Type      int    `json:"type"`
	MessageID string `json:"message_id"`
	ChannelID string `json:"channel_id"`
	GuildID   string `json:"guild_id"`
	Must      bool   `json:"fail_if_not_exists"`
}

type wireEmbed struct {
	Title       string      `json:"title,omitempty"`
	Description string      `json:"description,omitempty"`
	Color       int         `json:"color,omitempty"`
	Fields      []wireField `json:"fields,omitempty"`
}

type wireField struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Inline bool   `json:"inline,omitempty"`
}

type wireRow struct {
	Type       int          `json:"type"`
	ID         int          `json:"id,omitempty"`
	Components []wireButton `json:"components"`
}

type wireButton struct {
	Type     int    `json:"type"`
	ID       int    `json:"id,omitempty"`
	Label    string `json:"label,omitempty"`
	Style    int    `json:"style,omitempty"`
	CustomID string `json:"custom_id,omitempty"`
	URL      string `json:"url,omitempty"`
	Disabled bool   `json:"disabled,omitempty"`
}

// wireMessage is a message as the platform tells of it.
type wireMessage struct {
	ID            string           `json:"id"`
	ChannelID     string           `json:"channel_id"`
	GuildID       string           `json:"guild_id,omitempty"`
	Type          int              `json:"type"`
	Author        wireUser         `json:"author"`
	ApplicationID string           `json:"application_id,omitempty"`
	WebhookID     string           `json:"webhook_id,omitempty"`
	Content       string           `json:"content"`
	Embeds        []wireEmbed      `json:"embeds"`
	Components    []wireRow        `json:"components"`
	Attachments   []wireAttachment `json:"attachments,omitempty"`
	Flags         int              `json:"flags"`
	Timestamp     string           `json:"timestamp"`
	Nonce         string           `json:"nonce,omitempty"`
	Reference     *wireReference   `json:"message_reference,omitempty"`
	Referenced    *wireMessage     `json:"referenced_message,omitempty"`
}

type wireAttachment struct {
	ID       string `json:"id"`
	Filename string `json:"filename"`
	Size     int    `json:"size"`
}

type wireInteraction struct {
	ID            string         `json:"id"`
	ApplicationID string         `json:"application_id"`
	Type          int            `json:"type"`
	Token         string         `json:"token"`
	GuildID       string         `json:"guild_id,omitempty"`
	ChannelID     string         `json:"channel_id"`
	Channel       map[string]any `json:"channel"`
	Context       int            `json:"context"`
	Member        map[string]any `json:"member,omitempty"`
	User          *wireUser      `json:"user,omitempty"`
	Message       *wireMessage   `json:"message,omitempty"`
	Data          map[string]any `json:"data,omitempty"`
	Version       int            `json:"version"`
}

// wireResponse is the first response to an interaction.
type wireResponse struct {
	Type int             `json:"type"`
	Data json.RawMessage `json:"data"`
}

type wireModal struct {
	CustomID   string          `json:"custom_id"`
	Title      string          `json:"title"`
	Components []wireModalPart `json:"components"`
}

type wireModalPart struct {
	Type        int           `json:"type"`
	Content     string        `json:"content"`
	Label       string        `json:"label"`
	Description string        `json:"description"`
	Component   *wireInput    `json:"component"`
	Components  []wireInputIn `json:"components"`
}

type (
	wireInput struct {
		Type        int    `json:"type"`
		CustomID    string `json:"custom_id"`
		Style       int    `json:"style"`
		Label       string `json:"label"`
		Placeholder string `json:"placeholder"`
		Required    bool   `json:"required"`
		MinLength   int    `json:"min_length"`
		MaxLength   int    `json:"max_length"`
	}
	wireInputIn = wireInput
)

// wireFrame is a message of the gateway.
type wireFrame struct {
	Op   int             `json:"op"`
	Data json.RawMessage `json:"d"`
	Seq  *int64          `json:"s"`
	Type *string         `json:"t"`
}

// apiError is a refusal in the platform's form.
type apiError struct {
	status int
	code   int
	text   string
	fields map[string]any // Body of "errors".
	extra  map[string]any
}

func refused(status, code int, text string) *apiError {
	return &apiError{status: status, code: code, text: text}
}

func invalidForm(field, rule string) *apiError {
	e := refused(400, 50035, "Invalid Form Body")
	e.fields = map[string]any{field: map[string]any{"_errors": []any{map[string]any{"code": rule, "message": "refused"}}}}
	return e
}
