package channels

import (
	"fmt"
	"time"

	"github.com/saysohq/sayso/core"
)

// Error is a platform's refusal with the class that decides what happens next.
// Its text never holds a URL, a token or a message's content.
type Error struct {
	Class      core.FailureClass
	Op         string        // "send", "edit", "answer".
	RetryAfter time.Duration // Rate-limited: as the platform said; 0 when it did not.
	Whole      bool          // Rate-limited or auth: the whole account, not only this chat.
	Single     bool          // Rate-limited: this message alone, not its chat.
	Address    string        // Moved: the new address.
	NotSent    bool          // Temporary: nothing left this machine, so a repeated send cannot make a second message.
	Detail     string        // Content-free description.
	Err        error         // Cause, for errors.Is and errors.As.
}

// Error implements error.
func (e *Error) Error() string {
	if e.Detail == "" {
		return fmt.Sprintf("%s: %s", e.Op, e.Class)
	}
	return fmt.Sprintf("%s: %s: %s", e.Op, e.Class, e.Detail)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }
