package policy

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
)

// Holder keeps the policy in force, and changes it as a whole: an evaluation works
// with the one that it took. The zero Holder holds none, so that everything asks.
// It is safe for concurrent use.
type Holder struct {
	loading sync.Mutex // One reload at a time; readers never wait for it.
	current atomic.Pointer[loaded]
	fault   atomic.Pointer[error]
}

type loaded struct {
	policy  *Policy
	version int64
}

// Current is the policy in force; nil before the first that was good.
func (h *Holder) Current() *Policy {
	if l := h.current.Load(); l != nil {
		return l.policy
	}
	return nil
}

// Holding implements Source: this process's policy where it is the one with the digest,
// and nil where it is another.
func (h *Holder) Holding(_ context.Context, digest string) *Policy {
	if p := h.Current(); p.Digest() == digest {
		return p
	}
	return nil
}

// Reload builds a policy and puts it in force. A bad one is refused: the policy in
// force stays, and so does Status.Err until a good one comes. changed reports
// whether the digest is another one than before. Errors: those of build.
func (h *Holder) Reload(build func() (*Policy, error)) (changed bool, err error) {
	h.loading.Lock()
	defer h.loading.Unlock()
	p, err := build()
	if err == nil && p == nil {
		err = fmt.Errorf("build policy: %w", errNoPolicy)
	}
	if err != nil {
		err = fmt.Errorf("reload policy: %w", err)
		h.fault.Store(&err)
		return false, err
	}
	h.fault.Store(nil)
	before := h.current.Load()
	if before != nil && before.policy.digest == p.digest {
		return false, nil
	}
	next := &loaded{policy: p, version: 1}
	if before != nil {
		next.version = before.version + 1
	}
	h.current.Store(next)
	return true, nil
}

// Status is what an operator, the readiness check and the other replicas want to
// know of a Holder.
type Status struct {
	Digest  string // Of the policy in force; "" for none.
	Version int64  // Rises by one with every change of it in this process; 0 for none.
	Err     error  // Why the newest tables were refused; nil when they are in force.
}

// Status tells what is in force, and whether something newer was refused.
func (h *Holder) Status() Status {
	var s Status
	if l := h.current.Load(); l != nil {
		s.Digest, s.Version = l.policy.digest, l.version
	}
	if err := h.fault.Load(); err != nil {
		s.Err = *err
	}
	return s
}
