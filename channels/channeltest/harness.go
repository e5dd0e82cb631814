package channeltest

import (
	"context"
	"log/slog"
	"testing"

	"github.com/saysohq/sayso/callbacks"
	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/channels/fakes"
	"github.com/saysohq/sayso/core"
)

// Factory makes a harness with its own platform for one case; it cleans up with t.
type Factory func(t *testing.T) *Harness

// Harness is one platform with one bot account, and how it differs from others.
type Harness struct {
	// Open makes a channel of the account, as a new process would. It must not
	// share anything with channels that were opened before.
	Open func(t *testing.T, o Options) channels.Channel
	// Platform is the fake's side.
	Platform Platform

	Direct string // Address of Owner's direct chat.
	Group  string // Address of a shared chat.
	Thread string // Address of a thread or topic in a shared chat.
	Owner  string // Stable id of a person.
	Other  string // Stable id of another person, who is in the shared chats.
	Realm  string // Realm of both ids.

	// Secrets must never show in an error or a log: tokens, URLs that hold them.
	Secrets []string

	// Differences between the platforms.

	// PayloadLimit is the longest payload of a button, in bytes.
	PayloadLimit int
	// EditDeleted is the outcome of editing a message that somebody deleted.
	EditDeleted core.DeliveryOutcome
	// OncePerNonce is true where repeated sends with one nonce make one message;
	// elsewhere each makes its own.
	OncePerNonce bool
	// Redelivers is true where the platform keeps a click until somebody confirms it,
	// and hands it out again until then. Elsewhere the person sees an error when
	// nobody listens, and presses again.
	Redelivers bool
	// Refused names accounts in the shared chat that may never decide, each with the
	// words that say why; nil where no such account can press a button.
	Refused map[string]string
	// PromptsPlaced is true where a prompt is a message with a locator, which
	// Placed records; elsewhere it is a dialog that carries the prompt's id.
	PromptsPlaced bool
	// Alerts is true where an answer to a click can stand out from the others;
	// elsewhere all of them look alike.
	Alerts bool
	// AnswersWithCard is true where the answer to a click can edit the clicked message
	// and so be the final card; elsewhere it is always words.
	AnswersWithCard bool
	// EndsSeen is true where a person sees that a click has ended even without a
	// text; elsewhere an empty answer shows nothing.
	EndsSeen bool
	// HearsGroups is true where the bot is told of replies to its messages in shared
	// chats; elsewhere free text reaches it in direct chats alone.
	HearsGroups bool
	// ReplyAddress is the address at which a reply to a message stands, where a reply
	// opens or continues a thread; nil where it stands beside the message and names it.
	ReplyAddress func(address, locator string) string
	// MoveChat lets the platform give the shared chat a new address, which it
	// returns; nil where chats never move.
	MoveChat func() string
	// Forward presses a button on a forwarded copy; nil where copies have no buttons.
	Forward func(p Press) (string, error)
}

// Options of a channel under test.
type Options struct {
	Codec  *callbacks.Codec
	Logger *slog.Logger
	// BadToken opens it with credentials that the platform refuses.
	BadToken bool
	// Unreachable opens it against an address where nobody listens.
	Unreachable bool
	// Turn is taken to receive.
	Turn channels.Turn
}

// Platform is the fake as a test sees it. All fields are set.
type Platform struct {
	Script       *fakes.Script
	Violations   func() []string
	Message      func(locator string) (fakes.Message, bool)
	Messages     func() []fakes.Message
	AwaitMessage func(ctx context.Context, fits func(fakes.Message) bool) (fakes.Message, error)
	// Press presses a button and returns a name for its answer.
	Press      func(p Press) (string, error)
	AwaitReply func(ctx context.Context, press string) (fakes.Reply, error)
	// Type writes a message and returns its stable id.
	Type func(t Typed) (string, error)
	// AnswerPrompt answers the question that a press opened.
	AnswerPrompt func(ctx context.Context, press, person, text string) error
	Delete       func(locator string) error
	// CloseChat removes the bot from a chat for good.
	CloseChat func(address string)
	// Revoke makes the account's credentials useless.
	Revoke func()
	// AwaitListening waits until exactly so many running channels would be handed
	// what people do. Where the platform keeps it for later nothing need be waited for.
	AwaitListening func(ctx context.Context, channels int) error
	// AwaitConfirmed waits until the platform holds no event that it would hand out
	// again.
	AwaitConfirmed func(ctx context.Context) error
}

// Press is a pressed button.
type Press struct {
	Person  string
	Message string // Locator.
	Label   string // The button.
	Forged  string // A payload that no button has, from a modified client; then Label is not used.
}

// Typed is a written message.
type Typed struct {
	Person  string
	Address string
	Text    string
	ReplyTo string // Locator; "" for none.
	// Attached sends a file with the text.
	Attached bool
}

// Run runs the suite.
func Run(t *testing.T, factory Factory) {
	t.Helper()
	t.Parallel()
	for _, group := range []struct {
		name  string
		cases []testCase
	}{
		{"Send", sendCases()},
		{"Fail", failureCases()},
		{"Text", textCases()},
		{"Click", clickCases()},
		{"FinalCard", finalCardCases()},
		{"Typed", typedCases()},
		{"Settled", settledCases()},
		{"Menu", menuCases()},
		{"Looks", lookCases()},
		{"Restart", restartCases()},
		{"Turn", turnCases()},
		{"Doctor", doctorCases()},
	} {
		t.Run(group.name, func(t *testing.T) {
			t.Parallel()
			for _, c := range group.cases {
				t.Run(c.name, func(t *testing.T) {
					t.Parallel()
					c.run(t, setup(t, factory))
				})
			}
		})
	}
}

type testCase struct {
	name string
	run  func(t *testing.T, b *bundle)
}
