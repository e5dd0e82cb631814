package redis

import (
	"crypto/rand"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
)

func TestMessagesSurviveTheWay(t *testing.T) {
	t.Parallel()
	longest := core.Hint{
		ApprovalID: strings.Repeat("r", 32) + ":" + strings.Repeat("x", 200), Revision: math.MaxInt64, Deliveries: true,
	}
	full := make([]core.Hint, maxHints)
	for i := range full {
		full[i] = longest
	}
	for name, m := range map[string]message{
		"a beat":  {sender: rand.Text(), seq: 1, word: wordBeat},
		"a bye":   {sender: rand.Text(), seq: math.MaxUint64, word: wordBye},
		"a hint":  {sender: "A", seq: 2, word: wordBeat, hints: []core.Hint{{ApprovalID: "x y\u00a0z", Revision: 3}}},
		"nothing": {sender: "A", seq: 2, word: wordBeat, hints: []core.Hint{{}}},
		"full":    {sender: rand.Text(), seq: math.MaxUint64, word: wordBeat, hints: full},
	} {
		got, err := decode(m.encode())
		require.NoError(t, err, name)
		require.Empty(t, cmp.Diff(m, got, cmp.AllowUnexported(message{})), name)
	}
}

// Whatever comes is either refused or means exactly what it says.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		"", "sayso1 A 1 beat", "sayso1 ABC 18446744073709551615 bye", "sayso1 A 1 beat\n1 0 x\n0 1 y z\n0 0 ", "sayso2 A 1 beat",
		"sayso1 A 01 beat\n+1 0 x", "sayso1 A 1 beat\n1 0 \u0085", "sayso1  1 beat", "sayso1 A 1 beat\n", "sayso1 A 1 beat \n1 0 x",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		m, err := decode(text)
		if err != nil {
			require.Empty(t, cmp.Diff(message{}, m, cmp.AllowUnexported(message{})))
			return
		}
		require.LessOrEqual(t, len(m.hints), maxHints)
		for _, h := range m.hints {
			require.True(t, sendable(h))
		}
		again, err := decode(m.encode())
		require.NoError(t, err)
		require.Empty(t, cmp.Diff(m, again, cmp.AllowUnexported(message{})))
	})
}

func TestMessagesOfOtherVersions(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]error{
		"sayso2 whatever": errVersion, "sayso": errMalformed, "saysox A 1 beat": errMalformed, "sayso10": errVersion,
		strings.Repeat("x", maxMessage+1): errTooLarge,
	} {
		_, err := decode(text)
		require.ErrorIs(t, err, want)
	}
}
