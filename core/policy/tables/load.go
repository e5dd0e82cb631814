package tables

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/policy"
)

// MaxFile is the largest file that is read, in bytes: some twenty times the starter
// table.
const MaxFile = 1 << 20

//go:embed starter.yaml
var starter []byte

// Files are where the tables are.
type Files struct {
	Operator     []string // Each lies over those before it.
	Organisation string   // "" for none.
	// Typed says that whoever reads the faults has typed the paths: the files are then
	// named by them, and else as the configuration calls them.
	Typed bool
}

// All are the files, the operator's first.
func (f Files) All() []string {
	all := append([]string{}, f.Operator...)
	if f.Organisation != "" {
		all = append(all, f.Organisation)
	}
	return all
}

// Load reads the files, lays them over the starter table and compiles the whole. Its
// errors are those of Snapshot.Compile.
func Load(f Files) (*policy.Policy, error) { return Read(f).Compile() }

// Starter is the table that comes with the program. Its errors would be ours.
func Starter() (policy.Table, error) {
	t, err := ParseTable(starter)
	if err != nil {
		return policy.Table{}, fmt.Errorf("read the starter table: %w", err)
	}
	return t, nil
}

// Snapshot is what the files held when they were read, faults included.
type Snapshot struct {
	operator     []source
	organisation *source
}

// source is one file. Its name is what faults call it.
type source struct {
	name string
	text []byte
	err  error
}

// Read reads the files. It never fails: what could not be read is told by Compile.
func Read(f Files) Snapshot {
	var s Snapshot
	for i, path := range f.Operator {
		s.operator = append(s.operator, readSource(f.name(fmt.Sprintf("policy.tables[%d]", i), path), path))
	}
	if f.Organisation != "" {
		o := readSource(f.name("policy.organisation", f.Organisation), f.Organisation)
		s.organisation = &o
	}
	return s
}

// name is what faults call a file.
func (f Files) name(configured, path string) string {
	if f.Typed {
		return path
	}
	return configured
}

// Same reports whether both hold the same, and could not be read for the same reasons.
func (s Snapshot) Same(o Snapshot) bool {
	mine, others := s.sources(), o.sources()
	if len(mine) != len(others) {
		return false
	}
	for i, m := range mine {
		if !bytes.Equal(m.text, others[i].text) || fmt.Sprint(m.err) != fmt.Sprint(others[i].err) {
			return false
		}
	}
	return true
}

func (s Snapshot) sources() []source {
	all := append([]source{}, s.operator...)
	if s.organisation != nil {
		all = append(all, *s.organisation)
	}
	return all
}

// Compile lays the tables over the starter table. Errors: everything that is wrong,
// joined: for each file why it could not be read, without its path unless Files.Typed, or a *SyntaxError
// (ErrInvalid) with all of its faults; where all have the right form, a *CompileError
// (ErrInvalid) with everything that is wrong with what they say.
func (s Snapshot) Compile() (*policy.Policy, error) {
	var l policy.Layers
	var faults []error
	for i := range s.operator {
		t, err := parse(&s.operator[i], (&decoder{}).table)
		l.Operator, faults = append(l.Operator, t), append(faults, err)
	}
	if s.organisation != nil {
		o, err := parse(s.organisation, (&decoder{}).organisation)
		l.Organisation, faults = o, append(faults, err)
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	var err error
	if l.Starter, err = Starter(); err != nil {
		return nil, err
	}
	p, err := policy.New(l)
	if invalid, ok := errors.AsType[*policy.InvalidError](err); ok {
		return nil, s.locate(invalid)
	}
	if err != nil {
		return nil, fmt.Errorf("compile tables: %w", err)
	}
	return p, nil
}

func parse[T any](s *source, from func([]byte) (T, error)) (T, error) {
	var none T
	if s.err != nil {
		return none, fmt.Errorf("%s: %w", s.name, s.err)
	}
	t, err := from(s.text)
	if syntax, ok := errors.AsType[*SyntaxError](err); ok {
		return none, &fileError{s.name, syntax}
	}
	if err != nil {
		return none, fmt.Errorf("%s: %w", s.name, err)
	}
	return t, nil
}

// readSource takes a regular file of at most MaxFile bytes. A pipe or a device that
// never ends is refused before it is read.
func readSource(name, path string) source {
	s := source{name: name}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		s.err = pathless(err)
		return s
	case !info.Mode().IsRegular():
		s.err = core.Invalid("file", "must be a regular file")
		return s
	}
	file, err := os.Open(path)
	if err != nil {
		s.err = pathless(err)
		return s
	}
	defer file.Close()
	if s.text, err = io.ReadAll(io.LimitReader(file, MaxFile+1)); err != nil {
		s.text, s.err = nil, pathless(err)
	}
	return s
}

// pathless keeps an error's cause and drops the path (conformance 54).
func pathless(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}
