package policy

import "github.com/saysohq/sayso/core"

// What a class came from, as Verdict.ClassSource and findings spell it.
const (
	SourceStarter       = "starter"        // The table that comes with the program.
	SourceOperator      = "operator"       // The operator's table.
	SourceOrganisation  = "organisation"   // The organisation's floor.
	SourceUnlisted      = "unlisted"       // No table lists the tool (R37).
	SourceUnlistedValue = "unlisted-value" // The table does not know the value of the field.
	SourceUnclearValue  = "unclear-value"  // The field may be read in several ways.
	SourceReachesNoOne  = "reaches-no-one" // The table says that such a call reaches nobody (R40).
	SourceRaised        = "raised"         // The table says that such a call is stricter.
	SourceSimilarName   = "similar-name"   // An unlisted name comes close to a stricter tool's.
	SourceMoneyWord     = "money-word"     // An unlisted name says that it spends or deletes.
	SourceCommand       = "command"        // Commands are at least send (R44).
	SourceProgram       = "program"        // The command names a program that is stricter.
	SourceUnreadable    = "unreadable"     // Nothing could be judged.
)

// rank orders the ladder read < write < send < money (R35). A class that does not
// exist ranks with the strictest.
func rank(c core.Class) int {
	switch c {
	case core.ClassRead:
		return 0
	case core.ClassWrite:
		return 1
	case core.ClassSend:
		return 2
	case core.ClassMoney:
	}
	return 3
}

// Strictest is the stricter of two classes (R38). An unknown class counts as money.
func Strictest(a, b core.Class) core.Class {
	if rank(a) < rank(b) {
		a = b
	}
	if !a.Valid() {
		return core.ClassMoney
	}
	return a
}

// within reports whether a consent that was given to a call of one class covers a
// call of the other.
func within(c, consent core.Class) bool {
	return c.Valid() && consent.Valid() && rank(c) <= rank(consent)
}

// describe says in words what a class means.
func describe(c core.Class) string {
	switch c {
	case core.ClassRead:
		return "it only looks things up"
	case core.ClassWrite:
		return "it changes what is the agent's own"
	case core.ClassSend:
		return "it reaches people or services"
	case core.ClassMoney:
	}
	return "it spends or deletes"
}
