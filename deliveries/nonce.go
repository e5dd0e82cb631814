package deliveries

import (
	"crypto/sha256"
	"encoding/base64"
	"strconv"

	"github.com/saysohq/sayso/core"
)

// nonceBytes of the digest make 24 characters; the shortest limit of a platform is
// 25.
const nonceBytes = 18

// nonce names one message that a row posts: a repetition after a lost answer has the
// same, so that a platform which remembers makes no second message. What is meant to
// be another message has another: one that an admin asked for again, the follow-up
// (of each card revision, named by more), a move to another chat, and the message that takes the place of one that exists no
// more (a message's repetitions still find the old locator in the row). The address is
// the resolved one: the row learns it only when the first send begins.
func nonce(d *core.Delivery, address string, more ...string) string {
	h := sha256.New()
	parts := []string{d.ID, strconv.FormatInt(d.Generation, 10), string(d.Step), d.Locator, address}
	for _, part := range append(parts, more...) {
		h.Write([]byte(strconv.Itoa(len(part)) + ":" + part))
	}
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:nonceBytes])
}
