package presentation_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/presentation"
)

// A test card has one button, which answers its prompt and can decide nothing, and
// its answer is as short as every platform wants.
func TestTestCard(t *testing.T) {
	t.Parallel()
	ref := core.ResolutionRef("prompt", "id")
	card := presentation.TestCard(ref)
	require.Empty(t, cmp.Diff([]core.Action{{
		Type: core.ActionCallback, Label: presentation.LabelTest, Value: core.CallbackConfirm, PromptRef: ref,
	}}, card.Actions))
	require.Empty(t, cmp.Diff(card.Actions, card.CutActions))
	require.Empty(t, card.ApprovalID)
	require.NotEmpty(t, card.Title)
	require.NotEmpty(t, card.Summary)
	require.LessOrEqual(t, len(presentation.AnswerTestPassed), 200)
}
