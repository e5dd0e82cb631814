package deliveries

import (
	"context"
	"errors"
	"fmt"

	"github.com/saysohq/sayso/core"
)

// Rights are read when a card leaves, not only when it was planned: minutes or days of
// escalation, retries and queues may lie between. Whoever may not decide any more gets
// nothing new about a question that waits. What they were shown before is driven to
// the outcome like every other card: a message of ours never goes on asking.

// entitled reports whether a new message about a question that waits may go to the
// person of this row, who may decide it as far as the store knows now. When it may
// not, the row has been closed, or given back where nobody can tell.
func (t *turn) entitled(ctx context.Context) bool {
	may, err := t.mayBeTold(ctx)
	switch {
	case err != nil:
		t.storeTrouble(ctx, "read rights", err)
		return false
	case !may:
		t.closeFailed(ctx, failure{class: core.FailureNotEntitled, text: "this person may not decide it any more"})
		return false
	}
	return true
}

// mayBeTold applies the rule by which the row was planned once more. A shared chat has
// no rights to lose.
func (t *turn) mayBeTold(ctx context.Context) (bool, error) {
	if t.d.PersonID == "" {
		return true, nil
	}
	p, err := t.w.deps.People.Principal(ctx, t.d.PersonID)
	switch {
	case errors.Is(err, core.ErrNotFound):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("read person: %w", err)
	}
	var owners []string
	if p.Role != core.RoleAdmin && t.a.Reviewers == nil {
		if owners, err = t.w.deps.People.Owners(ctx, t.a.Runtime, t.a.Agent); err != nil {
			return false, fmt.Errorf("read owners: %w", err)
		}
	}
	return core.MayDecide(&p, &t.a, owners), nil
}
