package core

// RawAction is what a caller wants to do, unredacted. It is hashed, described
// and forgotten; nothing may store, log or return it.
type RawAction struct {
	Kind      Kind
	Title     string
	Summary   string
	Agent     string
	Tool      string
	Operation string
	Arguments []byte // JSON of any value; at most 1 MiB. Exec: an object with "argv" (or "command"), "folder" and "executable".
	Details   []byte // JSON object of non-sensitive display metadata, or nil.
}

// Described is what may be kept of a RawAction.
type Described struct {
	Tool          string // Safe text.
	Operation     string // Safe text.
	ArgumentsHash string
	ActionHash    string
	Presentation  Presentation
	Detail        Detail
}

// Describer turns raw text into safe text. It does no I/O.
type Describer interface {
	// Describe hashes and projects an action. Errors: ErrInvalid (a FieldError) for
	// arguments that are no JSON, not UTF-8, nested too deep or over 1 MiB.
	Describe(RawAction) (Described, error)
	// Text makes one piece of free text safe: redacted, hidden characters visible,
	// at most max code points with a visible cut.
	Text(s string, max int) string
}
