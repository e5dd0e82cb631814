package sqlite

import (
	"context"
	"fmt"

	"github.com/saysohq/sayso/core"
)

// Statements about prompts. A prompt is open until it is answered or expires.
const (
	sqlPromptColumns = `id, ref, purpose, channel, account, chat, message, realm, external_id, label,
		approval_id, delivery_id, code_hash, principal_id, expires_at, done_at`
	sqlOpenPrompt = `INSERT INTO prompts (id, ref, purpose, channel, account, chat, message, realm, external_id, label,
		approval_id, delivery_id, code_hash, principal_id, created_at, expires_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`
	sqlPlacePrompt = "UPDATE prompts SET message = ? WHERE id = ? AND done_at = 0"
	sqlPromptByRef = "SELECT " + sqlPromptColumns + " FROM prompts WHERE ref = ? AND done_at = 0 AND expires_at > ?"
	sqlPromptAt    = "SELECT " + sqlPromptColumns + ` FROM prompts WHERE channel = ? AND account = ? AND message = ?
		AND message <> '' AND done_at = 0 AND expires_at > ? ORDER BY created_at DESC, id DESC LIMIT 1`
	sqlFinishPrompt = "UPDATE prompts SET done_at = ? WHERE id = ? AND done_at = 0 AND expires_at > ?"
)

// OpenPrompt implements core.Prompts. Errors: core.ErrIDTaken.
func (s *Store) OpenPrompt(ctx context.Context, p core.Prompt, life core.Millis) (core.Prompt, error) {
	return write(ctx, s, foreground, func(t *tx) (core.Prompt, error) {
		opened := p
		opened.ExpiresAt, opened.DoneAt = t.now+life, 0
		n, err := t.exec(sqlOpenPrompt, p.ID, p.Ref, p.Purpose, p.Channel, p.Account, p.Chat, p.Message, p.Realm,
			p.ExternalID, p.Label, p.ApprovalID, p.DeliveryID, p.CodeHash, p.PrincipalID, t.now, opened.ExpiresAt)
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
	return s.changePrompt(ctx, "place prompt", func(t *tx) (int64, error) { return t.exec(sqlPlacePrompt, locator, id) })
}

// FinishPrompt implements core.Prompts.
func (s *Store) FinishPrompt(ctx context.Context, id string) error {
	return s.changePrompt(ctx, "finish prompt", func(t *tx) (int64, error) { return t.exec(sqlFinishPrompt, t.now, id, t.now) })
}

func (s *Store) changePrompt(ctx context.Context, doing string, change func(*tx) (int64, error)) error {
	n, err := write(ctx, s, foreground, change)
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
	return s.readPrompt(ctx, sqlPromptByRef, ref, s.clock.now())
}

// PromptAt implements core.Prompts.
func (s *Store) PromptAt(ctx context.Context, ref core.AccountRef, locator string) (core.Prompt, error) {
	return s.readPrompt(ctx, sqlPromptAt, ref.Channel, ref.Account, locator, s.clock.now())
}

func (s *Store) readPrompt(ctx context.Context, query string, args ...any) (core.Prompt, error) {
	var p core.Prompt
	err := s.read(ctx).one(query, args, &p.ID, &p.Ref, &p.Purpose, &p.Channel, &p.Account, &p.Chat, &p.Message, &p.Realm,
		&p.ExternalID, &p.Label, &p.ApprovalID, &p.DeliveryID, &p.CodeHash, &p.PrincipalID, &p.ExpiresAt, &p.DoneAt)
	if err != nil {
		return core.Prompt{}, fmt.Errorf("read prompt: %w", err)
	}
	return p, nil
}
