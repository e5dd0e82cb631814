package fakes

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Signal wakes everybody who waits for a change. Its zero value is ready.
type Signal struct {
	mu sync.Mutex
	ch chan struct{}
}

// Changed returns a channel that the next Notify closes. Take it before looking
// at the state, or a change in between is missed.
func (s *Signal) Changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ch == nil {
		s.ch = make(chan struct{})
	}
	return s.ch
}

// Notify wakes all waiters.
func (s *Signal) Notify() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ch != nil {
		close(s.ch)
		s.ch = nil
	}
}

// Await looks until find reports true or ctx ends. It looks again after every
// change and never sleeps.
func Await[T any](ctx context.Context, s *Signal, find func() (T, bool)) (T, error) {
	for {
		changed := s.Changed()
		if v, ok := find(); ok {
			return v, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			var zero T
			return zero, fmt.Errorf("wait for the fake: %w", ctx.Err())
		}
	}
}

// Clock is a clock that only moves when told to, so that the platform's time
// limits can be tested without waiting for them.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock starts at a fixed time.
func NewClock() *Clock {
	return &Clock{now: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)}
}

// Now returns the clock's time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}
