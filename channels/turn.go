package channels

import "context"

// Turn runs a job when it is this process's turn to do what few processes of a fleet
// may do at a time: it waits for the turn, runs the job, runs it again after a turn
// that was lost, and returns what the job returned when it ended by itself. The job's
// context ends when the turn is lost, and context.Cause is core.ErrLeaseLost then: from
// that moment on another process may have it, and a job must tell the platform nothing
// that the other one has to know about. What people did and this process has taken is
// finished all the same, because a decision is made once whoever brings it.
//
// The nil Turn is that of a process without others: the job runs at once.
type Turn func(ctx context.Context, job func(ctx context.Context) error) error

// Take waits for the turn and runs the job. It returns nil when ctx ended.
func (t Turn) Take(ctx context.Context, job func(ctx context.Context) error) error {
	if t == nil {
		return job(ctx)
	}
	if err := t(ctx, job); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}
