package people

import (
	"crypto/rand"
	"encoding/base64"
	"strings"

	"github.com/saysohq/sayso/core"
)

// CodeForm is how a one-time code will travel.
type CodeForm string

// The forms of a code.
const (
	FormLink  CodeForm = "link"  // In a link or QR code: 128 bits, 22 characters of base64url.
	FormTyped CodeForm = "typed" // Typed by a person: 50 bits, "K7QM2-XPD4V".
)

// Valid reports whether f is one of the closed set.
func (f CodeForm) Valid() bool {
	switch f {
	case FormLink, FormTyped:
		return true
	}
	return false
}

// The shapes of codes. The alphabet has no I, L, O and U: what people confuse
// stands for what they meant. Ten characters are more than the 40 bits that
// guessing against the budget needs: whoever reads the stored hash cannot search
// 50 bits while the code lives either.
const (
	linkBytes     = 16
	typedLength   = 10 // Characters of five bits each.
	typedGroup    = 5
	typedAlphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
)

// newCode draws a code of the form.
func newCode(f CodeForm) Secret {
	if f == FormTyped {
		b := make([]byte, typedLength)
		_, _ = rand.Read(b)
		for i, v := range b {
			b[i] = typedAlphabet[v%byte(len(typedAlphabet))] // 256 is a multiple of 32: no bias.
		}
		return Secret{value: string(b[:typedGroup]) + "-" + string(b[typedGroup:])}
	}
	b := make([]byte, linkBytes)
	_, _ = rand.Read(b)
	return Secret{value: base64.RawURLEncoding.EncodeToString(b)}
}

// codeHash is the stored form of a code as somebody entered it. What has the shape
// of no code is core.ErrCodeInvalid without asking the store: it could never match,
// so it must not use up the deployment's budget of wrong guesses either.
func codeHash(entered string) (string, error) {
	entered = strings.TrimSpace(entered)
	if isLinkCode(entered) {
		return hashOf(entered), nil
	}
	if typed, ok := normaliseTyped(entered); ok {
		return hashOf(typed), nil
	}
	return "", core.ErrCodeInvalid
}

func isLinkCode(s string) bool {
	if len(s) != base64.RawURLEncoding.EncodedLen(linkBytes) {
		return false
	}
	_, err := base64.RawURLEncoding.Strict().DecodeString(s)
	return err == nil
}

// maxTypedEntry bounds what is looked at, in bytes: a typed code with generous
// spacing.
const maxTypedEntry = 32

// normaliseTyped forgives case, spacing, dashes and the letters that look like
// digits: O is 0; I and L are 1.
func normaliseTyped(s string) (string, bool) {
	if len(s) > maxTypedEntry {
		return "", false
	}
	var b strings.Builder
	for _, r := range strings.ToUpper(s) {
		switch r {
		case ' ', '-', '\u2010', '\u2011', '\u2013': // Spaces, and the dashes that phones put in.
			continue
		case 'O':
			r = '0'
		case 'I', 'L':
			r = '1'
		}
		if !strings.ContainsRune(typedAlphabet, r) {
			return "", false
		}
		b.WriteRune(r)
	}
	return b.String(), b.Len() == typedLength
}
