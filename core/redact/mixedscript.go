package redact

import (
	"strings"
	"unicode"
)

// latinLookalikes are the Greek letters that pass for Latin ones. The others, such
// as the mu and omega of units, are plain to see and are not reported.
const latinLookalikes = "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧΪΫαγικνορτυχϲϳϜϹ"

// MixedScript reports whether a word of s mixes Latin letters with Cyrillic ones,
// or with Greek ones that look Latin: "pаypal" with a Cyrillic а. Characters that
// nobody sees do not end a word. It is a warning, no proof: a word written in one
// foreign script throughout is not reported.
func MixedScript(s string) bool {
	latin, foreign := false, false
	for _, r := range s {
		switch {
		case r < 0x80 && (r|0x20 >= 'a' && r|0x20 <= 'z'):
			latin = true
		case r < 0x80:
			latin, foreign = false, false
		case unicode.Is(unicode.Cyrillic, r), strings.ContainsRune(latinLookalikes, r):
			foreign = true
		case unicode.Is(unicode.Latin, r):
			latin = true
		case unicode.IsLetter(r), unicode.IsMark(r), hidden(r) && !unicode.IsSpace(r):
		default:
			latin, foreign = false, false
		}
		if latin && foreign {
			return true
		}
	}
	return false
}
