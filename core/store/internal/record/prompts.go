package record

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/saysohq/sayso/core"
)

// Statements about prompts. A prompt is open until it is answered or expires.
const (
	sqlPromptColumns = `id, ref, purpose, channel, account, chat, message, realm, external_id, label,
		approval_id, delivery_id, code_hash, principal_id, choices, expires_at, done_at`
	sqlOpenPrompt = `INSERT INTO prompts (id, ref, purpose, channel, account, chat, message, realm, external_id, label,
		approval_id, delivery_id, code_hash, principal_id, choices, created_at, expires_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`
	sqlPlacePrompt = "UPDATE prompts SET message = ? WHERE id = ? AND done_at = 0"
	sqlPromptByRef = "SELECT " + sqlPromptColumns + " FROM prompts WHERE ref = ? AND done_at = 0"
	sqlPromptAt    = "SELECT " + sqlPromptColumns + ` FROM prompts WHERE channel = ? AND account = ? AND message = ?
		AND message <> '' AND done_at = 0 ORDER BY created_at DESC, id DESC LIMIT 1`
	sqlFinishPrompt = "UPDATE prompts SET done_at = ? WHERE id = ? AND done_at = 0 AND expires_at > ?"
)

// OpenPrompt implements core.Prompts. Errors: core.ErrIDTaken, core.ErrInvalid.
func (s *Store) OpenPrompt(ctx context.Context, p core.Prompt, life core.Millis) (core.Prompt, error) {
	return write(ctx, s, Foreground, func(t *tx) (core.Prompt, error) {
		opened := p
		choices, err := encodeChoices(p.Choices)
		if err != nil {
			return core.Prompt{}, fmt.Errorf("open prompt: %w", err)
		}
		opened.ExpiresAt, opened.DoneAt = t.now+life, 0
		n, err := t.Exec(sqlOpenPrompt, p.ID, p.Ref, string(p.Purpose), string(p.Channel), p.Account, p.Chat, p.Message, p.Realm,
			p.ExternalID, p.Label, p.ApprovalID, p.DeliveryID, p.CodeHash, p.PrincipalID, choices, int64(t.now), int64(opened.ExpiresAt))
		if err == nil && n == 0 {
			err = core.ErrIDTaken
		}
		if err != nil {
			return core.Prompt{}, fmt.Errorf("open prompt: %w", err)
		}
		return opened, nil
	})
}

// PlacePrompt implements core.Prompts.
func (s *Store) PlacePrompt(ctx context.Context, id, locator string) error {
	return s.changePrompt(ctx, "place prompt", func(t *tx) (int64, error) { return t.Exec(sqlPlacePrompt, locator, id) })
}

// FinishPrompt implements core.Prompts.
func (s *Store) FinishPrompt(ctx context.Context, id string) error {
	return s.changePrompt(ctx, "finish prompt", func(t *tx) (int64, error) { return t.Exec(sqlFinishPrompt, int64(t.now), id, int64(t.now)) })
}

func (s *Store) changePrompt(ctx context.Context, doing string, change func(*tx) (int64, error)) error {
	n, err := write(ctx, s, Foreground, change)
	if err == nil && n == 0 {
		err = core.ErrNotFound
	}
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return nil
}

// PromptByRef implements core.Prompts.
func (s *Store) PromptByRef(ctx context.Context, ref string) (core.Prompt, error) {
	return s.readPrompt(ctx, sqlPromptByRef, ref)
}

// PromptAt implements core.Prompts.
func (s *Store) PromptAt(ctx context.Context, ref core.AccountRef, locator string) (core.Prompt, error) {
	return s.readPrompt(ctx, sqlPromptAt, string(ref.Channel), ref.Account, locator)
}

func (s *Store) readPrompt(ctx context.Context, query string, args ...any) (core.Prompt, error) {
	var p core.Prompt
	var choices string
	now, err := s.read(ctx).Dated(query, args, func(scan Row) error {
		return scan(&p.ID, &p.Ref, (*string)(&p.Purpose), (*string)(&p.Channel), &p.Account, &p.Chat, &p.Message, &p.Realm,
			&p.ExternalID, &p.Label, &p.ApprovalID, &p.DeliveryID, &p.CodeHash, &p.PrincipalID, &choices, (*int64)(&p.ExpiresAt), (*int64)(&p.DoneAt))
	})
	if err == nil && (p.ID == "" || p.ExpiresAt.Reached(now)) {
		err = core.ErrNotFound
	}
	if err == nil {
		p.Choices, err = decodeChoices(choices)
	}
	if err != nil {
		return core.Prompt{}, fmt.Errorf("read prompt: %w", err)
	}
	return p, nil
}

// encodeChoices writes what the buttons of a menu do; "" where it has none. Errors:
// core.ErrInvalid for more than there are buttons, or what no button does.
func encodeChoices(list []core.Choice) (string, error) {
	if len(list) == 0 {
		return "", nil
	}
	if len(list) > core.MaxChoices {
		return "", core.Invalid("choices", "must be at most %d", core.MaxChoices)
	}
	for i := range list {
		if !list[i].Do.Valid() {
			return "", core.Invalid("choices", "must do what there is to do")
		}
	}
	raw, err := json.Marshal(list)
	if err != nil {
		return "", fmt.Errorf("encode choices: %w", err)
	}
	return string(raw), nil
}

func decodeChoices(raw string) (list []core.Choice, err error) {
	if raw == "" {
		return nil, nil
	}
	if json.Unmarshal([]byte(raw), &list) != nil { // Its own error would repeat what it met.
		return nil, core.ErrCorrupt
	}
	return list, nil
}
