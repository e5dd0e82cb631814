package fakes

import (
	"context"
	"sync"
	"time"
)

// Op names what a request wants, in words that all messengers share.
type Op string

// The operations. Each fake maps its methods onto them.
const (
	OpAny     Op = ""
	OpSend    Op = "send"
	OpEdit    Op = "edit"
	OpDelete  Op = "delete"
	OpAnswer  Op = "answer"
	OpReceive Op = "receive"
	OpCheck   Op = "check"
	OpFile    Op = "file"
	OpLookup  Op = "lookup" // Asking about a person.
	OpOpen    Op = "open"   // Opening a direct chat, where that is a call of its own.
)

// FaultKind says how the platform misbehaves.
type FaultKind string

// The kinds of fault that every fake can bring about.
const (
	// FaultRateLimit answers the platform's own "too many requests", with Delay.
	FaultRateLimit FaultKind = "rate-limit"
	// FaultServerError answers a 500 in the platform's own error form.
	FaultServerError FaultKind = "server-error"
	// FaultUndecodable answers a 502 with a page of HTML.
	FaultUndecodable FaultKind = "undecodable"
	// FaultHollow answers a 200 with JSON that says neither yes nor no.
	FaultHollow FaultKind = "hollow"
	// FaultHold keeps the request waiting until Release or until the caller leaves.
	// The effect has not taken place.
	FaultHold FaultKind = "hold"
	// FaultResetBefore breaks the connection before the effect.
	FaultResetBefore FaultKind = "reset-before"
	// FaultResetAfter breaks the connection after the effect: the caller cannot know.
	FaultResetAfter FaultKind = "reset-after"
	// FaultReject refuses the content for good.
	FaultReject FaultKind = "reject"
)

// Fault is one scripted misbehaviour.
type Fault struct {
	Kind    FaultKind
	Op      Op            // OpAny for all.
	Address string        // "" for every chat.
	Delay   time.Duration // FaultRateLimit: as stated to the caller; 0 when the platform says none.
	Times   int           // How often; 0 means once, less than 0 means until Script.Clear.

	release chan struct{}
	hit     chan struct{}
	hitOnce *sync.Once
}

// Hit is closed once the fault was met for the first time.
func (f *Fault) Hit() <-chan struct{} { return f.hit }

// Release lets requests go that a FaultHold keeps waiting.
func (f *Fault) Release() { close(f.release) }

// Hold waits for Release. It returns false when the caller left first.
func (f *Fault) Hold(ctx context.Context) bool {
	select {
	case <-f.release:
		return true
	case <-ctx.Done():
		return false
	}
}

// Script is the list of faults that a fake goes through. Its zero value is ready.
type Script struct {
	mu     sync.Mutex
	faults []*Fault
}

// Add appends a fault and returns it for waiting and releasing.
func (s *Script) Add(f Fault) *Fault {
	if f.Times == 0 {
		f.Times = 1
	}
	f.release, f.hit, f.hitOnce = make(chan struct{}), make(chan struct{}), new(sync.Once)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, &f)
	return &f
}

// Take uses up the first fault that fits, or returns nil.
func (s *Script) Take(op Op, address string) *Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.faults {
		if f.Times == 0 || (f.Op != OpAny && f.Op != op) || (f.Address != "" && f.Address != address) {
			continue
		}
		if f.Times > 0 {
			f.Times--
		}
		f.hitOnce.Do(func() { close(f.hit) })
		return f
	}
	return nil
}

// Clear ends every fault that is left.
func (s *Script) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = nil
}
