package policy

import (
	"time"

	"github.com/saysohq/sayso/core"
)

// Bounds of the tables. They are far above any table that people write, and low
// enough that a file cannot exhaust the process.
const (
	MaxTools        = 5_000
	MaxNames        = 500 // Names of one entry, values of one mapping, members of any other list.
	MaxName         = core.MaxShortText
	MaxPath         = 8 // Segments of a path to an argument.
	MaxStickyWindow = 24 * time.Hour
)

// DefaultStickyWindow is how long a person's decline of an action answers the same
// action again (K34).
const DefaultStickyWindow = 10 * time.Minute

// Layers are the tables that make a policy, from the weakest to the strongest word.
type Layers struct {
	Starter      Table        `json:"starter"`
	Operator     []Table      `json:"operator"` // Each lies over those before it.
	Organisation Organisation `json:"organisation"`
}

// Table says what tools do. The zero value says nothing: everything is unlisted.
type Table struct {
	// DefaultMode is the mode of agents that have none of their own; "" leaves it to
	// the table before, and at last to ModeOutside.
	DefaultMode Mode `json:"default_mode,omitempty"`
	// StickyDecline is the window of step 3; nil leaves it to the table before, and at
	// last to DefaultStickyWindow. Zero switches the step off.
	StickyDecline *time.Duration `json:"sticky_decline,omitempty"`
	AlwaysAsk     []string       `json:"always_ask,omitempty"` // Tools of step 1, on any server.
	Tools         []Tool         `json:"tools,omitempty"`
	Profiles      []Profile      `json:"profiles,omitempty"`
	Servers       []Server       `json:"servers,omitempty"`
	AutoPolicies  []AutoPolicy   `json:"auto_policies,omitempty"`
	// MoneyWords raise an unlisted name, or an unlisted value of a mapped field, that
	// contains one of them to money (R42, R45). They never lower anything.
	MoneyWords []string  `json:"money_words,omitempty"`
	Programs   []Program `json:"programs,omitempty"`
}

// Tool describes one tool, or several that are alike. A later table that names a
// tool again adds to it: what it leaves out stays as it was, and once a tool is an
// interpreter it stays one.
type Tool struct {
	Names    []string `json:"names"`              // As the runtime spells them.
	Runtimes []string `json:"runtimes,omitempty"` // Only there; empty means everywhere.
	Server   string   `json:"server,omitempty"`   // The tool server whose tools these are; "" for built-ins.
	// Class of the whole tool; exactly one of Class and By is set, or neither where a
	// later table adds to an earlier one.
	Class core.Class `json:"class,omitempty"`
	By    *Mapping   `json:"by,omitempty"`
	// ReachesNoOne are alternatives: where one certainly holds, send becomes write. It
	// never lowers money (R40).
	ReachesNoOne []Predicate   `json:"reaches_no_one,omitempty"`
	Raise        []Raise       `json:"raise,omitempty"`
	Always       []AlwaysScope `json:"always,omitempty"`    // What an always-allow rule may be about; nil means the operation, or the whole tool.
	NoAlways     bool          `json:"no_always,omitempty"` // No rule is ever offered.
	Interpreter  *Interpreter  `json:"interpreter,omitempty"`
	Label        string        `json:"label,omitempty"`     // What a rule is about, as people read it: "mail"; default: the name.
	Once         bool          `json:"once,omitempty"`      // A broken-off attempt must not be repeated in silence (R49).
	Delegates    bool          `json:"delegates,omitempty"` // A trigger or an agent, whose own calls are judged one by one (R46).
	Loosens      bool          `json:"loosens,omitempty"`   // Less strict than an earlier table, on purpose.
}

// Mapping judges a tool by the value of a field (R36). A list is judged by its
// strictest member (R38), an unlisted value is send (R37).
type Mapping struct {
	// Field is a path into the arguments ("method", "request.action"; lists on the way
	// are walked), or "$operation", the operation that the request names.
	Field      string                  `json:"field"`
	Values     map[core.Class][]string `json:"values"`
	Default    string                  `json:"default,omitempty"` // The value that the tool takes where the field is not set; "" for none.
	IgnoreCase bool                    `json:"ignore_case,omitempty"`
}

// OperationField is the Field of a Mapping that judges by the request's operation.
const OperationField = "$operation"

// Raise makes a call stricter where its predicate may hold.
type Raise struct {
	When  Predicate  `json:"when"`
	Class core.Class `json:"class"`
}

// Predicate holds where all of its conditions hold. Without conditions it never
// certainly holds.
type Predicate []Condition

// Condition looks at one field of the arguments. Exactly one of its tests is set.
type Condition struct {
	Field string `json:"field"`
	// Empty: not set, null, an empty string or an empty list.
	Empty bool `json:"empty,omitempty"`
	// Is: it is set, and every value of it is one of these (numbers and booleans as
	// they are spelled in JSON).
	Is []string `json:"is,omitempty"`
	// IsNot: it is set, and some value of it is none of these.
	IsNot []string `json:"is_not,omitempty"`
	// Domains: it is set, and every value of it is an address in one of these domains.
	Domains []string `json:"domains,omitempty"`
	// Contains: some value of it contains one of these texts.
	Contains []string `json:"contains,omitempty"`
}

// AlwaysScope is one thing that a rule may be limited to. Of several, the first whose
// fields the call has is the one that counts.
type AlwaysScope struct {
	Scope  Scope    `json:"scope"`
	Fields []string `json:"fields,omitempty"` // recipient, host: where they stand in the arguments; all of them count.
	Form   Form     `json:"form,omitempty"`   // recipient: how it is spelled; default FormEmail.
}

// Interpreter marks what runs whatever it is told: shells, languages, agents. Its
// rules cover exactly one command in one folder and nothing more.
type Interpreter struct {
	Text   []string `json:"text,omitempty"`   // Fields that hold what would run; searched for Programs.
	Folder []string `json:"folder,omitempty"` // Fields that say where; without one of them no rule is offered.
	Ignore []string `json:"ignore,omitempty"` // Top-level fields that only comment, such as a description.
}

// Profile describes the tools of a well-known tool server. It says nothing until a
// Server is declared to be like it: whoever configures an agent chooses the names
// of its servers, so a name alone proves nothing.
type Profile struct {
	Name  string `json:"name"`
	Tools []Tool `json:"tools"` // Their Server is empty.
}

// Server is what the operator says of a tool server (R61, R62).
type Server struct {
	Name     string   `json:"name"`
	Runtimes []string `json:"runtimes,omitempty"` // Only there; empty means everywhere.
	Like     string   `json:"like,omitempty"`     // The profile that describes its tools.
	// Prefixes by which a runtime names the server's tools where it does not write
	// mcp__server__tool, such as "github_".
	Prefixes []string `json:"prefixes,omitempty"`
	Exempt   bool     `json:"exempt,omitempty"`  // Its calls run unasked, money apart.
	Require  []string `json:"require,omitempty"` // Its tools that always ask.
}

// Fact is something that a runtime attests when it registers (R69). No request can
// state one.
type Fact string

// The facts.
const (
	FactSandbox        Fact = "sandbox"         // What confines the agent: "docker".
	FactNetwork        Fact = "network"         // Whether the sandbox may reach the network.
	FactSearchBackend  Fact = "search_backend"  // Which search is configured.
	FactBrowserBackend Fact = "browser_backend" // Which browser is configured.
)

// Valid reports whether f is one of the closed set.
func (f Fact) Valid() bool {
	switch f {
	case FactSandbox, FactNetwork, FactSearchBackend, FactBrowserBackend:
		return true
	}
	return false
}

// Facts are what one runtime attested: its own server-side registration, never a
// request. A fact that says no (nothing, none, off, no, false, 0, host, disabled,
// null, unknown, unconfined; in any case) does not hold.
type Facts map[Fact]string

// AutoPolicy lets tools run unasked under attested facts (R64). It never covers
// money, tool servers, or the tools of step 1 (R66).
type AutoPolicy struct {
	ID    string            `json:"id"` // Such as sandbox.workspace.v1; recorded with every grant.
	Tools []string          `json:"tools"`
	Needs map[Fact][]string `json:"needs"` // Each must hold; with values, it must be one of them.
}

// Program is a program that makes a command stricter. It only ever raises: a
// command may always hide what it starts.
type Program struct {
	Names []string   `json:"names"`
	Words []string   `json:"words,omitempty"` // Only together with one of these words, such as "delete"; empty: always.
	Class core.Class `json:"class"`
}

// Organisation is the word that nothing below it loosens (R55). Its Tools are
// floors: no other table brings a tool below the class that it has here. For the
// runtimes of a Force the other tables can only make stricter: there a tool that
// neither the organisation nor the starter lists is unlisted, whatever an operator
// calls it, until the organisation lists it.
type Organisation struct {
	AlwaysAsk []string `json:"always_ask,omitempty"` // Tools of step 1.
	Tools     []Tool   `json:"tools,omitempty"`      // Of these only names, runtimes, server, class, by and raise.
	Ask       []Force  `json:"ask,omitempty"`
}

// Force makes calls ask in step 4, whatever rules, exemptions, facts and modes say.
// It is scoped by runtime only, because a runtime proves who it is, while it
// chooses the names of its agents itself.
type Force struct {
	Runtimes []string `json:"runtimes,omitempty"` // Empty: all.
	// From is the mildest class that asks; what is stricter asks too, or a table below
	// could get around it by judging stricter. "" means write: all but reading.
	From core.Class `json:"from,omitempty"`
}
