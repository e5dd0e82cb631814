package policy

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"slices"
	"strings"

	"github.com/saysohq/sayso/core"
)

// maxOfferLabel bounds the label of an offer, in bytes. What does not fit is not
// offered: a card that cuts it could not name what the rule covers (R72).
const maxOfferLabel = 120

// maxMembers bounds the top-level arguments of a command that an exact rule covers.
const maxMembers = 64

// target is one rule that would cover a call.
type target struct {
	scope     Scope
	operation string
	value     string
}

// aims are the rules that would cover a call, from narrow to wide.
type aims struct {
	all   [4]target
	n     int
	known bool
}

func (a *aims) add(t target) {
	a.all[a.n] = t
	a.n++
}

// targets works the aims out once. The same list serves to look rules up and to
// offer one, so that an accepted offer matches the same call again.
func (j *judgement) targets() []target {
	if !j.aims.known {
		j.aims.known = true
		j.aim(&j.aims)
	}
	return j.aims.all[:j.aims.n]
}

func (j *judgement) aim(a *aims) {
	if j.interpreter != nil { // One exact command, and nothing wider (R70).
		if hash, ok := j.exact(); ok {
			a.add(target{ScopeOperation, hash, hash})
		}
		return
	}
	operation, sure := j.ruleOperation()
	if j.entry != nil && sure {
		for i := range j.entry.scopes {
			s := &j.entry.scopes[i]
			if s.scope != ScopeRecipient && s.scope != ScopeHost {
				continue
			}
			if value, present := j.only(s); present {
				if value != "" {
					a.add(target{s.scope, operation, value})
				}
				break
			}
		}
		if operation != "" {
			a.add(target{ScopeOperation, operation, operation})
		}
	}
	a.add(target{scope: ScopeTool})
}

// ruleOperation is the operation as rules know it: the one value of the mapped field.
// Where the tables judge the tool as a whole, a request's own word for its operation
// counts for nothing.
func (j *judgement) ruleOperation() (operation string, sure bool) {
	if j.entry == nil || j.entry.by == nil {
		return "", true
	}
	return j.operation, j.single
}

// only is the one recipient or host that the call reaches; present reports whether
// it reaches any. Several, and one that cannot be normalised, give "".
func (j *judgement) only(s *alwaysScope) (value string, present bool) {
	one := true
	for _, path := range s.paths {
		if len(j.document) == 0 {
			return "", true
		}
		var l leaves
		j.document.collect(path, &l)
		if l.unsure {
			return "", true
		}
		for _, v := range l.all() {
			for part := range parts(string(v.text), s) {
				present = true
				normal, ok := NormalHost(part)
				if s.scope == ScopeRecipient {
					normal, ok = NormalRecipient(part, s.form)
				}
				if !ok || value != "" && value != normal {
					one = false
				}
				value = normal
			}
		}
	}
	if !one {
		return "", present
	}
	return value, present
}

// parts splits a text that holds several addresses, as many mail tools allow.
func parts(s string, scope *alwaysScope) func(yield func(string) bool) {
	if scope.scope == ScopeRecipient && scope.form == FormEmail && !strings.Contains(s, `"`) {
		return func(yield func(string) bool) {
			for part := range strings.FieldsFuncSeq(s, func(r rune) bool { return r == ',' || r == ';' }) {
				if strings.TrimSpace(part) != "" && !yield(part) {
					return
				}
			}
		}
	}
	return func(yield func(string) bool) { yield(s) }
}

// exact is the hash of a command with everything that it depends on: all its
// top-level arguments but those that only comment. Without a folder there is none,
// for then the card could not say where the command would run.
func (j *judgement) exact() (string, bool) {
	if len(j.document) == 0 || j.document[0] != '{' || !j.placed() {
		return "", false
	}
	type member struct{ name, value []byte }
	members := make([]member, 0, 8)
	for it := (iterator{rest: j.document[1:]}); it.member(); {
		if slices.ContainsFunc(members, func(m member) bool { return bytes.EqualFold(m.name, it.name) }) || len(members) == maxMembers {
			return "", false
		}
		if !slices.Contains(j.interpreter.ignore, string(it.name)) {
			members = append(members, member{it.name, it.value})
		}
	}
	slices.SortFunc(members, func(a, b member) int { return bytes.Compare(a.name, b.name) })
	var all bytes.Buffer
	for _, m := range members {
		var value bytes.Buffer
		if err := json.Compact(&value, m.value); err != nil {
			return "", false
		}
		for _, part := range [][]byte{m.name, value.Bytes()} { // With lengths: no two commands run together.
			all.Write(binary.AppendUvarint(nil, uint64(len(part))))
			all.Write(part)
		}
	}
	return core.HashOf(all.Bytes()), true
}

// placed reports whether the command says where it would run, in one folder that
// does not depend on another.
func (j *judgement) placed() bool {
	found := 0
	for _, path := range j.interpreter.folder {
		var l leaves
		j.document.collect(path, &l)
		if l.unsure {
			return false
		}
		for _, v := range l.all() {
			if len(v.text) == 0 {
				continue
			}
			if found++; !v.quoted || !absolute(v.text) {
				return false
			}
		}
	}
	return found == 1
}

// absolute reports whether a path means the same wherever one stands.
func absolute(path []byte) bool {
	letter := len(path) > 2 && path[1] == ':' && (path[2] == '\\' || path[2] == '/')
	return path[0] == '/' || letter || bytes.HasPrefix(path, []byte(`\\`))
}

// offer is the rule that "always allow" on the card would make, or why there is none.
func (j *judgement) offer(r *Request) (*core.AlwaysOffer, string) {
	switch {
	case j.class == core.ClassMoney:
		return nil, "money is allowed always only by a switch in the list"
	case r.Continuation == core.ContinuationDraft:
		return nil, "no turn waits for a draft"
	case j.interpreter == nil && !j.listed:
		return nil, "no table lists the tool, so a card cannot say what a rule would cover"
	case j.entry == nil && !identifier(j.name.full):
		return nil, "the tool's name is a text of the caller's that a rule must not hold"
	case j.entry != nil && j.entry.given && len(j.entry.scopes) == 0:
		return nil, "the table offers no rules for this tool"
	}
	for _, t := range j.targets() {
		if !j.mayOffer(t.scope) {
			continue
		}
		label := j.label(t)
		if len(label) > maxOfferLabel {
			return nil, "the card could not name all that the rule would cover"
		}
		return &core.AlwaysOffer{Label: label, Scope: string(t.scope), Value: t.value, Tool: j.name.full, Operation: t.operation}, ""
	}
	return nil, "the card could not name all that a rule would cover"
}

// identifier reports whether a name that no table vouches for is plain enough to be
// kept as it is: of a command's tool nothing but its rule's key is made of it.
func identifier(name string) bool {
	const longest = 64
	return name != "" && len(name) <= longest && !strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("_.:/-", r)
	})
}

// mayOffer reports whether the table lets rules of this scope be offered for the
// call. What reaches people or hosts, and says in which fields, is offered for the
// one that it reaches or not at all.
func (j *judgement) mayOffer(s Scope) bool {
	switch {
	case j.interpreter != nil:
		return s == ScopeOperation
	case j.entry == nil:
		return false
	case !j.entry.given:
		if j.entry.by != nil {
			return s == ScopeOperation
		}
		return s == ScopeTool
	}
	aimed := slices.ContainsFunc(j.entry.scopes, func(a alwaysScope) bool { return a.scope == ScopeRecipient || a.scope == ScopeHost })
	if aimed && rank(j.class) >= rank(core.ClassSend) && (s == ScopeOperation || s == ScopeTool) {
		return false
	}
	return slices.ContainsFunc(j.entry.scopes, func(a alwaysScope) bool { return a.scope == s })
}

// label names what the rule covers, in words of the tables and in normalised values
// only: nothing of it is a text that the caller made up.
func (j *judgement) label(t target) string {
	if j.interpreter != nil {
		return "exactly this command in this folder"
	}
	what := j.entry.label
	if what == "" {
		what = j.entry.name
	}
	switch t.scope {
	case ScopeRecipient, ScopeHost:
		if t.operation != "" {
			what = t.operation + " " + what
		}
		return what + " to " + t.value
	case ScopeOperation:
		return "every " + t.operation + " of " + what
	case ScopeTool:
	}
	return "every use of " + what
}
