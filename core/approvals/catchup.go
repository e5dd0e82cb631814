package approvals

import (
	"context"
	"slices"
	"time"

	"github.com/saysohq/sayso/core"
)

// catchUpPause is how long after a failure everything is looked at again.
const catchUpPause = time.Second

// hear passes a hint on. One without an id says that everything may have changed, and
// comes every second while nobody tells this replica anything. If everybody who waits
// then read the record, ten thousand of them would ask the database ten thousand times
// a second, just when it is all that is left. So they are looked at together.
func (s *Service) hear(h core.Hint) {
	if h.ApprovalID != "" {
		s.waiters.look(h)
		return
	}
	select {
	case s.everything <- struct{}{}:
	default: // A look that has not begun is late enough for this hint as well.
	}
}

// catchUp looks at everything whenever it is asked to, until ctx ends.
func (s *Service) catchUp(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.everything:
		}
		for reported := false; ; reported = true {
			err := s.lookAtAll(ctx)
			if err == nil {
				break
			}
			if !reported { // Nothing is lost: whoever waits also looks for themselves.
				s.trouble(ctx, "look at everything", err)
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(catchUpPause):
			}
		}
	}
}

// lookAtAll wakes those whose approval is not as they have seen it.
func (s *Service) lookAtAll(ctx context.Context) error {
	for ids := range slices.Chunk(s.waiters.resting(), core.MaxRevisions) {
		now, err := s.deps.Store.Revisions(ctx, ids)
		if err != nil {
			return err
		}
		for _, id := range ids {
			s.waiters.compare(id, now[id])
		}
	}
	return nil
}

// resting lists what is waited for. Whoever has not read yet is about to, or is reading
// something that may be old already: they read again.
func (w *waiters) resting() []string {
	var ids []string
	for i := range w.shards {
		ids = w.shards[i].resting(ids)
	}
	return ids
}

func (sh *waiterShard) resting(ids []string) []string {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	for id, first := range sh.byID {
		seen := false
		for one := first; one != nil; one = one.next {
			if one.seen.Load() == 0 {
				one.poke()
				continue
			}
			seen = true
		}
		if seen {
			ids = append(ids, id)
		}
	}
	return ids
}

// compare wakes those who have seen another revision; 0 is that of a row that is gone.
func (w *waiters) compare(id string, revision int64) {
	sh := w.shard(id)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	for one := sh.byID[id]; one != nil; one = one.next {
		if one.seen.Load() != revision {
			one.poke()
		}
	}
}
