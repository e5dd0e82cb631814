package storetest

import (
	"context"
	"sync"

	"github.com/saysohq/sayso/core"
)

// asSeen is a store whose callers bring the row that they saw along with their
// decision, as the service does: the row as it was made, however much has happened to
// it since. A store may take a shorter way then, which must promise the same.
type asSeen struct {
	core.Approvals
	rows *seenRows
}

// seenRows outlive a reopening of the store, as a caller's memory does.
type seenRows struct {
	mu   sync.Mutex
	made map[string]core.Approval
}

// Create implements core.Approvals.
func (s asSeen) Create(ctx context.Context, n core.NewApproval) (core.Created, error) {
	created, err := s.Approvals.Create(ctx, n)
	if err == nil && !created.Existing {
		s.rows.mu.Lock()
		defer s.rows.mu.Unlock()
		s.rows.made[created.Approval.ID] = created.Approval
	}
	return created, err
}

// Decide implements core.Approvals.
func (s asSeen) Decide(ctx context.Context, d core.Decide) (core.Decided, error) {
	s.rows.mu.Lock()
	made, ok := s.rows.made[d.ID]
	s.rows.mu.Unlock()
	if ok && d.Seen == nil {
		d.Seen = &made
	}
	return s.Approvals.Decide(ctx, d)
}

// seeing makes the callers of this subtest bring what they saw.
func (k *kit) seeing() *kit {
	k.seen = &seenRows{made: map[string]core.Approval{}}
	k.use()
	return k
}

// use takes the store as it is open now.
func (k *kit) use() {
	k.Store = k.h.Store()
	if k.seen != nil {
		k.Approvals = asSeen{k.Approvals, k.seen}
	}
}
