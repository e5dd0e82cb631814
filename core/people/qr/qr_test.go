package qr_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/skip2/go-qrcode"
	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core/people/qr"
)

const link = "https://sayso.example.org/pair#AAAAAAAAAAAAAAAAAAAAAA"

// read turns a drawing back into modules.
func read(t *testing.T, drawn string, style qr.Style) [][]bool {
	t.Helper()
	var modules [][]bool
	for line := range strings.Lines(drawn) {
		line = strings.TrimSuffix(line, "\n")
		if style == qr.Colour {
			var ok bool
			line, ok = strings.CutPrefix(line, "\x1b[38;5;16;48;5;231m")
			require.True(t, ok)
			line, ok = strings.CutSuffix(line, "\x1b[0m")
			require.True(t, ok)
		}
		var upper, lower []bool
		for _, r := range line {
			require.Contains(t, "█▀▄ ", string(r))
			upper = append(upper, (r == '█' || r == '▀') == (style == qr.Colour))
			lower = append(lower, (r == '█' || r == '▄') == (style == qr.Colour))
		}
		modules = append(modules, upper, lower)
	}
	return modules
}

func TestWriteDrawsEveryModule(t *testing.T) {
	t.Parallel()
	code, err := qrcode.New(link, qrcode.Low)
	require.NoError(t, err)
	want := code.Bitmap()
	for _, style := range []qr.Style{qr.Colour, qr.Plain} {
		var b strings.Builder
		require.NoError(t, qr.Write(&b, link, style))
		got := read(t, b.String(), style)
		require.Len(t, got, len(want)+len(want)%2)
		require.Equal(t, want, got[:len(want)])
		require.NotContains(t, b.String(), "sayso")
	}
}

func TestWriteRefusesWhatDoesNotFit(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	require.Error(t, qr.Write(&b, strings.Repeat("a", 2954), qr.Colour))
	require.Empty(t, b.String())
}

type broken struct{}

var errBroken = errors.New("broken")

func (broken) Write([]byte) (int, error) { return 0, errBroken }

func TestWriteReportsTheWriter(t *testing.T) {
	t.Parallel()
	require.ErrorIs(t, qr.Write(broken{}, link, qr.Plain), errBroken)
}
