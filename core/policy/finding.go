package policy

import (
	"errors"
	"fmt"
	"strings"

	"github.com/saysohq/sayso/core"
)

// Code names a kind of finding. Codes are stable; people and programs act on them.
type Code string

// The findings that make New refuse the tables.
const (
	FindingBadName     Code = "bad-name"  // A name that is empty, too long or holds characters that hide.
	FindingBadField    Code = "bad-field" // A path to an argument that cannot be followed.
	FindingClass       Code = "unknown-class"
	FindingMode        Code = "unknown-mode"
	FindingScope       Code = "unknown-scope"
	FindingForm        Code = "unknown-form"
	FindingFact        Code = "unknown-fact"
	FindingDuplicate   Code = "duplicate"       // The same name, value or id twice.
	FindingContradicts Code = "contradicts"     // Two statements that cannot both hold.
	FindingLoosens     Code = "loosens"         // Less strict than an earlier table, without saying so.
	FindingReadOnce    Code = "read-once"       // Runs unasked, yet must not be repeated (R49).
	FindingUnknownLike Code = "unknown-profile" // A server like one that no table describes.
	FindingTooMuch     Code = "too-much"        // Over a bound.
	FindingPolicyID    Code = "bad-policy-id"
	FindingDuration    Code = "bad-duration"
)

// The findings of Lint; each is worth a look, and none stops anything.
const (
	FindingUnlistedTool   Code = "unlisted-tool"   // Declared by the runtime, in no table.
	FindingUnlistedServer Code = "unlisted-server" // Its tools ask in every mode.
	FindingUnlistedValue  Code = "unlisted-value"  // A value that the tool takes and the table does not know.
	FindingGoneTool       Code = "gone-tool"       // Listed for this runtime, not declared by it.
	FindingGoneValue      Code = "gone-value"      // Listed, and no value of the tool any more.
	FindingGoneField      Code = "gone-field"      // The table looks at a field that the tool does not have.
	FindingRuleOfGoneTool Code = "rule-of-gone-tool"
	FindingRuleDead       Code = "dead-rule"      // A rule that can never match again.
	FindingRuleDuplicate  Code = "duplicate-rule" // Two rules that cover the same.
)

// Finding is one fault of a table or of rules, or something worth a look. It holds
// names from the operator's tables and the runtime's declaration, never arguments.
type Finding struct {
	Code  Code   `json:"code"`
	Table string `json:"table,omitempty"` // Which table: starter, operator, organisation.
	// Number is which of the operator's tables it is, from 0.
	Number int    `json:"number,omitempty"`
	Line   int    `json:"line,omitempty"` // In the file, from 1; 0 where it was not read from one.
	At     string `json:"at,omitempty"`   // The place in it, such as tools[3].class.
	Tool   string `json:"tool,omitempty"`
	Value  string `json:"value,omitempty"`
	Rule   string `json:"rule,omitempty"` // The id of the rule at fault.
	Text   string `json:"text"`           // What is wrong, and what would be right.
}

// String is the finding on one line.
func (f Finding) String() string {
	var b strings.Builder
	for _, part := range []string{f.Table, f.At, f.Tool, f.Value, f.Rule} {
		if part != "" {
			fmt.Fprintf(&b, "%s: ", part)
		}
	}
	return b.String() + f.Text + " (" + string(f.Code) + ")"
}

// InvalidError is a set of tables that New refused. It is an ErrInvalid.
type InvalidError struct {
	Findings []Finding // At least one, in the order of the tables.
}

// Error implements error. It names how much is wrong and the first fault; names
// stay in Findings, so that the text can go to a log.
func (e *InvalidError) Error() string {
	first := e.Findings[0]
	return fmt.Sprintf("policy has %d faults, the first in %s at %s: %s", len(e.Findings), first.Table, first.At, first.Text)
}

// Unwrap makes errors.Is(err, ErrInvalid) true.
func (e *InvalidError) Unwrap() error { return core.ErrInvalid }

// errNoPolicy is a build that returned neither a policy nor an error.
var errNoPolicy = errors.New("there is none")
