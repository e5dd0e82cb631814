package sqlite

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
)

func newPrompt(id string) core.Prompt {
	return core.Prompt{
		ID: id, Ref: core.ResolutionRef("prompt", id), Purpose: core.PromptNote, Channel: core.SurfaceTelegram, Account: "99",
		Chat: "123", Realm: "telegram", ExternalID: "123", Label: "@bob", ApprovalID: "a1", DeliveryID: "d1",
		CodeHash: "c1", PrincipalID: "bob",
	}
}

func openPrompt(t *testing.T, s *Store, p core.Prompt) core.Prompt {
	t.Helper()
	opened, err := s.OpenPrompt(t.Context(), p, core.PromptLife)
	require.NoError(t, err)
	return opened
}

func TestPromptsRoundTrip(t *testing.T) {
	t.Parallel()
	s, clock := peopleStore(t)
	want := newPrompt("p1")
	want.ExpiresAt = core.MillisOf(clock.now()) + core.PromptLife
	require.Empty(t, cmp.Diff(want, openPrompt(t, s, newPrompt("p1"))))
	_, err := s.OpenPrompt(t.Context(), newPrompt("p1"), core.PromptLife)
	require.ErrorIs(t, err, core.ErrIDTaken)

	got, err := s.PromptByRef(t.Context(), want.Ref)
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(want, got))

	account := core.AccountRef{Channel: core.SurfaceTelegram, Account: "99"}
	_, err = s.PromptAt(t.Context(), account, "")
	require.ErrorIs(t, err, core.ErrNotFound, "a prompt that stands nowhere yet answers to no message")

	require.NoError(t, s.PlacePrompt(t.Context(), "p1", "m7"))
	want.Message = "m7"
	got, err = s.PromptAt(t.Context(), account, "m7")
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(want, got))
	_, err = s.PromptAt(t.Context(), core.AccountRef{Channel: core.SurfaceTelegram, Account: "98"}, "m7")
	require.ErrorIs(t, err, core.ErrNotFound, "the same message id at another bot")
	require.ErrorIs(t, s.PlacePrompt(t.Context(), "nothing", "m8"), core.ErrNotFound)
}

func TestAPromptIsAnsweredOnce(t *testing.T) {
	t.Parallel()
	s, _ := peopleStore(t)
	p := openPrompt(t, s, newPrompt("p1"))
	failures := race(8, func(int) error { return s.FinishPrompt(t.Context(), "p1") })
	require.Equal(t, 1, wins(failures))
	for _, err := range failures {
		if err != nil {
			require.ErrorIs(t, err, core.ErrNotFound)
		}
	}
	_, err := s.PromptByRef(t.Context(), p.Ref)
	require.ErrorIs(t, err, core.ErrNotFound)
	require.ErrorIs(t, s.PlacePrompt(t.Context(), "p1", "m1"), core.ErrNotFound)
}

func TestAPromptExpires(t *testing.T) {
	t.Parallel()
	s, clock := peopleStore(t)
	p := openPrompt(t, s, newPrompt("p1"))
	require.NoError(t, s.PlacePrompt(t.Context(), "p1", "m1"))
	clock.advance(core.PromptLife*time.Millisecond - time.Millisecond)
	_, err := s.PromptByRef(t.Context(), p.Ref)
	require.NoError(t, err)
	clock.advance(time.Millisecond)
	_, err = s.PromptByRef(t.Context(), p.Ref)
	require.ErrorIs(t, err, core.ErrNotFound)
	_, err = s.PromptAt(t.Context(), core.AccountRef{Channel: core.SurfaceTelegram, Account: "99"}, "m1")
	require.ErrorIs(t, err, core.ErrNotFound)
	require.ErrorIs(t, s.FinishPrompt(t.Context(), "p1"), core.ErrNotFound)
}
