package tables

import (
	"fmt"
	"strings"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/policy"
)

// Fault is one thing that is wrong with the form of a file.
type Fault struct {
	Line int    `json:"line,omitempty"` // From 1; 0 where the file as a whole is at fault.
	At   string `json:"at,omitempty"`   // The place, such as tools[3].class.
	Rule string `json:"rule"`           // What it must be. Never the value.
}

// String is the fault on one line.
func (f Fault) String() string {
	switch {
	case f.Line > 0 && f.At != "":
		return fmt.Sprintf("line %d: %s: %s", f.Line, f.At, f.Rule)
	case f.Line > 0:
		return fmt.Sprintf("line %d: %s", f.Line, f.Rule)
	case f.At != "":
		return f.At + ": " + f.Rule
	}
	return f.Rule
}

// SyntaxError is a file that is no table. It is an ErrInvalid.
type SyntaxError struct {
	Faults []Fault // At least one.
}

// Error implements error; it names every fault.
func (e *SyntaxError) Error() string {
	all := make([]string, len(e.Faults))
	for i, f := range e.Faults {
		all[i] = f.String()
	}
	return strings.Join(all, "; ")
}

// Unwrap makes errors.Is(err, ErrInvalid) true.
func (e *SyntaxError) Unwrap() error { return core.ErrInvalid }

// fileError is a *SyntaxError of one of several files, a fault on each line.
type fileError struct {
	name   string
	syntax *SyntaxError
}

// Error implements error.
func (e *fileError) Error() string {
	all := make([]string, len(e.syntax.Faults))
	for i, f := range e.syntax.Faults {
		all[i] = e.name + ": " + f.String()
	}
	return strings.Join(all, "\n")
}

// Unwrap returns the *SyntaxError.
func (e *fileError) Unwrap() error { return e.syntax }

// CompileError is tables of the right form that say something wrong: an unknown scope,
// a contradiction, something less strict that does not say so. It unwraps to the
// *policy.InvalidError, an ErrInvalid.
type CompileError struct {
	Invalid *policy.InvalidError // Its findings know their lines.
	names   []string             // Of the files, for each finding.
}

// Error implements error; it names every fault with file, line and place, and no value.
func (e *CompileError) Error() string {
	var all []string
	for i, f := range e.Invalid.Findings {
		if i == maxFaults {
			all = append(all, fmt.Sprintf("and %d more", len(e.Invalid.Findings)-maxFaults))
			break
		}
		all = append(all, e.names[i]+": "+Fault{Line: f.Line, At: f.At, Rule: f.Text}.String())
	}
	return strings.Join(all, "\n")
}

// Unwrap returns the findings.
func (e *CompileError) Unwrap() error { return e.Invalid }

// locate finds the lines of what the compiler found. The files are parsed once more for
// it: hardly anybody ever wants to know.
func (s Snapshot) locate(invalid *policy.InvalidError) *CompileError {
	lines := map[string]map[string]int{}
	for i := range s.operator {
		d := &decoder{lines: map[string]int{}}
		_, _ = d.table(s.operator[i].text) // It was parsed before.
		lines[s.operator[i].name] = d.lines
	}
	if s.organisation != nil {
		d := &decoder{lines: map[string]int{}}
		_, _ = d.organisation(s.organisation.text)
		lines[s.organisation.name] = d.lines
	}
	e := &CompileError{Invalid: invalid, names: make([]string, len(invalid.Findings))}
	for i := range invalid.Findings {
		f := &invalid.Findings[i]
		e.names[i] = f.Table
		switch f.Table {
		case policy.SourceOperator:
			e.names[i] = s.operator[f.Number].name
		case policy.SourceOrganisation:
			e.names[i] = s.organisation.name
		}
		f.Line = lineAt(lines[e.names[i]], f.At)
	}
	return e
}

// lineAt is the line of a place, or of the nearest that holds it.
func lineAt(lines map[string]int, at string) int {
	for at != "" {
		if line := lines[at]; line > 0 {
			return line
		}
		at = at[:max(strings.LastIndexAny(at, ".["), 0)]
	}
	return 0
}
