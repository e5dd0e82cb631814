package approvals

import (
	"context"
	"log/slog"

	"github.com/saysohq/sayso/core"
)

// Counter counts final answers; it must not block.
type Counter interface {
	Ended(a *core.Approval)
}

// Ends takes the final answers that a store tells, each once, and counts and logs
// them (R201, R202). The store tells them and not the service, because an approval
// may end in any write: while somebody reads a list, while a card is given up.
type Ends struct {
	counter Counter
	log     *slog.Logger
}

// NewEnds returns a taker whose Record is to be told by the store.
func NewEnds(c Counter, log *slog.Logger) *Ends { return &Ends{counter: c, log: log} }

// Record takes one final answer. It is safe for concurrent use.
func (e *Ends) Record(a core.Approval) {
	e.counter.Ended(&a)
	level, text := slog.LevelInfo, "approval ended"
	if a.Reason == core.ReasonStorageCorrupt {
		level, text = slog.LevelError, "a stored approval was damaged and is denied"
	}
	e.log.LogAttrs(context.Background(), level, text,
		slog.String("approval", a.ID),
		slog.String("kind", string(a.Kind)),
		slog.String("status", string(a.Status)),
		slog.String("reason", string(a.Reason)),
		slog.String("resolver", string(a.ResolverKind)),
		slog.String("surface", string(a.Surface)),
		slog.Int64("latency_ms", int64(a.ResolvedAt-a.CreatedAt)))
}
