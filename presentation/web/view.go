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
	StateClosed    State = "closed" // Denied by no person: no route, wrong hash, a damaged record.
	StateNotFound  State = "not-found"
	StateSignIn    State = "sign-in"
	StateError     State = "error"
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
	case c.Outcome == nil || !c.Outcome.ByPerson:
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
	Text     string // The command or arguments, as far as they are shown.
	Cut      bool   // Text is only the beginning.
	Hidden   string // How much is not shown while Cut: "12,345 characters".
	Decide   *Decide
	Notice   string // What the last press led to, when the card alone does not say it.
}

// Decide is the form of somebody who may decide.
type Decide struct {
	Token    string // Session-bound form token.
	View     string // Proof of what this page shows.
	Hash     string // Hash of the shown arguments.
	Card     int64  // Card revision that is shown.
	Allow    []Choice
	Tick     string // The words to tick before an allow; "" when all is shown.
	ViewOnly string // Why there is no form; "" when there is one.
}

// Choice is one allowing button.
type Choice struct {
	Value core.Decision
	Label string
}

// Inbox is the list of what waits and of what was decided lately.
type Inbox struct {
	Frame
	Waiting []Row
	Recent  []Row
	More    bool   // There is more than is listed.
	Links   string // How to link a chat; "" when none is configured.
}

// Row is one line of the inbox.
type Row struct {
	Path    string
	Title   string
	Pill    string
	Agent   string
	Outcome string // "" while it waits.
	Expires core.Millis
	Asked   core.Millis
}

// SignIn is the page on which a one-time code is used.
type SignIn struct {
	Frame
	First   bool   // There is no admin yet: the code makes the first one.
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
	Retry   bool
}
