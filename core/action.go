package core

// ActionType tags the union of what a card's control does (R182). Controls are
// typed; they are never text commands that somebody parses.
type ActionType string

// The types of action.
const (
	ActionCommand  ActionType = "command"  // A text command that a person may type.
	ActionCallback ActionType = "callback" // Something other than a decision: a note, show all, a confirmation.
	ActionApproval ActionType = "approval" // A decision.
	ActionURL      ActionType = "url"
	ActionWebApp   ActionType = "web-app"
)

// Valid reports whether t is one of the closed set.
func (t ActionType) Valid() bool {
	switch t {
	case ActionCommand, ActionCallback, ActionApproval, ActionURL, ActionWebApp:
		return true
	}
	return false
}

// CallbackValue names what a callback action does.
type CallbackValue string

// The callbacks.
const (
	CallbackNote    CallbackValue = "note"     // Deny with a note: opens a prompt, decides nothing.
	CallbackShowAll CallbackValue = "show-all" // Bring the whole detail into this chat.
	CallbackConfirm CallbackValue = "confirm"  // Yes to a prompt.
	CallbackDismiss CallbackValue = "dismiss"  // No to a prompt.
	CallbackChoose  CallbackValue = "choose"   // One of the choices of a menu.

	// Below a card that tells an outcome; none of them decides anything (R86).
	CallbackDismissOutcome CallbackValue = "dismiss-outcome" // Seen: it may have happened.
	CallbackAskAgain       CallbackValue = "ask-again"       // Asks whether to ask the runtime for a new request.
	CallbackReopen         CallbackValue = "reopen"          // Let a declined action be asked again.
)

// Valid reports whether v is one of the closed set.
func (v CallbackValue) Valid() bool {
	switch v {
	case CallbackNote, CallbackShowAll, CallbackConfirm, CallbackDismiss, CallbackChoose,
		CallbackDismissOutcome, CallbackAskAgain, CallbackReopen:
		return true
	}
	return false
}

// AfterOutcome reports whether v belongs below a card that tells an outcome.
func (v CallbackValue) AfterOutcome() bool {
	switch v {
	case CallbackDismissOutcome, CallbackAskAgain, CallbackReopen:
		return true
	case CallbackNote, CallbackShowAll, CallbackConfirm, CallbackDismiss, CallbackChoose:
	}
	return false
}

// Action is one control of a card. Exactly the fields of its Type are set.
type Action struct {
	Type       ActionType
	Label      string        // What the control says; safe text, at most 64 code points.
	ApprovalID string        // approval, and callback on an approval.
	Kind       Kind          // approval, and callback on an approval.
	Decision   Decision      // approval.
	Value      CallbackValue // callback.
	PromptRef  string        // callback that answers a prompt instead of an approval.
	Choice     int           // callback that chooses: which of the menu's choices, from 0 to MaxChoices - 1.
	Command    string        // command.
	URL        string        // url, web-app.
}
