package callbacks_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/saysohq/sayso/callbacks"
	"github.com/saysohq/sayso/core"
)

const someID = "0193a6f0-0000-7000-8000-000000000001"

var (
	bot      = core.AccountRef{Channel: core.SurfaceTelegram, Account: "100200300"}
	otherBot = core.AccountRef{Channel: core.SurfaceTelegram, Account: "100200301"}
)

func secret(b byte) []byte { return bytes.Repeat([]byte{b}, callbacks.MinSecret) }

func newCodec(t *testing.T, keys ...callbacks.Key) *callbacks.Codec {
	t.Helper()
	if len(keys) == 0 {
		keys = []callbacks.Key{{ID: "K", Secret: secret(1)}}
	}
	c, err := callbacks.NewCodec(keys...)
	require.NoError(t, err)
	return c
}

func decision(d core.Decision, k core.Kind, id string) core.Action {
	return core.Action{Type: core.ActionApproval, Label: "x", ApprovalID: id, Kind: k, Decision: d}
}

func callback(v core.CallbackValue, k core.Kind, id string) core.Action {
	return core.Action{Type: core.ActionCallback, Label: "x", ApprovalID: id, Kind: k, Value: v}
}

func choice(n int, ref string) core.Action {
	return core.Action{Type: core.ActionCallback, Label: "x", Value: core.CallbackChoose, PromptRef: ref, Choice: n}
}

func answer(v core.CallbackValue, ref string) core.Action {
	return core.Action{Type: core.ActionCallback, Label: "x", Value: v, PromptRef: ref}
}

// sign is the frame written a second time, so that a change of the wire format
// shows: 48 bytes of head, then 96 bits of HMAC-SHA256 in base64url.
func sign(key []byte, account core.AccountRef, head string) string {
	mac := hmac.New(sha256.New, key)
	for _, part := range []string{"sayso callback tag", string(account.Channel), account.Account, head} {
		_ = binary.Write(mac, binary.BigEndian, uint64(len(part)))
		mac.Write([]byte(part))
	}
	return head + base64.RawURLEncoding.EncodeToString(mac.Sum(nil)[:12])
}

// Conformance 90: all verbs of all kinds come back as they went.
func TestEveryButtonComesBack(t *testing.T) {
	t.Parallel()
	c := newCodec(t)
	promptRef := core.ResolutionRef(callbacks.KindPrompt, "p1")
	type button struct {
		action core.Action
		letter string
		want   callbacks.Decoded
	}
	buttons := []button{
		{answer(core.CallbackConfirm, promptRef), "yq", callbacks.Decoded{Verb: callbacks.VerbConfirm, Kind: callbacks.KindPrompt, Ref: promptRef, KeyID: "K"}},
		{answer(core.CallbackDismiss, promptRef), "xq", callbacks.Decoded{Verb: callbacks.VerbDismiss, Kind: callbacks.KindPrompt, Ref: promptRef, KeyID: "K"}},
	}
	for n := range core.MaxChoices {
		verb := callbacks.Verb('0' + byte(n))
		index, ok := verb.Choice()
		require.True(t, ok)
		require.Equal(t, n, index)
		buttons = append(buttons, button{choice(n, promptRef), string(verb) + "q", callbacks.Decoded{Verb: verb, Kind: callbacks.KindPrompt, Ref: promptRef, KeyID: "K"}})
	}
	for kind, letter := range map[core.Kind]string{core.KindExec: "e", core.KindPlugin: "p"} {
		ref := core.ResolutionRef(kind, someID)
		for verb, action := range map[callbacks.Verb]core.Action{
			callbacks.VerbAllowOnce:   decision(core.DecisionAllowOnce, kind, someID),
			callbacks.VerbAllowAlways: decision(core.DecisionAllowAlways, kind, someID),
			callbacks.VerbDeny:        decision(core.DecisionDeny, kind, someID),
			callbacks.VerbNote:        callback(core.CallbackNote, kind, someID),
			callbacks.VerbShowAll:     callback(core.CallbackShowAll, kind, someID),
			callbacks.VerbSeen:        callback(core.CallbackDismissOutcome, kind, someID),
			callbacks.VerbAskAgain:    callback(core.CallbackAskAgain, kind, someID),
			callbacks.VerbReopen:      callback(core.CallbackReopen, kind, someID),
		} {
			require.Equal(t, action.Decision, verb.Decision())
			_, chooses := verb.Choice()
			require.False(t, chooses)
			buttons = append(buttons, button{action, string(verb) + letter, callbacks.Decoded{Verb: verb, Kind: kind, Ref: ref, KeyID: "K"}})
		}
	}
	for _, b := range buttons {
		payload, keyID, err := c.Encode(bot, b.action)
		require.NoError(t, err)
		require.Equal(t, "K", keyID)
		require.Len(t, payload, 64)
		require.Equal(t, sign(secret(1), bot, "~1K"+b.letter+b.want.Ref), payload, "the wire format has changed")
		got, err := c.Decode(bot, payload)
		require.NoError(t, err)
		require.Empty(t, cmp.Diff(b.want, got))
	}
}

// Conformance 10, 81-83: whatever id the service accepts, the payload has 64 bytes
// and leads to that approval and no other.
func TestAnyAcceptedIDMakesAPayload(t *testing.T) {
	t.Parallel()
	c := newCodec(t)
	rapid.Check(t, func(t *rapid.T) {
		given := rapid.String().Filter(func(s string) bool {
			_, err := core.GivenID("r", s)
			return err == nil
		}).Draw(t, "given")
		id, err := core.GivenID(rapid.StringMatching(`[a-z0-9][a-z0-9-]{0,31}`).Draw(t, "runtime"), given)
		require.NoError(t, err)
		kind := rapid.SampledFrom([]core.Kind{core.KindExec, core.KindPlugin}).Draw(t, "kind")
		d := rapid.SampledFrom([]core.Decision{core.DecisionAllowOnce, core.DecisionAllowAlways, core.DecisionDeny}).Draw(t, "decision")
		payload, _, err := c.Encode(bot, decision(d, kind, id))
		require.NoError(t, err)
		require.Len(t, payload, callbacks.PayloadLength)
		got, err := c.Decode(bot, payload)
		require.NoError(t, err)
		require.Equal(t, core.ResolutionRef(kind, id), got.Ref)
		require.Equal(t, kind, got.Kind)
		require.Equal(t, d, got.Verb.Decision())
	})
}

func TestLongestIDFits(t *testing.T) {
	t.Parallel()
	c := newCodec(t)
	longest := strings.Repeat("r", core.MaxRuntimeName) + ":" + strings.Repeat("😀", core.MaxGivenID/4)
	require.Len(t, longest, 233)
	payload, _, err := c.Encode(bot, decision(core.DecisionDeny, core.KindExec, longest))
	require.NoError(t, err)
	require.Len(t, payload, 64)
	_, _, err = c.Encode(bot, decision(core.DecisionDeny, core.KindExec, longest+"x"))
	require.ErrorIs(t, err, callbacks.ErrUnencodable)
}

// Conformance 84: what no payload can carry is refused when the card is built.
func TestEncodeRefuses(t *testing.T) {
	t.Parallel()
	c := newCodec(t)
	ref := core.ResolutionRef(callbacks.KindPrompt, "p1")
	both := answer(core.CallbackConfirm, ref)
	both.ApprovalID = someID
	prompted := decision(core.DecisionDeny, core.KindExec, someID)
	prompted.PromptRef = ref
	mixed := decision(core.DecisionDeny, core.KindExec, someID)
	mixed.Value = core.CallbackNote
	odd := callback(core.CallbackNote, core.KindExec, someID)
	odd.Decision = core.DecisionAllowOnce
	counted := callback(core.CallbackReopen, core.KindExec, someID)
	counted.Choice = 1
	numbered := decision(core.DecisionDeny, core.KindExec, someID)
	numbered.Choice = 1
	chosen := choice(1, "")
	chosen.ApprovalID, chosen.Kind = someID, core.KindExec
	for name, a := range map[string]core.Action{
		"negative choice":             choice(-1, ref),
		"choice beyond the last":      choice(core.MaxChoices, ref),
		"choice 256":                  choice(256, ref),
		"choice without a menu":       choice(0, ""),
		"choice on an approval":       chosen,
		"callback with a choice":      counted,
		"decision with a choice":      numbered,
		"outcome on a prompt":         answer(core.CallbackDismissOutcome, ref),
		"url":                         {Type: core.ActionURL, URL: "https://x.example"},
		"command":                     {Type: core.ActionCommand, Command: "/deny"},
		"web app":                     {Type: core.ActionWebApp, URL: "https://x.example"},
		"no type":                     {ApprovalID: someID, Kind: core.KindExec, Decision: core.DecisionDeny},
		"no decision":                 decision(core.DecisionNone, core.KindExec, someID),
		"unknown decision":            decision("maybe", core.KindExec, someID),
		"unknown callback":            callback("dance", core.KindExec, someID),
		"no id":                       decision(core.DecisionDeny, core.KindExec, ""),
		"no kind":                     decision(core.DecisionDeny, "", someID),
		"kind prompt on an approval":  decision(core.DecisionDeny, callbacks.KindPrompt, someID),
		"confirm without a prompt":    answer(core.CallbackConfirm, ""),
		"confirm with a short ref":    answer(core.CallbackConfirm, ref[1:]),
		"confirm on an approval":      both,
		"decision on a prompt":        prompted,
		"decision that is a callback": mixed,
		"callback that is a decision": odd,
	} {
		payload, keyID, err := c.Encode(bot, a)
		require.ErrorIs(t, err, callbacks.ErrUnencodable, name)
		require.Empty(t, payload+keyID, name)
	}
	for _, account := range []core.AccountRef{{}, {Channel: core.SurfaceSlack}, {Account: "1"}} {
		_, _, err := c.Encode(account, decision(core.DecisionDeny, core.KindExec, someID))
		require.ErrorIs(t, err, callbacks.ErrUnencodable)
	}
}

// Conformance 84, 85, 89: a payload that we did not make for this bot is foreign,
// whatever is wrong with it; what has no prefix of ours is not our business.
func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	key := secret(1)
	c := newCodec(t)
	ref := core.ResolutionRef(core.KindExec, someID)
	good := sign(key, bot, "~1Koe"+ref)
	_, err := c.Decode(bot, good)
	require.NoError(t, err)

	looseRef := ref[:42] + "B" // The same 32 bytes with spare bits set.
	if ref[42] == 'B' {
		looseRef = ref[:42] + "C"
	}
	for name, payload := range map[string]string{
		"only the prefix":      "~",
		"one byte short":       good[:63],
		"one byte long":        good + "A",
		"twice":                good + good,
		"another version":      sign(key, bot, "~2Koe"+ref),
		"unknown key":          sign(key, bot, "~1Zoe"+ref),
		"another secret":       sign(secret(2), bot, "~1Koe"+ref),
		"another bot":          sign(key, otherBot, "~1Koe"+ref),
		"another channel":      sign(key, core.AccountRef{Channel: core.SurfaceDiscord, Account: bot.Account}, "~1Koe"+ref),
		"shifted frame":        sign(key, core.AccountRef{Channel: bot.Channel + "1", Account: bot.Account[1:]}, "~1Koe"+ref),
		"unknown verb":         sign(key, bot, "~1Kze"+ref),
		"unknown kind":         sign(key, bot, "~1Koz"+ref),
		"decision on a prompt": sign(key, bot, "~1Koq"+ref),
		"confirm on a command": sign(key, bot, "~1Kye"+ref),
		"choice on a command":  sign(key, bot, "~1K0e"+ref),
		"choice out of range":  sign(key, bot, "~1K:q"+ref),
		"reopen of a prompt":   sign(key, bot, "~1Krq"+ref),
		"loose reference":      sign(key, bot, "~1Koe"+looseRef),
		"no reference":         sign(key, bot, "~1Koe"+strings.Repeat("=", 43)),
		"changed verb":         strings.Replace(good, "~1Koe", "~1Kae", 1),
		"changed kind":         strings.Replace(good, "~1Koe", "~1Kop", 1),
		"changed reference":    good[:10] + flip(good[10]) + good[11:],
		"changed tag":          good[:63] + flip(good[63]),
		"no tag":               good[:48] + strings.Repeat("A", 16),
		"multi-byte":           "~1" + strings.Repeat("😀", 15) + "ab",
		"not UTF-8":            "~1" + strings.Repeat("\xff", 62),
	} {
		got, err := c.Decode(bot, payload)
		require.ErrorIs(t, err, callbacks.ErrForeign, name)
		require.Empty(t, cmp.Diff(callbacks.Decoded{}, got), name)
		require.NotContains(t, err.Error(), ref, name)
	}
	for name, payload := range map[string]string{
		"empty": "", "another product's": "approve:" + someID, "shifted": " " + good, "long": strings.Repeat("x", 1<<20),
	} {
		_, err := c.Decode(bot, payload)
		require.ErrorIs(t, err, callbacks.ErrNotOurs, name)
	}
}

func flip(b byte) string {
	if b == 'A' {
		return "Q"
	}
	return "A"
}

// The newest key signs, all verify, and a key that is gone verifies nothing.
func TestKeysRotate(t *testing.T) {
	t.Parallel()
	older, newer := callbacks.Key{ID: "-", Secret: secret(1)}, callbacks.Key{ID: "_", Secret: secret(2)}
	before, both, after := newCodec(t, older), newCodec(t, newer, older), newCodec(t, newer)
	action := decision(core.DecisionAllowOnce, core.KindPlugin, someID)

	old, keyID, err := before.Encode(bot, action)
	require.NoError(t, err)
	require.Equal(t, "-", keyID)
	fresh, keyID, err := both.Encode(bot, action)
	require.NoError(t, err)
	require.Equal(t, "_", keyID)

	for _, payload := range []string{old, fresh} {
		_, err := both.Decode(bot, payload)
		require.NoError(t, err)
	}
	_, err = after.Decode(bot, old)
	require.ErrorIs(t, err, callbacks.ErrForeign)
	_, err = before.Decode(bot, fresh)
	require.ErrorIs(t, err, callbacks.ErrForeign)
}

func TestKeysAreChecked(t *testing.T) {
	t.Parallel()
	good := callbacks.Key{ID: "A", Secret: secret(1)}
	for name, keys := range map[string][]callbacks.Key{
		"none":         {},
		"no id":        {{Secret: secret(1)}},
		"long id":      {{ID: "AB", Secret: secret(1)}},
		"odd id":       {{ID: "=", Secret: secret(1)}},
		"short secret": {{ID: "A", Secret: secret(1)[1:]}},
		"id twice":     {good, good},
	} {
		_, err := callbacks.NewCodec(keys...)
		require.ErrorIs(t, err, callbacks.ErrKeys, name)
	}
	mine := secret(7)
	c := newCodec(t, callbacks.Key{ID: "A", Secret: mine})
	want, _, err := c.Encode(bot, decision(core.DecisionDeny, core.KindExec, someID))
	require.NoError(t, err)
	clear(mine)
	got, _, err := c.Encode(bot, decision(core.DecisionDeny, core.KindExec, someID))
	require.NoError(t, err)
	require.Equal(t, want, got, "the codec keeps a copy of its secrets")
}

// drawAction draws any action, most of which no payload can carry.
func drawAction(t *rapid.T) core.Action {
	text := func(label string, likely ...string) string {
		return rapid.OneOf(rapid.SampledFrom(likely), rapid.StringN(0, 3, -1)).Draw(t, label)
	}
	return core.Action{
		Type:       core.ActionType(text("type", "approval", "callback", "url", "command", "web-app")),
		Label:      text("label", "x"),
		ApprovalID: text("id", "", someID),
		Kind:       core.Kind(text("kind", "", "exec", "plugin", "prompt")),
		Decision:   core.Decision(text("decision", "", "allow-once", "allow-always", "deny")),
		Value: core.CallbackValue(text("value", "", "note", "show-all", "confirm", "dismiss", "choose",
			"dismiss-outcome", "ask-again", "reopen")),
		PromptRef: text("prompt", "", core.ResolutionRef(callbacks.KindPrompt, "p1")),
		Choice:    rapid.OneOf(rapid.Just(0), rapid.IntRange(-1, core.MaxChoices), rapid.Int()).Draw(t, "choice"),
	}
}

// R184: whatever an action holds, it is refused, or its payload has 64 bytes and says
// the same when it comes back.
func TestAnyActionComesBackOrIsRefused(t *testing.T) {
	t.Parallel()
	c := newCodec(t)
	rapid.Check(t, func(t *rapid.T) {
		a := drawAction(t)
		payload, _, err := c.Encode(bot, a)
		if err != nil {
			require.ErrorIs(t, err, callbacks.ErrUnencodable)
			require.Empty(t, payload)
			return
		}
		require.Len(t, payload, callbacks.PayloadLength)
		got, err := c.Decode(bot, payload)
		require.NoError(t, err)
		require.Equal(t, a.Decision, got.Verb.Decision())
		n, chooses := got.Verb.Choice()
		require.Equal(t, a.Value == core.CallbackChoose, chooses)
		require.Equal(t, a.Choice, n)
		if got.Kind == callbacks.KindPrompt {
			require.Equal(t, a.PromptRef, got.Ref)
			require.Contains(t, []core.CallbackValue{core.CallbackConfirm, core.CallbackDismiss, core.CallbackChoose}, a.Value)
			return
		}
		require.Equal(t, a.Kind, got.Kind)
		require.Equal(t, core.ResolutionRef(a.Kind, a.ApprovalID), got.Ref)
	})
}

// FuzzDecode: no input panics, and only what Encode makes is accepted.
func FuzzDecode(f *testing.F) {
	c, err := callbacks.NewCodec(callbacks.Key{ID: "K", Secret: secret(1)})
	if err != nil {
		f.Fatal(err)
	}
	good, _, err := c.Encode(bot, decision(core.DecisionAllowOnce, core.KindExec, someID))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add(good[:63])
	f.Add("~1" + strings.Repeat("\x00", 62))
	f.Add("")
	f.Fuzz(func(t *testing.T, payload string) {
		d, err := c.Decode(bot, payload)
		if err != nil {
			require.Equal(t, strings.HasPrefix(payload, "~"), errors.Is(err, callbacks.ErrForeign))
			return
		}
		require.Len(t, payload, callbacks.PayloadLength)
		require.Equal(t, sign(secret(1), bot, payload[:48]), payload)
		require.True(t, core.ValidRef(d.Ref))
	})
}
