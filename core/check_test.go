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
