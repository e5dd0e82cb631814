package web

import "github.com/saysohq/sayso/core"

// Act is a small form of one button. What it does stands beside it; where Sure is
// set, the button waits behind a disclosure that says so: a confirmation that needs
// no script.
type Act struct {
	Text   string // What pressing it does.
	Label  string // Of the button, or of the disclosure before it; "" where there is only the text.
	Sure   string // Of the button behind the disclosure; "" for none.
	Action string // Path that it posts to.
	Token  string // Session-bound form token.
	Back   string // Path to return to; "" where the action decides that itself.
	Fields []Field
	Danger bool
}

// Field is a hidden value of an Act.
type Field struct {
	Name  string
	Value string
}

// Note is what a page adds to a settled question: one sentence, perhaps with a link
// and something to do about it.
type Note struct {
	Text     string
	Path     string // "" for no link.
	PathText string
	Warn     bool // It must not be missed.
	Acts     []Act
}

// Trail is why a question asks, for admins.
type Trail struct {
	Title string
	Lines []TrailLine
}

// TrailLine is one step of it, as presentation words it.
type TrailLine struct {
	Name    string
	Result  string
	Why     string
	Matched string
	Change  string
}

// Agents is the list of the agents that a person may see.
type Agents struct {
	Frame
	Agents []AgentRow
}

// AgentRow is one line of it.
type AgentRow struct {
	Path    string
	Name    string // "" for the calls of a runtime that name no agent.
	Runtime string
	Mode    string // Its name.
	Default bool   // Nobody chose it.
	Paused  bool
	Rules   int // That let calls run without asking.
}

// Agent is the page of one agent.
type Agent struct {
	Frame
	Path    string // Of this page.
	Name    string
	Runtime string
	Notice  string // What the last press led to.
	Modes   []Mode
	Action  string // Of the form that sets the mode.
	Token   string
	At      int64 // Revision that the form compares with.
	May     bool  // The reader may change it.

	Paused   bool
	PausedBy string // By whom, and since when; "" while it is not paused.
	Pause    *Act   // Pauses, or lets it go on; nil for whoever may not.

	Rules     []RuleRow
	MoreRules string // Path of the list of all its rules; "" where that is all of them.
	Money     *Money // nil for whoever may not switch it.
	History   []Change
	Calls     string // Path of what this agent ran without asking.
}

// Mode is one choice.
type Mode struct {
	Value string // "" for the default.
	Name  string
	Asks  string
	Now   bool
}

// Money is the form of a switch for money.
type Money struct {
	Action string
	Token  string
	Tool   string // As entered before.
	Life   string // Days, as chosen before; "" for no end.
	Until  string // The same in words.
	Fault  string
	Sure   bool // The tool was named: ask once more.
}

// Change is one line of an agent's history.
type Change struct {
	Text     string
	When     core.Millis
	WhenText string
}

// Rules is the list of what is allowed without asking.
type Rules struct {
	Frame
	Only
	Live  []RuleRow
	Ended []RuleRow // The newest of them.
	Older string    // Path of the next page; "" at the end.
}

// RuleRow is one rule.
type RuleRow struct {
	ID        string
	Label     string
	Agent     string
	Runtime   string
	AgentPath string // "" on the agent's own page.
	Money     bool
	By        string // "Made by Ann".
	Made      core.Millis
	MadeText  string
	Card      string // Path of the question that it was made from; "" for a switch.
	Uses      string
	Until     core.Millis // 0: never.
	UntilText string
	Ended     string // How it ended; "" while it covers something.
	Remove    *Act
}

// Only says that a list is of one agent.
type Only struct {
	One   bool
	Agent string // Its name.
	All   string // Path of the list of all agents.
}

// Unattended is the list of what ran without asking.
type Unattended struct {
	Frame
	Only
	Rows  []RanRow
	Older string // Path of the next page; "" at the end.
}

// RanRow is one call that nobody was asked about.
type RanRow struct {
	Path     string
	Title    string
	Class    core.Class
	Pill     string
	Agent    string
	Under    string // "the mode “Before anything outside”".
	Result   string
	Bad      bool // It failed, may have happened, or did not happen.
	When     core.Millis
	WhenText string
}
