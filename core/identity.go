package core

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"strings"
	"unicode/utf8"
)

// Bounds of identifiers, in bytes unless said otherwise.
const (
	MaxGivenID        = 200 // A caller's own id, without the runtime prefix.
	MaxRuntimeName    = 32
	MaxIdempotencyKey = 256
	RefLength         = 43  // Unpadded base64url of 32 bytes.
	MaxShortText      = 256 // Names: agent, session, run, group, tool, operation.
	MaxAudience       = 64  // Session keys (R161).
	MaxReviewers      = 64
)

// ResolutionRef is the fixed-size lookup key of an approval: unpadded base64url
// of SHA-256 over kind, a zero byte and the id (R6). It is neither authority nor
// a public URL id.
func ResolutionRef(k Kind, id string) string {
	h := sha256.New()
	h.Write([]byte(k))
	h.Write([]byte{0})
	h.Write([]byte(id))
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}

// ValidRef reports whether s has the shape of a resolution ref.
func ValidRef(s string) bool {
	if len(s) != RefLength {
		return false
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(s)
	return err == nil && len(b) == sha256.Size
}

// ValidRuntimeName reports whether s matches [a-z0-9][a-z0-9-]{0,31}.
func ValidRuntimeName(s string) bool {
	if s == "" || len(s) > MaxRuntimeName || s[0] == '-' {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return true
}

// GivenID builds the id of an approval whose caller chose one: the runtime's
// name, a colon and the given part, so that ids, UUIDs and refs are disjoint by
// construction and no runtime can take another's (K33). The given part is
// opaque: 1-200 bytes of valid UTF-8 without control characters, not trimmed,
// and not a dot path segment.
func GivenID(runtime, given string) (string, error) {
	switch {
	case given == "":
		return "", Invalid("id", "must not be empty")
	case len(given) > MaxGivenID:
		return "", Invalid("id", "must be at most %d bytes", MaxGivenID)
	case !utf8.ValidString(given):
		return "", Invalid("id", "must be valid UTF-8")
	case strings.ContainsFunc(given, isControl):
		return "", Invalid("id", "must not contain control characters")
	case given == "." || given == "..":
		return "", Invalid("id", "must not be a path segment of dots")
	}
	return runtime + ":" + given, nil
}

func isControl(r rune) bool { return r < 0x20 || (r >= 0x7f && r < 0xa0) }

// Fingerprint is for eyes only: lower-case base32 (RFC 4648) of the first five
// bytes of the action hash, eight characters. It returns "" for a hash that is
// not "sha256:" plus 64 hex digits.
func Fingerprint(actionHash string) string {
	digits, ok := strings.CutPrefix(actionHash, HashPrefix)
	if !ok {
		return ""
	}
	b, err := hex.DecodeString(digits)
	if err != nil || len(b) != sha256.Size {
		return ""
	}
	return strings.ToLower(base32.StdEncoding.EncodeToString(b[:5]))
}

// HashPrefix stands before the hex digits of every hash of the record.
const HashPrefix = "sha256:"

// HashOf is "sha256:" and the lower-case hex digest of b.
func HashOf(b []byte) string {
	sum := sha256.Sum256(b)
	return HashPrefix + hex.EncodeToString(sum[:])
}

// ValidHash reports whether s is "sha256:" and 64 lower-case hex digits.
func ValidHash(s string) bool {
	digits, ok := strings.CutPrefix(s, HashPrefix)
	if !ok || len(digits) != 2*sha256.Size {
		return false
	}
	for i := range len(digits) {
		c := digits[i]
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
