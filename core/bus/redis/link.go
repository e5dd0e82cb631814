package redis

import "time"

// Timing. Hints are lost unnoticed for at most patience and a tick; while they are
// lost, nobody waits longer than a second for what they would have told.
const (
	beatEvery = 250 * time.Millisecond // Between two beats, and between two looks at the link.
	patience  = 800 * time.Millisecond // Of silence, after which hints count as lost.
	reread    = 900 * time.Millisecond // Between two looks at everything: every fourth tick.
	grace     = 3 * time.Second        // For the first beat on a new subscription.
)

// link is what a replica knows about its own subscription. It is up while our own
// beats come back on it: that proves the way there, Redis, and the way back. It is not
// safe for concurrent use.
type link struct {
	since      time.Time // When the subscription began; zero while there is none.
	heard      time.Time // Our own beat, last; zero before the first.
	resynced   time.Time // When all were told to look at everything, last.
	suspicious bool      // Hints may have been lost, and not all were told yet.
	end        func()    // Ends the subscription.
}

// began starts a subscription: what happened before it was not heard.
func (l *link) began(now time.Time, end func()) {
	*l = link{since: now, suspicious: true, end: end}
}

// beat records that our own beat came back.
func (l *link) beat(now time.Time) {
	if !l.since.IsZero() {
		l.heard = now
	}
}

// up reports whether hints are heard.
func (l *link) up() bool { return !l.heard.IsZero() }

// silent reports whether the subscription has to be given up.
func (l *link) silent(now time.Time) bool {
	if l.up() {
		return now.Sub(l.heard) > patience
	}
	return !l.since.IsZero() && now.Sub(l.since) > grace
}

// cut forgets the subscription and returns what ends it; nil where there was none.
func (l *link) cut() (end func()) {
	end = l.end
	l.since, l.heard, l.end = time.Time{}, time.Time{}, nil
	l.suspicious = true
	return end
}

// due reports whether everybody has to be told to look at everything now, and takes
// it as done.
func (l *link) due(now time.Time) bool {
	if !l.suspicious && l.up() || !l.resynced.IsZero() && now.Sub(l.resynced) < reread {
		return false
	}
	l.suspicious, l.resynced = false, now
	return true
}
