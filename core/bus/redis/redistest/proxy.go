package redistest

import (
	"context"
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// Proxy stands between a client and a server. It is safe for concurrent use.
type Proxy struct {
	target string
	listen net.Listener
	done   sync.WaitGroup

	mu    sync.Mutex
	flow  chan struct{} // Closed while bytes flow.
	conns map[net.Conn]struct{}
}

// Before puts a proxy before a server, for the life of the test.
func Before(t testing.TB, s Server) *Proxy {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &Proxy{target: s.Socket(), listen: l, flow: make(chan struct{}), conns: make(map[net.Conn]struct{})}
	close(p.flow)
	p.done.Go(p.accept)
	t.Cleanup(func() {
		require.NoError(t, l.Close())
		p.Resume()
		p.Cut()
		p.done.Wait()
	})
	return p
}

// URL is the address of the server through the proxy.
func (p *Proxy) URL() string { return "redis://" + p.listen.Addr().String() }

// Stall lets nothing through any more, in either direction, and breaks nothing: this
// is what a partition looks like. Connections are still accepted.
func (p *Proxy) Stall() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.flow:
		p.flow = make(chan struct{})
	default:
	}
}

// Resume lets everything through again, what was held up included.
func (p *Proxy) Resume() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.flow:
	default:
		close(p.flow)
	}
}

// Cut breaks all connections. New ones are accepted.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		c.Close()
	}
}

func (p *Proxy) accept() {
	for {
		in, err := p.listen.Accept()
		if err != nil {
			return
		}
		p.done.Go(func() { p.serve(in) })
	}
}

func (p *Proxy) serve(in net.Conn) {
	defer in.Close()
	out, err := (&net.Dialer{}).DialContext(context.Background(), "unix", p.target)
	if err != nil {
		return
	}
	defer out.Close()
	p.keep(in, out)
	defer p.forget(in, out)
	var both sync.WaitGroup
	both.Go(func() { p.copy(out, in) })
	both.Go(func() { p.copy(in, out) })
	both.Wait()
}

func (p *Proxy) keep(conns ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		p.conns[c] = struct{}{}
	}
}

func (p *Proxy) forget(conns ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		delete(p.conns, c)
	}
}

// copy ends both connections when one of them ends.
func (p *Proxy) copy(to, from net.Conn) {
	defer to.Close()
	defer from.Close()
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		p.mu.Lock()
		flow := p.flow
		p.mu.Unlock()
		<-flow
		if n > 0 {
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
