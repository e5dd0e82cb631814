package gateway

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"strconv"
	"strings"

	"github.com/saysohq/sayso/core"
)

// cursors make the position of a list opaque. A cursor is authenticated together
// with the caller and the filters that it continues, so that a changed, extended
// or borrowed one is refused instead of read in some way (conformance 43).
type cursors struct {
	key []byte
}

// cursorTag is the length of a cursor's MAC in bytes, and cursorTime that of its time.
const (
	cursorTag  = 16
	cursorTime = 8
)

// newCursors derives its key from the views', under a label of its own.
func newCursors(v *Views) *cursors {
	h := hmac.New(sha256.New, v.key)
	h.Write([]byte("sayso cursor 1"))
	return &cursors{key: h.Sum(nil)}
}

func (c *cursors) encode(at core.ListCursor, scope string) string {
	raw := binary.BigEndian.AppendUint64(nil, uint64(at.CreatedAt))
	raw = append(raw, at.ID...)
	return base64.RawURLEncoding.EncodeToString(append(raw, c.tag(raw, scope)...))
}

func (c *cursors) decode(s, scope string) (*core.ListCursor, error) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(s)
	if err != nil || len(b) <= cursorTime+cursorTag || strings.ContainsAny(s, "\r\n") {
		return nil, errCursor()
	}
	raw, tag := b[:len(b)-cursorTag], b[len(b)-cursorTag:]
	if !hmac.Equal(tag, c.tag(raw, scope)) {
		return nil, errCursor()
	}
	return &core.ListCursor{
		CreatedAt: core.Millis(binary.BigEndian.Uint64(raw)),
		ID:        string(raw[cursorTime:]),
	}, nil
}

func (c *cursors) tag(raw []byte, scope string) []byte {
	h := hmac.New(sha256.New, c.key)
	h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(raw))))
	h.Write(raw)
	h.Write([]byte(scope))
	return h.Sum(nil)[:cursorTag]
}

func errCursor() error {
	return core.Invalid("query.cursor", "must be the cursor of the page before, with the same filters")
}

// scopeOf is what a cursor holds for.
func scopeOf(c core.Caller, q core.ListQuery) string {
	who := "operator"
	switch {
	case c.Token != nil:
		who = "runtime " + c.Token.Runtime
	case c.Person != nil:
		who = "person " + c.Person.ID
	}
	// The separator cannot stand in any part: control characters were refused.
	return strings.Join([]string{who, string(q.Status), string(q.Origin), strconv.FormatInt(int64(q.Within), 10), q.Agent, q.Session, q.Run}, "\x00")
}
