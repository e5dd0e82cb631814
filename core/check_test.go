package core

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSmallIsWithinTheBound: a presentation that is not encoded to be measured is
// within its bound, whatever it is made of.
func TestSmallIsWithinTheBound(t *testing.T) {
	t.Parallel()
	small := 0
	for _, piece := range []string{"a", "<", "\x00", "\xff", "é", "\u2028", `"`, "💥"} {
		for n := range 700 {
			text := strings.Repeat(piece, n)
			quoted, err := json.Marshal(text)
			require.NoError(t, err)
			lines := make([]Line, n%7)
			for i := range lines {
				lines[i] = Line{Label: piece, Value: text, Cut: true}
			}
			for _, p := range []Presentation{
				{Kind: KindExec, Title: text, Command: piece, Folder: piece, Executable: piece, Redacted: true, Truncated: true, MixedScript: true},
				{Kind: KindPlugin, Title: piece, Description: text, Lines: lines},
				{Kind: KindPlugin, Title: piece, Arguments: quoted, Lines: lines},
			} {
				if !p.small() {
					continue
				}
				small++
				b, err := json.Marshal(p)
				require.NoError(t, err)
				require.LessOrEqual(t, len(b), MaxPresentation)
			}
		}
	}
	require.NotZero(t, small)
	unsound := Presentation{Kind: KindPlugin, Title: "t", Arguments: json.RawMessage(`{`)}
	require.False(t, unsound.small())
}

// TestCheckChangeFindsWhatAChangeCanBreak: whatever Check finds in a row whose question is
// sound, CheckChange finds too.
func TestCheckChangeFindsWhatAChangeCanBreak(t *testing.T) {
	t.Parallel()
	action := HashOf([]byte("action"))
	sound := Approval{
		ID: "id-1", Ref: ResolutionRef(KindPlugin, "id-1"), Kind: KindPlugin, Origin: OriginAsk, Runtime: "builder",
		ArgumentsHash: action, ActionHash: action, Fingerprint: Fingerprint(action), Class: ClassSend,
		Presentation: Presentation{Kind: KindPlugin, Title: "title"}, Offered: []Decision{DecisionAllowOnce, DecisionDeny},
		Continuation: ContinuationLive, CreatedAt: 10, UpdatedAt: 10, ExpiresAt: 100, Revision: 1, CardRevision: 1,
		Status: StatusPending, Grant: Grant{Execution: ExecutionNone},
	}
	require.NoError(t, sound.Check())
	for name, change := range map[string]func(*Approval){
		"updated before it was made":     func(a *Approval) { a.UpdatedAt = 9 },
		"expires when it was made":       func(a *Approval) { a.ExpiresAt = 10 },
		"no revision":                    func(a *Approval) { a.Revision, a.CardRevision = 0, 0 },
		"a card ahead of its row":        func(a *Approval) { a.CardRevision = 2 },
		"pending with an outcome":        func(a *Approval) { a.Resolution.Note = "note" },
		"unknown status":                 func(a *Approval) { a.Status = "x" },
		"allowed by nobody":              func(a *Approval) { a.Status, a.Resolution.Reason = StatusAllowed, ReasonUser },
		"a grant that nobody allowed":    func(a *Approval) { a.Grant.Execution = ExecutionUnclaimed },
		"voided without having a reason": func(a *Approval) { a.Grant.Execution = ExecutionVoided },
		"an aftermath without an act":    func(a *Approval) { a.Aftermath = &Aftermath{} },
		"asked again while it waits":     func(a *Approval) { a.Aftermath = &Aftermath{AskedAgain: &Act{By: "ann", At: 20}} },
		"dismissed by nobody":            func(a *Approval) { a.Aftermath = &Aftermath{Dismissed: &Act{At: 20}} },
		"dismissed without a doubt":      func(a *Approval) { a.Aftermath = &Aftermath{Dismissed: &Act{By: "ann", At: 20}} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := sound
			change(&a)
			require.ErrorIs(t, a.Check(), ErrCorrupt)
			require.ErrorIs(t, a.CheckChange(), ErrCorrupt)
		})
	}
}
