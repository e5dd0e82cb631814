//go:build unix

package e2e_test

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/channels/fakes"
)

// patiently is the pause between two looks at another process.
const patiently = 20 * time.Millisecond

// front is the proxy before a fleet, as simple as they come: a request goes to the
// first replica that takes the connection, and what breaks on the way is a 502.
type front struct {
	server *httptest.Server
	signal fakes.Signal

	mu       sync.Mutex
	replicas []*replica
	passed   []passed
}

// passed is a request that was handed on.
type passed struct {
	to   *replica
	path string // With its query.
}

func newFront(t *testing.T) *front {
	t.Helper()
	f := &front{}
	f.server = httptest.NewServer(&httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.Out.URL.Scheme, r.Out.Host = "http", r.In.Host },
		Transport:     f,
		FlushInterval: -1,
		ErrorLog:      log.New(io.Discard, "", 0),
	})
	t.Cleanup(func() {
		f.server.CloseClientConnections()
		f.server.Close()
	})
	return f
}

func (f *front) url() string { return f.server.URL }

func (f *front) add(r *replica) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.replicas = append(f.replicas, r)
}

// prefer lets requests go to a replica first.
func (f *front) prefer(r *replica) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.replicas = slices.DeleteFunc(slices.Clone(f.replicas), func(other *replica) bool { return other == r })
	f.replicas = slices.Insert(f.replicas, 0, r)
}

// RoundTrip implements http.RoundTripper.
func (f *front) RoundTrip(r *http.Request) (*http.Response, error) {
	f.mu.Lock()
	replicas := slices.Clone(f.replicas)
	f.mu.Unlock()
	var failed error
	for _, to := range replicas {
		var d net.Dialer
		conn, err := d.DialContext(r.Context(), "tcp", to.listen)
		if err != nil { // It is not there: nothing was sent yet.
			failed = err
			continue
		}
		f.note(passed{to, r.URL.RequestURI()})
		return through(conn, r)
	}
	return nil, failed
}

// through sends a request over a connection that is for it alone.
func through(conn net.Conn, r *http.Request) (*http.Response, error) {
	t := &http.Transport{
		DisableKeepAlives: true,
		DialContext:       func(context.Context, string, string) (net.Conn, error) { return conn, nil },
	}
	out := r.Clone(r.Context())
	out.URL.Host = conn.RemoteAddr().String()
	return t.RoundTrip(out)
}

func (f *front) note(p passed) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.passed = append(f.passed, p)
	f.signal.Notify()
}

// await waits until so many requests that hold a text were handed to a replica.
func (f *front) await(to *replica, text string, n int) {
	to.t.Helper()
	_, err := fakes.Await(to.ctx, &f.signal, func() (int, bool) {
		f.mu.Lock()
		defer f.mu.Unlock()
		count := 0
		for _, p := range f.passed {
			if p.to == to && strings.Contains(p.path, text) {
				count++
			}
		}
		return count, count >= n
	})
	require.NoError(to.t, err, "not %d requests with %q", n, text)
}

// cable carries connections to a server, until it is cut and when it is mended.
type cable struct {
	listener net.Listener
	network  string
	target   string

	mu    sync.Mutex
	cut   bool
	ends  map[net.Conn]bool
	group sync.WaitGroup
}

func newCable(t *testing.T, network, at, target string) *cable {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(context.Background(), network, at)
	require.NoError(t, err)
	c := &cable{listener: l, network: network, target: target, ends: map[net.Conn]bool{}}
	c.group.Go(c.accept)
	t.Cleanup(func() {
		_ = l.Close() // It ends the loop.
		c.sever()
		c.group.Wait()
	})
	return c
}

// cablePostgres lays a cable to a server that listens on a Unix socket, and returns
// the connection string through it.
func cablePostgres(t *testing.T, dsn string) (*cable, string) {
	t.Helper()
	u, err := url.Parse(dsn)
	require.NoError(t, err)
	folder, err := os.MkdirTemp("", "sayso-cable-") //nolint:usetesting // Short, because a socket's path has a limit.
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(folder)) })
	const socket = ".s.PGSQL.5432"
	q := u.Query()
	c := newCable(t, "unix", filepath.Join(folder, socket), filepath.Join(q.Get("host"), socket))
	q.Set("host", folder)
	u.RawQuery = q.Encode()
	return c, u.String()
}

func (c *cable) accept() {
	for {
		conn, err := c.listener.Accept()
		if err != nil {
			return
		}
		c.group.Go(func() { c.carry(conn) })
	}
}

func (c *cable) carry(near net.Conn) {
	defer near.Close()
	if !c.hold(near) {
		return
	}
	defer c.drop(near)
	far, err := (&net.Dialer{}).DialContext(context.Background(), c.network, c.target)
	if err != nil {
		return
	}
	defer far.Close()
	if !c.hold(far) {
		return
	}
	defer c.drop(far)
	var both sync.WaitGroup
	for _, way := range [][2]net.Conn{{near, far}, {far, near}} {
		both.Go(func() {
			_, _ = io.Copy(way[0], way[1]) // However it ends, both ends are closed.
			_ = way[0].Close()
			_ = way[1].Close()
		})
	}
	both.Wait()
}

// hold keeps a connection where a cut finds it; false when the cable is cut.
func (c *cable) hold(conn net.Conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.cut {
		c.ends[conn] = true
	}
	return !c.cut
}

func (c *cable) drop(conn net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.ends, conn)
}

// sever breaks what passes and lets nothing through any more.
func (c *cable) sever() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut = true
	for conn := range c.ends {
		_ = conn.Close() // The other goroutine may have been faster.
	}
}

// mend lets connections through again.
func (c *cable) mend() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut = false
}
