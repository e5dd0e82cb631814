package gateway

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
)

// formSignOut is the purpose of the sign-out button's token; forms that decide use
// the approval's id, which is never empty and has no such form.
const formSignOut = "\x00sign-out"

// Forms signs the hidden tokens of the page's forms: each holds for one session,
// one purpose and one revision of what was shown, so that neither another site nor
// an old tab can post.
type Forms struct {
	key []byte
}

// NewForms builds a signer from a key of at least 32 bytes, the same on every
// replica and used for nothing else.
func NewForms(key []byte) (*Forms, error) {
	if len(key) < sha256.Size {
		return nil, errors.New("form key: must be at least 32 bytes")
	}
	return &Forms{key: append([]byte(nil), key...)}, nil
}

// Sign returns the token of a form.
func (f *Forms) Sign(session, purpose string, revision int64) string {
	return base64.RawURLEncoding.EncodeToString(f.mac(session, purpose, revision))
}

// Verify reports whether the token was made for exactly this form; a form without
// a session has none.
func (f *Forms) Verify(token, session, purpose string, revision int64) bool {
	got, err := base64.RawURLEncoding.Strict().DecodeString(token)
	return err == nil && session != "" && hmac.Equal(got, f.mac(session, purpose, revision))
}

func (f *Forms) mac(session, purpose string, revision int64) []byte {
	h := hmac.New(sha256.New, f.key)
	var n [8]byte
	for _, text := range []string{"sayso form 1", session, purpose} {
		binary.BigEndian.PutUint64(n[:], uint64(len(text)))
		h.Write(n[:])
		h.Write([]byte(text))
	}
	binary.BigEndian.PutUint64(n[:], uint64(revision))
	h.Write(n[:])
	return h.Sum(nil)
}
