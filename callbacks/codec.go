package callbacks

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/saysohq/sayso/core"
)

// The frame of a payload, in bytes. It is the same on every platform, and as
// long as the smallest limit of them all allows (Telegram: 64 bytes of
// callback data), so that nothing ever needs to be cut:
//
//	0   2   prefix and version
//	2   1   id of the key that made the tag
//	3   1   verb
//	4   1   kind
//	5  43   reference
//	48 16   tag
const (
	PayloadLength = 64

	prefix    = "~1" // Ours, version 1. The tilde starts no payload of the usual libraries.
	prefixLen = 1    // The part that says "ours"; the rest is the version.
	keyAt     = 2
	verbAt    = 3
	kindAt    = 4
	refAt     = 5
	tagAt     = refAt + core.RefLength
	tagBytes  = 12 // 96 bits of HMAC-SHA256, 16 characters.
	tagLabel  = "sayso callback tag"
)

// MinSecret is the least length in bytes of a key's secret.
const MinSecret = 32

// Verb is what a button does.
type Verb byte

// The verbs. The letters are part of the wire format and never change meaning.
const (
	VerbAllowOnce   Verb = 'o'
	VerbAllowAlways Verb = 'a'
	VerbDeny        Verb = 'd'
	VerbNote        Verb = 'n' // Deny with a note: opens a prompt.
	VerbShowAll     Verb = 's'
	VerbConfirm     Verb = 'y' // Yes to a prompt.
	VerbDismiss     Verb = 'x' // No to a prompt.
	VerbSeen        Verb = 'c' // Dismisses what may have happened.
	VerbAskAgain    Verb = 'g' // Asks whether to ask again.
	VerbReopen      Verb = 'r' // Lets a declined action be asked again.
)

// firstChoice is the letter of a menu's first choice; the others are the digits after
// it.
const firstChoice = '0'

// Decision is the decision that the verb stands for, DecisionNone for the
// verbs that decide nothing.
func (v Verb) Decision() core.Decision {
	switch v {
	case VerbAllowOnce:
		return core.DecisionAllowOnce
	case VerbAllowAlways:
		return core.DecisionAllowAlways
	case VerbDeny:
		return core.DecisionDeny
	case VerbNote, VerbShowAll, VerbConfirm, VerbDismiss, VerbSeen, VerbAskAgain, VerbReopen:
	}
	return core.DecisionNone
}

// Choice is which choice of a menu the verb is; ok is false for the others.
func (v Verb) Choice() (index int, ok bool) {
	if v < firstChoice || v >= firstChoice+core.MaxChoices {
		return 0, false
	}
	return int(v - firstChoice), true
}

// answersPrompt reports whether the verb belongs to the kind prompt.
func (v Verb) answersPrompt() bool {
	_, chooses := v.Choice()
	return chooses || v == VerbConfirm || v == VerbDismiss
}

func (v Verb) valid() bool {
	switch v {
	case VerbNote, VerbShowAll, VerbSeen, VerbAskAgain, VerbReopen:
		return true
	case VerbAllowOnce, VerbAllowAlways, VerbDeny, VerbConfirm, VerbDismiss:
	}
	return v.Decision() != core.DecisionNone || v.answersPrompt()
}

// KindPrompt is the third kind of the frame: the reference is one of a
// core.Prompt. It is no kind of approval.
const KindPrompt core.Kind = "prompt"

const (
	letterExec   = 'e'
	letterPlugin = 'p'
	letterPrompt = 'q'
)

// Key signs and verifies payloads.
type Key struct {
	ID     string // One character of the base64url alphabet.
	Secret []byte // At least MinSecret random bytes.
}

// Decoded is a payload of this installation. It says that we made the button,
// never who pressed it, and it is no authority.
type Decoded struct {
	Verb  Verb
	Kind  core.Kind // KindPrompt, or the kind of the approval.
	Ref   string    // Resolution ref of the approval, or ref of the prompt.
	KeyID string
}

// Codec makes and reads the payloads of buttons. It is safe for concurrent use
// and never changes.
type Codec struct {
	keys []Key
}

// NewCodec builds a codec. The first key is the newest and signs; all of them
// verify. Errors: ErrKeys for no key, a malformed or repeated id, or a secret
// below MinSecret bytes.
func NewCodec(keys ...Key) (*Codec, error) {
	if len(keys) == 0 {
		return nil, fmt.Errorf("%w: at least one is needed", ErrKeys)
	}
	own := make([]Key, 0, len(keys))
	for _, k := range keys {
		switch {
		case len(k.ID) != 1 || !strings.Contains(alphabet, k.ID):
			return nil, fmt.Errorf("%w: an id must be one character of the base64url alphabet", ErrKeys)
		case len(k.Secret) < MinSecret:
			return nil, fmt.Errorf("%w: a secret must have at least %d bytes", ErrKeys, MinSecret)
		case slices.ContainsFunc(own, func(o Key) bool { return o.ID == k.ID }):
			return nil, fmt.Errorf("%w: an id is used twice", ErrKeys)
		}
		own = append(own, Key{ID: k.ID, Secret: slices.Clone(k.Secret)})
	}
	return &Codec{keys: own}, nil
}

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

// Encode makes the payload of a control on a bot's message, exactly
// PayloadLength bytes, and names the key that signed it. Errors: ErrUnencodable
// for whatever is not a decision, a callback on an approval or an answer to a
// prompt, or lacks a part; nothing is ever cut to fit.
func (c *Codec) Encode(account core.AccountRef, a core.Action) (payload, keyID string, err error) {
	if account.Channel == core.SurfaceNone || account.Account == "" {
		return "", "", fmt.Errorf("%w: no account", ErrUnencodable)
	}
	verb, letter, ref, err := frameOf(a)
	if err != nil {
		return "", "", err
	}
	key := c.keys[0]
	head := prefix + key.ID + string([]byte{byte(verb), letter}) + ref
	payload = head + tag(key.Secret, account, head)
	if len(payload) != PayloadLength {
		return "", "", fmt.Errorf("%w: %d bytes", ErrUnencodable, len(payload))
	}
	return payload, key.ID, nil
}

// frameOf finds the variable parts of an action's payload.
func frameOf(a core.Action) (verb Verb, letter byte, ref string, err error) {
	verb, ok := verbOf(a)
	switch {
	case !ok:
		return 0, 0, "", fmt.Errorf("%w: this action has no callback", ErrUnencodable)
	case verb.answersPrompt():
		if !core.ValidRef(a.PromptRef) || a.ApprovalID != "" {
			return 0, 0, "", fmt.Errorf("%w: an answer to a prompt needs its reference and no approval", ErrUnencodable)
		}
		return verb, letterPrompt, a.PromptRef, nil
	case a.PromptRef != "":
		return 0, 0, "", fmt.Errorf("%w: an action on an approval has no prompt", ErrUnencodable)
	case a.ApprovalID == "" || len(a.ApprovalID) > maxApprovalID:
		return 0, 0, "", fmt.Errorf("%w: the approval's id must have 1 to %d bytes", ErrUnencodable, maxApprovalID)
	}
	switch a.Kind {
	case core.KindExec:
		letter = letterExec
	case core.KindPlugin:
		letter = letterPlugin
	default:
		return 0, 0, "", fmt.Errorf("%w: unknown kind of approval", ErrUnencodable)
	}
	return verb, letter, core.ResolutionRef(a.Kind, a.ApprovalID), nil
}

// maxApprovalID is a runtime's name, a colon and the longest given part.
const maxApprovalID = core.MaxRuntimeName + 1 + core.MaxGivenID

func verbOf(a core.Action) (Verb, bool) {
	switch {
	case a.Type == core.ActionApproval && a.Value == "" && a.Choice == 0:
		return verbOfDecision(a.Decision)
	case a.Type != core.ActionCallback || a.Decision != core.DecisionNone:
		return 0, false
	case a.Value == core.CallbackChoose:
		return firstChoice + Verb(a.Choice&0xF), a.Choice >= 0 && a.Choice < core.MaxChoices
	case a.Choice != 0:
		return 0, false
	}
	return verbOfCallback(a.Value)
}

func verbOfDecision(d core.Decision) (Verb, bool) {
	switch d {
	case core.DecisionAllowOnce:
		return VerbAllowOnce, true
	case core.DecisionAllowAlways:
		return VerbAllowAlways, true
	case core.DecisionDeny:
		return VerbDeny, true
	case core.DecisionNone:
	}
	return 0, false
}

func verbOfCallback(v core.CallbackValue) (Verb, bool) {
	switch v {
	case core.CallbackNote:
		return VerbNote, true
	case core.CallbackShowAll:
		return VerbShowAll, true
	case core.CallbackConfirm:
		return VerbConfirm, true
	case core.CallbackDismiss:
		return VerbDismiss, true
	case core.CallbackDismissOutcome:
		return VerbSeen, true
	case core.CallbackAskAgain:
		return VerbAskAgain, true
	case core.CallbackReopen:
		return VerbReopen, true
	case core.CallbackChoose: // Has a number besides.
	}
	return 0, false
}

// Decode reads a payload that arrived at a bot. The payload is not trusted: any
// bytes of any length. Errors: ErrNotOurs without our prefix; ErrForeign with
// our prefix where anything else is wrong, because then another installation,
// another bot or nobody made it.
func (c *Codec) Decode(account core.AccountRef, payload string) (Decoded, error) {
	if !strings.HasPrefix(payload, prefix[:prefixLen]) {
		return Decoded{}, ErrNotOurs
	}
	if len(payload) != PayloadLength || !strings.HasPrefix(payload, prefix) {
		return Decoded{}, ErrForeign
	}
	d := Decoded{
		Verb:  Verb(payload[verbAt]),
		Ref:   payload[refAt:tagAt],
		KeyID: payload[keyAt:verbAt],
	}
	i := slices.IndexFunc(c.keys, func(k Key) bool { return k.ID == d.KeyID })
	if i < 0 {
		return Decoded{}, ErrForeign
	}
	want := tag(c.keys[i].Secret, account, payload[:tagAt])
	if !hmac.Equal([]byte(want), []byte(payload[tagAt:])) {
		return Decoded{}, ErrForeign
	}
	// Signed by us; the rest is checked all the same, because a key may have been
	// shared with a version that knows other letters.
	switch payload[kindAt] {
	case letterExec:
		d.Kind = core.KindExec
	case letterPlugin:
		d.Kind = core.KindPlugin
	case letterPrompt:
		d.Kind = KindPrompt
	default:
		return Decoded{}, ErrForeign
	}
	if !d.Verb.valid() || d.Verb.answersPrompt() != (d.Kind == KindPrompt) || !core.ValidRef(d.Ref) {
		return Decoded{}, ErrForeign
	}
	return d, nil
}

// tag authenticates the head of a payload for one bot. Every part is framed by
// its length, so that no two different triples feed the same bytes.
func tag(secret []byte, account core.AccountRef, head string) string {
	mac := hmac.New(sha256.New, secret)
	var size [8]byte
	for _, part := range []string{tagLabel, string(account.Channel), account.Account, head} {
		binary.BigEndian.PutUint64(size[:], uint64(len(part)))
		mac.Write(size[:])
		mac.Write([]byte(part))
	}
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil)[:tagBytes])
}
