package core

import "context"

// MaxRevisions is how many approvals Watch.Revisions is asked for at most.
const MaxRevisions = 1000

// Watch is the cheap look of many who wait at once.
type Watch interface {
	// Revisions reads the revision of each of these approvals, in one look: at most
	// MaxRevisions. What does not exist is left out, and deadlines are not applied:
	// whoever finds a change reads the approval itself. Errors: ErrInvalid for more.
	Revisions(ctx context.Context, ids []string) (map[string]int64, error)
}
