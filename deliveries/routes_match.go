package deliveries

import (
	"slices"
	"strings"
	"time"

	"github.com/saysohq/sayso/core"
)

// Rule is one line of the routing table: what it is about, and where cards go.
// It says who is told, never who may decide.
type Rule struct {
	Name  string // For logs; content-free.
	Match Match
	To    Targets
	// Fallback tells the approvers directly as soon as one of the rule's chats
	// cannot be used: it is broken, or the request names no origin that is allowed
	// (conformance 103).
	Fallback bool
	// Order tells each person in one of their chats after the other, beginning with
	// the first channel listed in which they have one that works; channels that are
	// not listed come last. Nil tells them in all of their chats at once.
	Order []core.Surface
	// EscalateAfter is how long, with Order, a person's next chat waits for an
	// answer. It comes at once when the one before it fails for good.
	EscalateAfter time.Duration
}

// Targets are the places of a rule. None at all is the page alone.
type Targets struct {
	Approvers bool   // The direct chats of those who may decide.
	Listed    bool   // The chats listed at every account.
	Origin    bool   // The chat that the request says it came from, where its account allows it.
	Chats     []Chat // By name, in order.
}

// Chat is a shared chat of one account.
type Chat struct {
	Ref     core.AccountRef
	Address string // Private to the channel.
}

// DefaultRule is what holds where no rule of the table matches: everybody who may
// decide is told in every direct chat, and so are the chats listed at the accounts.
func DefaultRule() Rule {
	return Rule{Name: "default", To: Targets{Approvers: true, Listed: true}}
}

// pageOnly reports a rule that sends no cards.
func (r *Rule) pageOnly() bool {
	return !r.To.Approvers && !r.To.Listed && !r.To.Origin && len(r.To.Chats) == 0
}

// Match picks requests. Every list that is given must have a member that fits; nil
// fits everything, an empty list nothing. Runtimes, agents and sessions are
// patterns as Glob reads them.
type Match struct {
	Classes  []core.Class
	Kinds    []core.Kind
	Runtimes []string // Authenticated: a machine cannot choose it.
	Agents   []string // As the machine says; "" fits only a pattern of stars.
	Sessions []string // Session keys, as the machine says.
}

// Fits reports whether the request is one that the rule is about.
func (m *Match) Fits(a *core.Approval) bool {
	return has(m.Classes, a.Class) && has(m.Kinds, a.Kind) &&
		fits(m.Runtimes, a.Runtime) && fits(m.Agents, a.Agent) && fits(m.Sessions, a.SessionKey)
}

func has[T comparable](list []T, value T) bool { return list == nil || slices.Contains(list, value) }

func fits(patterns []string, value string) bool {
	return patterns == nil || slices.ContainsFunc(patterns, func(p string) bool { return Glob(p, value) })
}

// Covers reports whether everything that o fits surely fits m too, so that a rule
// with o behind one with m never has its turn. It knows single patterns, not what
// several of them cover together.
func (m *Match) Covers(o *Match) bool {
	classes := []core.Class{core.ClassRead, core.ClassWrite, core.ClassSend, core.ClassMoney}
	kinds := []core.Kind{core.KindExec, core.KindPlugin}
	return covers(m.Classes, o.Classes, classes) && covers(m.Kinds, o.Kinds, kinds) &&
		coversPatterns(m.Runtimes, o.Runtimes) && coversPatterns(m.Agents, o.Agents) && coversPatterns(m.Sessions, o.Sessions)
}

func covers[T comparable](list, other, all []T) bool {
	if other == nil {
		other = all
	}
	return list == nil || !slices.ContainsFunc(other, func(v T) bool { return !slices.Contains(list, v) })
}

// coversPatterns reads the other's patterns as plain text: a star of theirs can
// only be met by a star of ours, which then meets all that theirs stands for.
func coversPatterns(patterns, other []string) bool {
	if other == nil {
		other = []string{"*"}
	}
	return !slices.ContainsFunc(other, func(p string) bool { return !fits(patterns, p) })
}

// Glob reports whether s is what the pattern says: a star stands for any text, the
// empty one too; every other character for itself, letter case included. It takes
// time in proportion to len(pattern) * len(s) at most.
func Glob(pattern, s string) bool {
	head, rest, star := strings.Cut(pattern, "*")
	if !star {
		return pattern == s
	}
	s, ok := strings.CutPrefix(s, head)
	if !ok {
		return false
	}
	parts := strings.Split(rest, "*")
	last := parts[len(parts)-1]
	for _, part := range parts[:len(parts)-1] { // The leftmost place of each leaves the most for the others.
		i := strings.Index(s, part)
		if i < 0 {
			return false
		}
		s = s[i+len(part):]
	}
	return strings.HasSuffix(s, last)
}
