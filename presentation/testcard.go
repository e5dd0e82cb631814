package presentation

import "github.com/saysohq/sayso/core"

// Words of the test card.
const (
	AnswerTestPassed = "It works: your click came back. Nothing was decided." //nolint:gosec // A sentence.

	// LabelTest is the one button of a test card.
	LabelTest    = "It works"
	testTitle    = "Test card"
	testSentence = "Somebody who runs sayso checks whether questions reach you and your answers come back. " +
		"Please press the button below; nothing is decided by it."
)

// TestCard is the card that proves that a chat can be reached and that its clicks
// come back. promptRef is the reference of its prompt.
func TestCard(promptRef string) Card {
	actions := []core.Action{{
		Type: core.ActionCallback, Label: LabelTest, Value: core.CallbackConfirm, PromptRef: promptRef,
	}}
	return Card{
		Kind: core.KindPlugin, Status: core.StatusPending, Class: core.ClassRead,
		Title: testTitle, Summary: testSentence, Actions: actions, CutActions: actions,
	}
}
