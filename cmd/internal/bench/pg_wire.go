package bench

import (
	"context"
	"net"
	"sync/atomic"
)

// wireCount counts round trips: turns at which an answer is awaited after something
// was sent.
type wireCount struct{ turns atomic.Int64 }

func (w *wireCount) dial(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &countedConn{Conn: c, wire: w}, nil
}

// countedConn is one connection. The driver reads and writes in turns.
type countedConn struct {
	net.Conn
	wire *wireCount
	sent atomic.Bool
}

// Write implements net.Conn.
func (c *countedConn) Write(b []byte) (int, error) {
	c.sent.Store(true)
	return c.Conn.Write(b)
}

// Read implements net.Conn.
func (c *countedConn) Read(b []byte) (int, error) {
	if c.sent.CompareAndSwap(true, false) {
		c.wire.turns.Add(1)
	}
	return c.Conn.Read(b)
}
