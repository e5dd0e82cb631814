package redis

import "time"

const (
	// maxPeers bounds what strangers on the channel can make us remember.
	maxPeers = 256
	// presentFor is how long a replica counts after it was last heard: budgets are not
	// divided by those that are gone.
	presentFor = 10 * time.Second
	// missedFor is how long a replica is missed that fell silent without a word. It may
	// be cut off from Redis alone and decide all the same, so that whoever waits here
	// has to look; or dead, and then this must end.
	missedFor = time.Minute
)

// peers are the other replicas, as heard. It is not safe for concurrent use.
type peers struct{ bySender map[string]*peer }

type peer struct {
	seq   uint64 // Of the last message; 0 for not known.
	heard time.Time
}

func newPeers() *peers { return &peers{bySender: make(map[string]*peer)} }

// note records a message. It reports whether messages before it were lost, and false
// for known where there are too many senders to be replicas.
func (p *peers) note(m *message, now time.Time) (lost, known bool) {
	one := p.bySender[m.sender]
	if one == nil {
		if len(p.bySender) >= maxPeers {
			return false, false
		}
		one = &peer{}
		p.bySender[m.sender] = one
	}
	lost = m.seq != one.seq+1 && m.seq > 1
	one.seq, one.heard = m.seq, now
	if m.word == wordBye {
		delete(p.bySender, m.sender)
	}
	return lost, true
}

// resubscribed forgets the sequences, and gives everybody time to be heard again.
func (p *peers) resubscribed(now time.Time) {
	for _, one := range p.bySender {
		one.seq, one.heard = 0, now
	}
}

// look forgets who has been silent for too long. It returns how many replicas are
// present beside this one, and whether any is missed.
func (p *peers) look(now time.Time) (present int, missed bool) {
	for sender, one := range p.bySender {
		switch silence := now.Sub(one.heard); {
		case silence > missedFor:
			delete(p.bySender, sender)
		default:
			if silence <= presentFor {
				present++
			}
			missed = missed || silence > patience
		}
	}
	return present, missed
}
