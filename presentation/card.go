package presentation

import (
	"slices"
	"time"

	"github.com/saysohq/sayso/core"
)

// Card is the neutral card: what a person sees of an approval on any surface.
// All text is safe (redacted, hidden characters visible) but not escaped:
// escaping for the platform is the channel's.
type Card struct {
	ApprovalID string
	Kind       core.Kind
	Status     core.Status
	Class      core.Class
	Revision   int64  // Card revision that this card shows.
	ActionHash string // Hash of the shown action.

	Title   string
	Pill    string   // "Reaches out"; "" for class read.
	Command string   // Exec: the whole redacted command line, as one block.
	Body    string   // Plugin: the whole redacted arguments, as one block; "" when there are none.
	Summary string   // Plugin: one sentence; "" when there is none.
	Facts   []Fact   // Agent, tool, folder, executable, who asked, risk, expiry, fingerprint, in this order.
	Marks   []string // "Some values are hidden." and the like.
	Omitted int64    // Bytes of the action that no surface can show.

	// CutMark is what a channel writes where its limit cut Command or Body.
	CutMark string
	// WholeShown is true once "show all" brought the rest to this chat: the card
	// then counts as complete even where Command or Body is cut in it.
	WholeShown bool

	// Outcome is set on terminal cards and replaces the actions.
	Outcome *Outcome

	// Actions are offered where the channel shows all of Command or Body;
	// CutActions where its limit cut them or Omitted is not 0. With an Outcome they
	// are what can be done about it, and the same; none of them decides.
	Actions    []core.Action
	CutActions []core.Action
}

// Controls are the actions that a channel puts below the card, given whether it shows
// all of its text; complete tells whether the card then counts as shown whole. A card
// that did not show everything never allows, and one that tells an outcome never
// decides: whatever is among its actions.
func (c *Card) Controls(whole bool) (actions []core.Action, complete bool) {
	complete = c.Omitted == 0 && (whole || c.WholeShown)
	actions = c.CutActions
	if whole && c.Omitted == 0 {
		actions = c.Actions
	}
	return slices.DeleteFunc(slices.Clone(actions), func(a core.Action) bool {
		if c.Outcome != nil {
			return a.Type != core.ActionCallback || !a.Value.AfterOutcome()
		}
		return a.Decision.Allows() && !complete
	}), complete
}

// Fact is one labelled value.
type Fact struct {
	Label string
	Value string
	Time  core.Millis // Set for points in time, for platforms with their own date markup.
	Code  bool        // Monospaced where the platform can.
}

// Outcome is the terminal line of a card.
type Outcome struct {
	Text      string // "Resolved elsewhere: allowed once by Alice on Slack, 14:03 UTC".
	Allowed   bool
	Elsewhere bool
	ByPerson  bool   // A person's own word, not time, a rule or a fault.
	Unknown   bool   // It was allowed and started, and may or may not have happened (R108).
	Note      string // The person's note; "" when there is none.
}

// Place is what a card must know of where it is shown.
type Place struct {
	Now       core.Millis
	Zone      *time.Location // The deployment's zone; nil means UTC.
	PublicURL string         // "" when none is configured: no Review link.
	// Delivery is the row that the card belongs to; the clicked one is not "elsewhere".
	Delivery string
	// Person is set in one-person chats: "you" instead of the name.
	Person string
	// WholeShown is true once "show all" brought the whole detail to this chat.
	WholeShown bool
	// Page is true on the page: no message has to fit where another stood, so a
	// settled card keeps the whole action, all facts and the whole note.
	Page bool
	// Beside is true for what is said beside a card that cannot be edited: it tells the
	// outcome and offers nothing, because no row knows where it stands.
	Beside bool
	// Listens is true where a runtime would hear that somebody asks for a new request.
	Listens bool
	// Sticky is how long, in ms, a person's decline answers the same action without
	// asking (K34), by the policy in force; 0 for not at all.
	Sticky core.Millis
	// Requester is the display name of the person whom the runtime asks for; ""
	// when there is none or the caller does not know. Never an id.
	Requester string
}
