package qr

import (
	"fmt"
	"io"
	"strings"

	"github.com/skip2/go-qrcode"
)

// Style is how the modules are drawn.
type Style int

const (
	// Colour sets black on white itself, and so works on dark and light terminals alike.
	Colour Style = iota
	// Plain uses block characters only and takes the terminal to be light on dark.
	Plain
)

// The colours are those of the 256-colour palette that themes leave alone.
const (
	blackOnWhite = "\x1b[38;5;16;48;5;231m"
	reset        = "\x1b[0m"
)

// Write draws text with its quiet zone, two rows of modules to a line. A link of 60
// characters takes 41 columns and 21 lines. Errors: a text over 2,953 bytes (the
// limit of the format), or what w returns.
func Write(w io.Writer, text string, style Style) error {
	// The lowest redundancy makes the largest modules; screens do not get scratched.
	code, err := qrcode.New(text, qrcode.Low)
	if err != nil {
		return fmt.Errorf("encode QR code: %w", err)
	}
	modules := code.Bitmap()
	var b strings.Builder
	for y := 0; y < len(modules); y += 2 {
		if style == Colour {
			b.WriteString(blackOnWhite)
		}
		for x := range modules[y] {
			lower := y+1 < len(modules) && modules[y+1][x]
			b.WriteString(glyph(modules[y][x], lower, style))
		}
		if style == Colour {
			b.WriteString(reset)
		}
		b.WriteByte('\n')
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write QR code: %w", err)
	}
	return nil
}

// glyph draws two modules, one above the other: ink is black in colour, and white
// where the terminal's own background is the black.
func glyph(upper, lower bool, style Style) string {
	if style == Plain {
		upper, lower = !upper, !lower
	}
	switch {
	case upper && lower:
		return "█"
	case upper:
		return "▀"
	case lower:
		return "▄"
	}
	return " "
}
