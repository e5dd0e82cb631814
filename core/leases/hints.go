package leases

import (
	"context"
	"log/slog"
	"strings"

	"github.com/saysohq/sayso/core"
)

// hintPrefix stands before the name of a lease in a hint. No id of an approval begins
// so: runtimes have no slash in their names.
const hintPrefix = "lease/"

// Run listens for leases that others give up, until ctx ends, and returns nil then. A
// runner that does not listen finds them at its next look.
func (r *Runner) Run(ctx context.Context) error {
	if r.deps.Bus == nil {
		<-ctx.Done()
		return nil
	}
	for ctx.Err() == nil {
		err := r.deps.Bus.Subscribe(ctx, func(h core.Hint) {
			if strings.HasPrefix(h.ApprovalID, hintPrefix) {
				r.look()
			}
		})
		if ctx.Err() == nil {
			r.deps.Logger.LogAttrs(ctx, slog.LevelWarn, "hints lost: leases are taken over at polling speed", slog.Any("error", err))
			_ = r.pause(ctx, longestLook, nil) // An ended context ends the loop.
		}
	}
	return nil
}

// tell spreads that a lease may be free.
func (r *Runner) tell(ctx context.Context, name string) {
	if r.deps.Bus != nil {
		r.deps.Bus.Publish(context.WithoutCancel(ctx), core.Hint{ApprovalID: hintPrefix + name})
	}
}
