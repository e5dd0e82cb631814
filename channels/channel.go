package channels

import (
	"context"
	"slices"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/presentation"
)

// Channel is one account (bot, workspace) of one messenger. Implementations keep
// no state that a restart would miss, never retry, pace or give up (that is the
// ledger's), and return *Error for everything a platform refuses.
type Channel interface {
	// Ref names the account by the platform's own stable id of the bot.
	Ref() core.AccountRef
	// Render lays the card out for this platform, measured after escaping. It
	// never fails for length: it cuts, visibly, and offers the card's CutActions.
	Render(card presentation.Card) (Rendered, error)
	// Send posts to an address and returns the locator of the message.
	Send(ctx context.Context, address string, r Rendered) (locator string, err error)
	// Edit makes the message show r: OutcomeReplaced, or OutcomeRetired (this
	// message can no longer be edited), or OutcomeUnsupported (the platform cannot).
	Edit(ctx context.Context, locator string, r Rendered) (core.DeliveryOutcome, error)
	// Run receives until ctx ends. A click or text is finished, in the platform's
	// sense, only after the Inbound call for it returned.
	Run(ctx context.Context, in Inbound) error
}

// Detailer is a channel that can bring a long text into a chat ("Show all").
type Detailer interface {
	// SendDetail posts the whole detail, as messages or as a file, in reply to the
	// card where it can.
	SendDetail(ctx context.Context, address, locator string, card presentation.Card) error
}

// Checker makes one cheap authenticated call.
type Checker interface {
	Check(ctx context.Context) error
}

// Rendered is a card laid out for one platform.
type Rendered struct {
	Complete bool            // The whole redacted action is in it.
	Offered  []core.Decision // Decisions that it offers.
	KeyID    string          // Codec key of its buttons; "" without buttons.
	// Nonce is the same for every repetition of one send, at most 25 characters of
	// A-Z a-z 0-9 _ -, so that a platform which can makes one message of them. The
	// ledger sets it; "" lets every send make its own message. Edits take no notice.
	Nonce string
	// ReplyTo is the locator of the card that a message stands beside, so that it is a
	// reply where the channel can make it one. The ledger sets it; "" for none.
	ReplyTo string
	Payload any // Private to the channel.
}

// Inbound takes what people do in the chats.
type Inbound interface {
	// Click handles a pressed button and returns the one answer it gets.
	Click(ctx context.Context, c Click) Answer
	// Text handles a command, a /start payload or a reply to a message of ours.
	// A zero Answer says nothing.
	Text(ctx context.Context, t Text) Answer
	// Placed records where the prompt of an Answer was posted.
	Placed(ctx context.Context, promptID, locator string) error
	// Shown records that the platform took the TerminalCard of an Answer, with the
	// card's revision; with 0, that it never will, so that the ledger edits the message
	// at once. A channel that does not know says nothing: the ledger edits the message
	// after core.AnswerDelay.
	Shown(ctx context.Context, deliveryID string, cardRevision int64) error
}

// Actor is a person as the platform authenticated them.
type Actor struct {
	Realm   string // "telegram".
	ID      string // Stable user id; display names are never identity.
	Label   string // What the platform calls them; for eyes only.
	Refused string // Why this kind of account may never decide ("an anonymous admin"); "" for people.
}

// Click is a pressed button.
type Click struct {
	Account core.AccountRef
	Actor   Actor
	Payload string // As received; not trusted.
	Chat    string // Address of the chat.
	Message string // Locator of the message; "" when the platform did not say.
	Direct  bool   // A chat of one person with the bot.
	// TakesCard is true where the platform can still take a card as the answer, which
	// then edits the clicked message.
	TakesCard bool
	// Copy is the platform's own copy of the clicked message, for adoption.
	Copy MessageCopy
}

// MessageCopy is what the platform says about a clicked message.
type MessageCopy struct {
	SentByUs bool     // Sent by this very bot, and not a forwarded copy.
	Payloads []string // Payloads of its buttons.
}

// Proven reports whether the platform's own copy says that this very bot sent the
// clicked message and that it carries this very payload: no modified client made it up.
func (c *Click) Proven() bool {
	return c.Copy.SentByUs && slices.Contains(c.Copy.Payloads, c.Payload)
}

// Text is a typed message that is addressed to the bot.
type Text struct {
	Account   core.AccountRef
	Actor     Actor
	Chat      string
	Direct    bool
	Text      string
	ReplyTo   string // Locator of the message that it replies to; "" for none.
	PromptID  string // The Prompt whose dialog this fills in, where prompts are dialogs; "" elsewhere.
	MessageID string // Stable id of this message, for the decision key.
	Attached  bool   // Something else than text came with it: a picture, a file, a voice.
}

// Answer is the one answer to a click or text. All of it is safe text.
type Answer struct {
	Text  string // Private where the platform allows; at most 200 UTF-16 units, lists in answer to typed commands at most 4,000.
	Alert bool   // Worth a modal: refusals and lost races.
	// Actions are buttons below the text (confirm, dismiss, the choices of a menu), or
	// with Settled below that. In answer to a click, which alone can carry none, Text
	// becomes a message of its own beside the clicked one: private where the platform
	// allows. Who may press is for whoever asked to check.
	Actions []core.Action
	Prompt  *Prompt // Ask for text, then call Placed.
	// Settled is what the clicked message shows from here on, with Actions instead of its
	// buttons; "" for what it showed before. Only for a Click on a question of ours that is no card of
	// the ledger. A channel edits the message if the click is Proven, or if the platform
	// itself lets nothing else than the clicked message be replaced; it need not give
	// Text as well where the edit is the answer. A message that cannot be edited keeps
	// its buttons, and the next press on one is told that it is over.
	Settled string
	// Terminal is the final card of the approval that this very click decided, only for
	// a Click with TakesCard: the answer is the card instead of Text, or Text where the
	// card cannot be the answer any more. Shown is told which.
	Terminal *TerminalCard
}

// TerminalCard is a committed final card that may be the answer to the click that
// decided: the one exception to the rule that only the ledger edits messages.
type TerminalCard struct {
	Card         presentation.Card
	DeliveryID   string // The clicked message's row.
	CardRevision int64
}

// Prompt asks a person for text: with a message, which Placed records, or with a
// dialog, which carries the id and brings it back in Text.PromptID.
type Prompt struct {
	ID          string
	Text        string // The question, where a message asks it.
	Dialog      string // The question, where a dialog asks it; at most 200 UTF-16 units.
	Placeholder string // At most 64 characters.
	Title       string // For platforms with dialogs; at most 24 characters.
}
