package web

import (
	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/presentation"
)

// State names what the page shows of an approval (R197). Two more states exist
// only in the browser: reading the record, and a connection error with retry.
type State string

// The states.
const (
	StatePending   State = "pending"
	StateHere      State = "decided-here"
	StateElsewhere State = "resolved-elsewhere"
	StateExpired   State = "expired"
	StateCancelled State = "cancelled"
	StateClosed    State = "closed"      // Denied by no person: no route, wrong hash, a damaged record.
	StateUnasked   State = "ran-unasked" // Allowed by a policy; nobody was asked.
	StateNotFound  State = "not-found"
	StateSignIn    State = "sign-in"
	StateError     State = "error"   // The record cannot be read now.
	StateDamaged   State = "damaged" // The record can be read and not believed.
	StateRefused   State = "refused"
	StateInbox     State = "inbox"

	StateAgents     State = "agents"
	StateAgent      State = "agent"
	StateRules      State = "rules"
	StateUnattended State = "unattended"
)

// StateOf is the state of a card.
func StateOf(c *presentation.Card) State {
	switch c.Status {
	case core.StatusPending:
		return StatePending
	case core.StatusExpired:
		return StateExpired
	case core.StatusCancelled:
		return StateCancelled
	case core.StatusAllowed, core.StatusDenied:
	}
	switch {
	case c.Outcome == nil:
		return StateClosed
	case !c.Outcome.ByPerson && c.Status == core.StatusAllowed:
		return StateUnasked
	case !c.Outcome.ByPerson:
		return StateClosed
	case c.Outcome.Elsewhere:
		return StateElsewhere
	}
	return StateHere
}

// Frame is what every page has.
type Frame struct {
	Base      string // "" or "/base".
	Title     string
	Person    string // Display name of whoever is signed in; "" for nobody.
	SignOut   string // Form token of the sign-out button.
	State     State
	NowMillis core.Millis // The deployment's time, for countdowns (R181).
}

// Approval is the page of one approval.
type Approval struct {
	Frame
	Card     presentation.Card
	Path     string // Of this page, under Base.
	Revision int64  // Revision of the record that is shown.
	Version  string // Changes with whatever the page shows, the reader's rights included.
	Expires  core.Millis
	Text     string // The command or arguments, as far as they are shown.
	Cut      bool   // Text is only the beginning.
	Hidden   string // How many characters are not shown while Cut: "12,345".
	Opened   bool   // All of it was asked for.
	Short    bool   // The action leaves room for the controls on the same screen.
	Decide   *Decide
	Notice   string // What the last press led to, when the card alone does not say it.
	Unclear  bool   // Whether the last press was recorded is not known: there are no controls.
	Doubt    bool   // Nobody knows what became of it.
	Footer   string // Why nothing else is offered; "" where there is nothing to say.
	Listed   bool   // The list of what is allowed without asking can change that.
	Notes    []Note // What came of it since, and what can be done about it.
	Trail    *Trail // For admins.
}

// Decide is the form of somebody who may see the question.
type Decide struct {
	Token     string // Session-bound form token.
	View      string // Proof of what this page shows; "" where it is not enough to allow.
	Hash      string // Hash of the shown arguments.
	Card      int64  // Card revision that is shown.
	Allow     []Choice
	Tick      string // The words to tick before an allow; "" when all is shown.
	TickHash  string // Hash of the whole arguments, beside the tick.
	OpenFirst bool   // An allow is offered once everything was opened.
	Blocked   string // Why nothing can allow it; "" otherwise.
	ViewOnly  string // Why there is no form; "" when there is one.
}

// Choice is one allowing button.
type Choice struct {
	Value core.Decision
	Label string
}

// Inbox is the list of what waits and of what was decided lately.
type Inbox struct {
	Frame
	Version string // Changes with whatever is listed.
	Waiting []Row
	Doubt   []Row // May have happened: shown until somebody dismisses it.
	Recent  []Row
	More    bool   // There is more than is listed.
	Links   string // How to link a chat; "" when there is nothing to say.
}

// Row is one line of the inbox.
type Row struct {
	Path        string
	Title       string
	Class       core.Class
	Pill        string
	Agent       string
	Outcome     string // "" while it waits.
	Allowed     bool
	Doubt       bool // Nobody knows what became of it.
	Expires     core.Millis
	ExpiresText string // In the deployment's zone.
}

// SignIn is the page on which a one-time code is used.
type SignIn struct {
	Frame
	First   bool   // There is no admin yet: the code makes the first one.
	Name    string // What was entered as the name before.
	Confirm string // Name of the person that the code signs in; "" before the code was read.
	Code    string // The code to be confirmed.
	Next    string // Path to go on to.
	Fault   string // What was wrong with the last try.
}

// Message is a page that only says something.
type Message struct {
	Frame
	Heading string
	Text    string
	Retry   bool   // Offer to read the same address again.
	SignIn  string // Path of the sign-in page; "" when signing in does not help.
}
