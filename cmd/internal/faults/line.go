//go:build unix

package faults

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// line carries one replica's connections to a server, both on Unix sockets, and is
// where the network goes wrong. It is safe for concurrent use.
type line struct {
	folder   string
	target   string
	listener net.Listener
	done     sync.WaitGroup

	mu     sync.Mutex
	down   bool          // New connections are refused.
	delay  time.Duration // Of every piece, in each direction.
	flow   chan struct{} // Closed while bytes flow.
	commit func() commitCut
	conns  map[net.Conn]struct{}
	met    map[met]int
}

// met is what a fault of the line did to whoever used it: the proof that it happened to
// somebody.
type met string

const (
	metRefused met = "connections refused"
	metHeld    met = "pieces held up"
	metDelayed met = "pieces delayed"
	metServer  met = "connections that the server broke"
	metUnsent  met = "commits cut before they were sent"
	metUnheard met = "commits cut before their answer"
	metDone    met = "commits that were done, and whose answer was lost"
)

// commitCut says what becomes of a connection that is about to commit.
type commitCut string

const (
	cutNothing commitCut = ""
	cutBefore  commitCut = "before it is sent"
	cutAfter   commitCut = "before its answer"
)

// newLine lays a line to the socket at target, at a socket with the given name.
func newLine(target, name string) (*line, error) {
	folder, err := os.MkdirTemp("", "sayso-line-") // Short, because a socket's path has a limit.
	if err != nil {
		return nil, fmt.Errorf("make folder: %w", err)
	}
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "unix", filepath.Join(folder, name))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lay line: %w", err), os.RemoveAll(folder))
	}
	n := &line{
		folder: folder, target: target, listener: l, flow: make(chan struct{}),
		conns: map[net.Conn]struct{}{}, met: map[met]int{},
	}
	close(n.flow)
	n.done.Go(n.accept)
	return n, nil
}

// socket is the path that the replica connects to.
func (n *line) socket() string { return n.listener.Addr().String() }

func (n *line) close() error {
	err := n.listener.Close()
	n.mend()
	n.sever()
	n.done.Wait()
	return errors.Join(err, os.RemoveAll(n.folder))
}

// sever breaks all connections. New ones are accepted, unless the line is down.
func (n *line) sever() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for c := range n.conns {
		_ = c.Close() // Its own goroutine may have been faster.
	}
}

// lower breaks all connections and refuses new ones.
func (n *line) lower() {
	n.mu.Lock()
	n.down = true
	n.mu.Unlock()
	n.sever()
}

// stall lets nothing through any more and breaks nothing, as a partition does.
func (n *line) stall() {
	n.mu.Lock()
	defer n.mu.Unlock()
	select {
	case <-n.flow:
		n.flow = make(chan struct{})
	default:
	}
}

// slow delays whatever passes.
func (n *line) slow(d time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.delay = d
}

// cutCommits asks choose for every piece that would commit something.
func (n *line) cutCommits(choose func() commitCut) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.commit = choose
}

// mend undoes all of it; what was held up goes through.
func (n *line) mend() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.down, n.delay, n.commit = false, 0, nil
	select {
	case <-n.flow:
	default:
		close(n.flow)
	}
}

func (n *line) accept() {
	for {
		near, err := n.listener.Accept()
		if err != nil {
			return
		}
		n.done.Go(func() { n.carry(near) })
	}
}

func (n *line) carry(near net.Conn) {
	defer near.Close()
	far, err := (&net.Dialer{}).DialContext(context.Background(), "unix", n.target)
	if err != nil {
		return
	}
	defer far.Close()
	if !n.keep(near, far) {
		return
	}
	defer n.forget(near, far)
	var swallow swallowed
	var both sync.WaitGroup
	both.Go(func() { n.copy(far, near, n.toServer(&swallow)) })
	both.Go(func() {
		if n.copy(near, far, n.fromServer(&swallow)) {
			n.count(metServer)
		}
	})
	both.Wait()
}

// swallowed says that the next answer of a server is not passed on.
type swallowed struct {
	mu  sync.Mutex
	set bool
}

func (s *swallowed) yes() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.set
}

// toServer looks at what goes to the server: false breaks the connection instead.
func (n *line) toServer(swallow *swallowed) func([]byte) bool {
	return func(piece []byte) bool {
		n.mu.Lock()
		defer n.mu.Unlock()
		if n.commit == nil || !commits(piece) {
			return true
		}
		cut := n.commit()
		switch cut {
		case cutBefore:
			n.met[metUnsent]++
		case cutAfter:
			n.met[metUnheard]++
			swallow.mu.Lock()
			swallow.set = true
			swallow.mu.Unlock()
		case cutNothing:
		}
		return cut != cutBefore
	}
}

// fromServer looks at what comes from the server: false breaks the connection instead.
func (n *line) fromServer(swallow *swallowed) func([]byte) bool {
	return func(piece []byte) bool {
		if !swallow.yes() {
			return true
		}
		if committed(piece) {
			n.count(metDone)
		}
		return false
	}
}

func (n *line) count(what met) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.met[what]++
}

// counted tells how often something was met.
func (n *line) counted(what met) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.met[what]
}

func (n *line) keep(conns ...net.Conn) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.down {
		n.met[metRefused]++
		return false
	}
	for _, c := range conns {
		n.conns[c] = struct{}{}
	}
	return true
}

func (n *line) forget(conns ...net.Conn) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range conns {
		delete(n.conns, c)
	}
}

// copy passes pieces on until one end is gone or passes says no, and ends both. It
// reports whether it was the end it reads from that went first.
func (n *line) copy(to, from net.Conn, passes func([]byte) bool) (gone bool) {
	defer to.Close()
	defer from.Close()
	buffer := make([]byte, 256<<10)
	for {
		size, err := from.Read(buffer)
		n.travel()
		if size > 0 {
			if !passes(buffer[:size]) {
				return false
			}
			if _, err := to.Write(buffer[:size]); err != nil {
				return false
			}
		}
		if err != nil && !errors.Is(err, io.ErrNoProgress) {
			return !errors.Is(err, net.ErrClosed)
		}
	}
}

// travel is the time that a piece takes.
func (n *line) travel() {
	n.mu.Lock()
	flow, delay := n.flow, n.delay
	select {
	case <-flow:
	default:
		n.met[metHeld]++
	}
	if delay > 0 {
		n.met[metDelayed]++
	}
	n.mu.Unlock()
	<-flow
	if delay > 0 {
		<-time.After(delay) // The fault itself: a slow network.
	}
}
