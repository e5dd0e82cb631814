package people

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"log/slog"
	"strings"
)

// The prefixes tell people, log scrubbers and secret scanners what they look at.
const (
	TokenPrefix   = "sayso_rt_" // A machine's bearer token.
	SessionPrefix = "sayso_ss_" // The secret of a signed-in browser or CLI.
)

// secretBytes is the entropy of a bearer: 256 bits.
const secretBytes = 32

// hidden is what a Secret prints as.
const hidden = "[hidden]"

// Secret is a bearer or a one-time code on its way to the one who will use it.
// It prints, logs and encodes as "[hidden]"; only Reveal gives it away.
type Secret struct{ value string }

// SecretOf wraps a secret that was read from where it is kept.
func SecretOf(value string) Secret { return Secret{value: value} }

// Reveal returns the secret itself.
func (s Secret) Reveal() string { return s.value }

// Empty reports whether there is no secret.
func (s Secret) Empty() bool { return s.value == "" }

// String implements fmt.Stringer.
func (Secret) String() string { return hidden }

// GoString implements fmt.GoStringer.
func (Secret) GoString() string { return hidden }

// LogValue implements slog.LogValuer.
func (Secret) LogValue() slog.Value { return slog.StringValue(hidden) }

// MarshalText implements encoding.TextMarshaler.
func (Secret) MarshalText() ([]byte, error) { return []byte(hidden), nil }

// NewTokenSecret makes the bearer of a machine.
func NewTokenSecret() Secret { return newSecret(TokenPrefix) }

// newSecret draws 256 bits. crypto/rand never fails: it ends the process instead.
func newSecret(prefix string) Secret {
	b := make([]byte, secretBytes)
	_, _ = rand.Read(b)
	return Secret{value: prefix + base64.RawURLEncoding.EncodeToString(b)}
}

// wellFormed reports whether bearer is the prefix and 256 bits of strict unpadded
// base64url, so that nothing else ever reaches the store.
func wellFormed(bearer, prefix string) bool {
	body, ok := strings.CutPrefix(bearer, prefix)
	if !ok || len(body) != base64.RawURLEncoding.EncodedLen(secretBytes) {
		return false
	}
	_, err := base64.RawURLEncoding.Strict().DecodeString(body)
	return err == nil
}

// hashOf is how secrets and codes are stored and looked up: the hex SHA-256. The
// look-up compares digests, so its timing says nothing about the secret.
func hashOf(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}
