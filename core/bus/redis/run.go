package redis

import (
	"context"
	"sync"
	"time"

	"github.com/saysohq/sayso/core"
)

// Run connects the replica to the others until ctx ends, and returns its error. A
// Redis that cannot be reached is tried again for ever. It is for one call: when it
// returns, the connections are closed, and the bus only serves its own process.
//
// Whoever publishes should have ended before: Run tells what it was given, says
// goodbye, and what comes later is told to nobody.
func (b *Bus) Run(ctx context.Context) error {
	defer func() { _ = b.client.Close() }() // Nothing is left to be told.
	var wg sync.WaitGroup
	wg.Go(func() { b.listen(ctx) })
	wg.Go(func() { b.speak(ctx) })
	wg.Go(func() { b.watch(ctx) })
	wg.Wait()
	return ctx.Err()
}

// speak sends what waits in the outbox, in as few messages as the network allows, and
// a beat in every interval. Hints that gather while a message is on its way share
// the next one, so that nobody waits for a timer.
func (b *Bus) speak(ctx context.Context) {
	s := speaker{bus: b}
	beat := time.NewTicker(beatEvery)
	defer beat.Stop()
	s.say(ctx, wordBeat, nil)
	for {
		select {
		case <-ctx.Done():
			s.leave(ctx)
			return
		case <-beat.C:
			hints, lost := b.outbox.take()
			s.skip(lost)
			s.say(ctx, wordBeat, hints)
		case <-b.outbox.wake:
		}
		s.drain(ctx)
	}
}

// speaker numbers the messages of this process.
type speaker struct {
	bus *Bus
	seq uint64
}

// skip leaves a number out where hints were dropped.
func (s *speaker) skip(lost bool) {
	if lost {
		s.seq++
	}
}

// drain sends until nothing waits, which it reports, or a message fails.
func (s *speaker) drain(ctx context.Context) bool {
	for {
		hints, lost := s.bus.outbox.take()
		s.skip(lost)
		if len(hints) == 0 {
			return true
		}
		if !s.say(ctx, wordBeat, hints) {
			return false
		}
	}
}

// say publishes one message, once: whether one arrived whose answer was lost is told
// by its number. A failure closes the outbox until a beat gets through.
func (s *speaker) say(ctx context.Context, w word, hints []core.Hint) bool {
	s.seq++
	m := message{sender: s.bus.self, seq: s.seq, word: w, hints: hints}
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	err := s.bus.client.Publish(limited, s.bus.channel, m.encode()).Err()
	s.bus.said(err)
	if err != nil {
		s.bus.deps.Metrics.dropped(len(hints) + s.bus.outbox.close())
		return false
	}
	s.bus.deps.Metrics.published(len(hints))
	s.bus.outbox.open()
	return true
}

// leave tells what is left and says goodbye, so that nobody misses this replica.
func (s *speaker) leave(ctx context.Context) {
	if s.bus.outbox.reaches() && s.drain(ctx) {
		s.say(ctx, wordBye, nil)
	}
	s.bus.deps.Metrics.dropped(s.bus.outbox.close())
}
