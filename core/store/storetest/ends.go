package storetest

import (
	"context"
	"sync"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
)

// Ends collects the final answers that a store tells. A harness makes one and opens
// its store with Add, again after Reopen.
type Ends struct {
	mu   sync.Mutex
	told []core.Approval
	more chan struct{} // Closed and replaced with each that is told.
}

// NewEnds returns a collection that is empty.
func NewEnds() *Ends { return &Ends{more: make(chan struct{})} }

// Add takes one final answer.
func (e *Ends) Add(a core.Approval) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.told = append(e.told, a)
	close(e.more)
	e.more = make(chan struct{})
}

// of lists what was told of an approval, once anything was or ctx has ended: whoever
// gave up waiting for a write may be faster than the news of it.
func (e *Ends) of(ctx context.Context, id string) []core.Approval {
	for {
		e.mu.Lock()
		var found []core.Approval
		for _, a := range e.told {
			if a.ID == id {
				found = append(found, a)
			}
		}
		more := e.more
		e.mu.Unlock()
		if len(found) > 0 {
			return found
		}
		select {
		case <-more:
		case <-ctx.Done():
			return nil
		}
	}
}

// patience is how long the news of a commit may take.
const patience = 10 * time.Second

// toldOnce holds for every store at the end of every test: each final answer was told
// once, as it stands in the record, whichever call had recorded it, and nothing else
// was (R202).
func (k *kit) toldOnce() {
	k.t.Helper()
	ctx, cancel := context.WithTimeout(k.ctx, patience)
	defer cancel()
	for _, a := range k.everything() {
		k.waitedOnce(a)
		if !a.Status.Terminal() {
			continue
		}
		told := k.h.Ends().of(ctx, a.ID)
		require.Len(k.t, told, 1, "how often the %s of %s was told", a.Status, a.ID)
		require.Equal(k.t, a.Status, told[0].Status)
		require.Empty(k.t, cmp.Diff(a.Resolution, told[0].Resolution))
	}
	k.h.Ends().mu.Lock()
	defer k.h.Ends().mu.Unlock()
	seen := map[string]bool{}
	for _, a := range k.h.Ends().told {
		require.True(k.t, a.Status.Terminal())
		require.False(k.t, seen[a.ID], "%s was told twice", a.ID)
		seen[a.ID] = true
	}
}

// everything lists all rows that can be read.
func (k *kit) everything() []core.Approval {
	k.t.Helper()
	var all []core.Approval
	for q := (core.ListQuery{}); ; {
		page, err := k.List(k.ctx, q)
		require.NoError(k.t, err)
		all = append(all, page.Approvals...)
		if !page.More {
			return all
		}
		last := page.Approvals[len(page.Approvals)-1]
		q.Before = &core.ListCursor{CreatedAt: last.CreatedAt, ID: last.ID}
	}
}
