package redis

import (
	"errors"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/saysohq/sayso/core"
)

// A message is a line that says who speaks, and one line for each hint:
//
//	sayso1 <sender> <sequence> <word>
//	<revision> <deliveries: 0 or 1> <approval id>
//
// The sequence rises by one with each message of a sender, and by more where the
// sender itself had to drop some: whoever sees a gap knows that hints were lost.
type message struct {
	sender string
	seq    uint64
	word   word
	hints  []core.Hint
}

// word says what the message is besides its hints.
type word string

const (
	wordBeat word = "beat" // The sender lives.
	wordBye  word = "bye"  // The sender stops: it is not missed.
)

const (
	protocol   = "sayso1"
	maxMessage = 96 << 10 // Bytes. Longer messages are not ours: maxHints of the longest fit.
	maxHints   = 256      // In one message.
	maxID      = 240      // Bytes of an approval id: 32 of a runtime, a colon, 200 given.
	maxSender  = 32
)

var (
	errMalformed = errors.New("the message is malformed")
	errTooLarge  = errors.New("the message is too large")
	errVersion   = errors.New("the message is of another version")
)

func (m *message) encode() string {
	var b strings.Builder
	b.WriteString(protocol)
	b.WriteByte(' ')
	b.WriteString(m.sender)
	b.WriteByte(' ')
	b.WriteString(strconv.FormatUint(m.seq, 10))
	b.WriteByte(' ')
	b.WriteString(string(m.word))
	for _, h := range m.hints {
		b.WriteByte('\n')
		b.WriteString(strconv.FormatInt(h.Revision, 10))
		if h.Deliveries {
			b.WriteString(" 1 ")
		} else {
			b.WriteString(" 0 ")
		}
		b.WriteString(h.ApprovalID)
	}
	return b.String()
}

// sendable reports whether a hint can be told to others: what is not could be no id
// of an approval, and would make its whole message malformed.
func sendable(h core.Hint) bool { return h.Revision >= 0 && validID(h.ApprovalID) }

func validID(id string) bool {
	return len(id) <= maxID && utf8.ValidString(id) && strings.IndexFunc(id, unicode.IsControl) < 0
}

// decode reads a message that anybody may have written. Errors: errMalformed,
// errTooLarge, errVersion.
func decode(text string) (message, error) {
	if len(text) > maxMessage {
		return message{}, errTooLarge
	}
	head, rest, more := strings.Cut(text, "\n")
	m, err := decodeHead(head)
	if err != nil || !more {
		return m, err
	}
	lines := strings.Count(rest, "\n") + 1
	if lines > maxHints {
		return message{}, errTooLarge
	}
	m.hints = make([]core.Hint, 0, lines)
	for line := range strings.SplitSeq(rest, "\n") {
		h, ok := decodeHint(line)
		if !ok {
			return message{}, errMalformed
		}
		m.hints = append(m.hints, h)
	}
	return m, nil
}

func decodeHead(head string) (message, error) {
	version, rest, _ := strings.Cut(head, " ")
	if version != protocol {
		if n, ours := strings.CutPrefix(version, "sayso"); ours && validNumber(n) {
			return message{}, errVersion
		}
		return message{}, errMalformed
	}
	sender, rest, _ := strings.Cut(rest, " ")
	number, what, _ := strings.Cut(rest, " ")
	seq, err := strconv.ParseUint(number, 10, 64)
	m := message{sender: sender, seq: seq, word: word(what)}
	if err != nil || !validSender(sender) || m.word != wordBeat && m.word != wordBye {
		return message{}, errMalformed
	}
	return m, nil
}

func decodeHint(line string) (core.Hint, bool) {
	number, rest, _ := strings.Cut(line, " ")
	flag, id, whole := strings.Cut(rest, " ")
	revision, err := strconv.ParseInt(number, 10, 64)
	h := core.Hint{ApprovalID: id, Revision: revision, Deliveries: flag == "1"}
	return h, err == nil && whole && (flag == "0" || flag == "1") && sendable(h)
}

// validSender accepts what crypto/rand.Text makes, of any length up to maxSender.
func validSender(s string) bool {
	return s != "" && len(s) <= maxSender && strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") == ""
}

func validNumber(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
