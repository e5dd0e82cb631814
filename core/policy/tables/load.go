package tables

import (
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/policy"
)

// MaxFile is the largest file that is read, in bytes: some twenty times the starter
// table.
const MaxFile = 1 << 20

//go:embed starter.yaml
var starter []byte

// Files are where an operator's tables are.
type Files struct {
	Operator     string // "" for none.
	Organisation string // "" for none.
}

// Load reads the files, lays them over the starter table and compiles the whole.
// Errors: a *SyntaxError or a *policy.InvalidError (both ErrInvalid) with all that is
// wrong in the first file at fault; otherwise why a file could not be read, without
// its path.
func Load(f Files) (*policy.Policy, error) {
	var l policy.Layers
	var err error
	if f.Operator != "" {
		if l.Operator, err = load("the operator's table", f.Operator, ParseTable); err != nil {
			return nil, err
		}
	}
	if f.Organisation != "" {
		if l.Organisation, err = load("the organisation's policy", f.Organisation, ParseOrganisation); err != nil {
			return nil, err
		}
	}
	if l.Starter, err = Starter(); err != nil {
		return nil, err
	}
	p, err := policy.New(l)
	if err != nil {
		return nil, fmt.Errorf("compile tables: %w", err)
	}
	return p, nil
}

// Starter is the table that comes with the program. Its errors would be ours.
func Starter() (policy.Table, error) {
	t, err := ParseTable(starter)
	if err != nil {
		return policy.Table{}, fmt.Errorf("read the starter table: %w", err)
	}
	return t, nil
}

func load[T any](what, path string, parse func([]byte) (T, error)) (T, error) {
	var none T
	b, err := read(path)
	if err != nil {
		return none, fmt.Errorf("read %s: %w", what, err)
	}
	t, err := parse(b)
	if err != nil {
		return none, fmt.Errorf("read %s: %w", what, err)
	}
	return t, nil
}

// read takes a regular file of at most MaxFile bytes. A pipe or a device that never
// ends is refused before it is read.
func read(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, pathless(err)
	case !info.Mode().IsRegular():
		return nil, core.Invalid("file", "must be a regular file")
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, pathless(err)
	}
	defer file.Close()
	b, err := io.ReadAll(io.LimitReader(file, MaxFile+1))
	if err != nil {
		return nil, pathless(err)
	}
	return b, nil
}

// pathless keeps an error's cause and drops the path (conformance 54).
func pathless(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}

// Fault is one thing that is wrong with the form of a file.
type Fault struct {
	Line int    `json:"line,omitempty"` // From 1; 0 where the file as a whole is at fault.
	At   string `json:"at,omitempty"`   // The place, such as tools[3].class.
	Rule string `json:"rule"`           // What it must be. Never the value.
}

// SyntaxError is a file that is no table. It is an ErrInvalid.
type SyntaxError struct {
	Faults []Fault // At least one.
}

// Error implements error; it names every fault.
func (e *SyntaxError) Error() string {
	all := make([]string, len(e.Faults))
	for i, f := range e.Faults {
		switch {
		case f.At != "":
			all[i] = fmt.Sprintf("line %d: %s: %s", f.Line, f.At, f.Rule)
		case f.Line > 0:
			all[i] = fmt.Sprintf("line %d: %s", f.Line, f.Rule)
		default:
			all[i] = f.Rule
		}
	}
	return strings.Join(all, "; ")
}

// Unwrap makes errors.Is(err, ErrInvalid) true.
func (e *SyntaxError) Unwrap() error { return core.ErrInvalid }
