package gateway

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strings"
)

// MinViewKey is the shortest key of a Views, in bytes: the size of the digest.
const MinViewKey = sha256.Size

// The two kinds of view. The letter travels in the token so that the one who
// verifies learns which it was; the MAC covers it.
const (
	viewComplete = "c."
	viewPartial  = "p."
)

// Views signs what a person's session was shown of an action: the page and the
// API client that fetched the whole detail get a token, and a later allow of a
// cut projection must present it (K29). The token proves a view, never a right:
// who may decide is checked by the service.
//
// A token holds for one approval, one card revision, one action hash and one
// session. It has no life of its own: it ends with any of these four.
type Views struct {
	key []byte
}

// NewViews builds a signer. The key must be the same on every replica and at
// least MinViewKey bytes long; it must be used for nothing else.
func NewViews(key []byte) (*Views, error) {
	if len(key) < MinViewKey {
		return nil, fmt.Errorf("view key: must be at least %d bytes", MinViewKey)
	}
	return &Views{key: append([]byte(nil), key...)}, nil
}

// Sign returns the token of a view. The revision is the approval's card revision;
// complete says that the whole redacted action was shown, and false that only the
// kept 64 KiB were.
func (v *Views) Sign(approvalID string, revision int64, actionHash, session string, complete bool) string {
	kind := viewPartial
	if complete {
		kind = viewComplete
	}
	return kind + base64.RawURLEncoding.EncodeToString(v.mac(kind, approvalID, revision, actionHash, session))
}

// Verify reports whether the token was signed for exactly this view, and whether
// that view was complete. complete is never true when ok is false.
func (v *Views) Verify(token, approvalID string, revision int64, actionHash, session string) (complete, ok bool) {
	for _, kind := range []string{viewComplete, viewPartial} {
		tag, found := strings.CutPrefix(token, kind)
		if !found {
			continue
		}
		got, err := base64.RawURLEncoding.Strict().DecodeString(tag)
		if err != nil || !hmac.Equal(got, v.mac(kind, approvalID, revision, actionHash, session)) {
			return false, false
		}
		return kind == viewComplete, true
	}
	return false, false
}

// mac authenticates every part with its length before it, so that no two views
// share the same input.
func (v *Views) mac(kind, approvalID string, revision int64, actionHash, session string) []byte {
	h := hmac.New(sha256.New, v.key)
	var number [8]byte
	for _, part := range []string{"sayso view 1", kind, approvalID, actionHash, session} {
		binary.BigEndian.PutUint64(number[:], uint64(len(part)))
		h.Write(number[:])
		h.Write([]byte(part))
	}
	binary.BigEndian.PutUint64(number[:], uint64(revision))
	h.Write(number[:])
	return h.Sum(nil)
}
