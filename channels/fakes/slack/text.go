package slack

import (
	"encoding/json"
	"fmt"
)

// textAny is a text object, or the bare string of rich text.
type textAny struct {
	Type  string
	Text  string
	Emoji *bool
	bare  bool
}

type textObject struct {
	Type  string `json:"type"`
	Text  string `json:"text"`
	Emoji *bool  `json:"emoji,omitempty"`
}

// UnmarshalJSON implements json.Unmarshaler.
func (t *textAny) UnmarshalJSON(raw []byte) error {
	if json.Unmarshal(raw, &t.Text) == nil {
		t.bare = true
		return nil
	}
	var o textObject
	if err := json.Unmarshal(raw, &o); err != nil {
		return fmt.Errorf("decode text: %w", err)
	}
	t.Type, t.Text, t.Emoji = o.Type, o.Text, o.Emoji
	return nil
}

// MarshalJSON implements json.Marshaler.
func (t textAny) MarshalJSON() ([]byte, error) {
	var v any = textObject{Type: t.Type, Text: t.Text, Emoji: t.Emoji}
	if t.bare {
		v = t.Text
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode text: %w", err)
	}
	return raw, nil
}
