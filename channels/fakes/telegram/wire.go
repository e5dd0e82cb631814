package telegram

import "encoding/json"

type envelope struct {
	OK          bool           `json:"ok"`
	Result      any            `json:"result,omitempty"`
	ErrorCode   int            `json:"error_code,omitempty"`
	Description string         `json:"description,omitempty"`
	Parameters  map[string]any `json:"parameters,omitempty"`
}

// apiError is a refusal as the Bot API words it.
type apiError struct {
	code        int
	description string
	parameters  map[string]any
}

func badRequest(what string) *apiError {
	return &apiError{code: 400, description: "Bad Request: " + what}
}

func forbidden(what string) *apiError {
	return &apiError{code: 403, description: "Forbidden: " + what}
}

type wireUser struct {
	ID        int64  `json:"id"`
	IsBot     bool   `json:"is_bot"`
	FirstName string `json:"first_name"`
	Username  string `json:"username,omitempty"`
}

type wireChat struct {
	ID        int64  `json:"id"`
	Type      string `json:"type"`
	Title     string `json:"title,omitempty"`
	FirstName string `json:"first_name,omitempty"`
	IsForum   bool   `json:"is_forum,omitempty"`
}

type wireEntity struct {
	Type     string    `json:"type"`
	Offset   int       `json:"offset"`
	Length   int       `json:"length"`
	URL      string    `json:"url,omitempty"`
	Language string    `json:"language,omitempty"`
	User     *wireUser `json:"user,omitempty"`
}

type wireButton struct {
	Text         string          `json:"text"`
	Style        string          `json:"style,omitempty"`
	URL          string          `json:"url,omitempty"`
	CallbackData *string         `json:"callback_data,omitempty"`
	WebApp       *wireWebApp     `json:"web_app,omitempty"`
	CopyText     *wireCopyText   `json:"copy_text,omitempty"`
	Pay          json.RawMessage `json:"pay,omitempty"`
}

type wireWebApp struct {
	URL string `json:"url"`
}

type wireCopyText struct {
	Text string `json:"text"`
}

type wireMarkup struct {
	InlineKeyboard [][]wireButton `json:"inline_keyboard,omitempty"`
	ForceReply     bool           `json:"force_reply,omitempty"`
	Selective      bool           `json:"selective,omitempty"`
	Placeholder    string         `json:"input_field_placeholder,omitempty"`
}

type wireReplyTo struct {
	MessageID    int   `json:"message_id"`
	ChatID       int64 `json:"chat_id,omitempty"`
	AllowMissing bool  `json:"allow_sending_without_reply,omitempty"`
}

type wireOrigin struct {
	Type       string   `json:"type"`
	Date       int64    `json:"date"`
	SenderUser wireUser `json:"sender_user"`
}

type wireDocument struct {
	FileID   string `json:"file_id"`
	UniqueID string `json:"file_unique_id"`
	FileName string `json:"file_name,omitempty"`
	FileSize int    `json:"file_size,omitempty"`
}

type wireMessage struct {
	MessageID      int           `json:"message_id"`
	ThreadID       int           `json:"message_thread_id,omitempty"`
	IsTopicMessage bool          `json:"is_topic_message,omitempty"`
	From           *wireUser     `json:"from,omitempty"`
	SenderChat     *wireChat     `json:"sender_chat,omitempty"`
	Date           int64         `json:"date"`
	EditDate       int64         `json:"edit_date,omitempty"`
	Chat           wireChat      `json:"chat"`
	ForwardOrigin  *wireOrigin   `json:"forward_origin,omitempty"`
	ReplyTo        *wireMessage  `json:"reply_to_message,omitempty"`
	Text           string        `json:"text,omitempty"`
	Caption        string        `json:"caption,omitempty"` // Instead of a text, of what has a file.
	Entities       []wireEntity  `json:"entities,omitempty"`
	Document       *wireDocument `json:"document,omitempty"`
	Markup         *wireMarkup   `json:"reply_markup,omitempty"`
}

type wireInaccessible struct {
	Chat      wireChat `json:"chat"`
	MessageID int      `json:"message_id"`
	Date      int64    `json:"date"`
}

type wireQuery struct {
	ID              string   `json:"id"`
	From            wireUser `json:"from"`
	Message         any      `json:"message,omitempty"`
	InlineMessageID string   `json:"inline_message_id,omitempty"`
	ChatInstance    string   `json:"chat_instance"`
	Data            string   `json:"data,omitempty"`
}

type wireUpdate struct {
	ID      int64        `json:"update_id"`
	Message *wireMessage `json:"message,omitempty"`
	Query   *wireQuery   `json:"callback_query,omitempty"`
}
