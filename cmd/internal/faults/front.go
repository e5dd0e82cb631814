//go:build unix

package faults

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	healthEvery   = 200 * time.Millisecond
	healthTimeout = 2 * time.Second
	// frontTimeout bounds a request: more than a replica takes over one that it answers.
	frontTimeout = 30 * time.Second
)

// front is the proxy before the fleet and its public address: a request goes to the
// replicas in turn, to those first that said that they are ready, and to the next one
// where a connection is refused. What breaks on the way is a 502.
type front struct {
	server   *http.Server
	listener net.Listener
	turn     atomic.Uint64
	stop     context.CancelFunc
	done     sync.WaitGroup

	mu     sync.Mutex
	ready  map[string]bool // By address.
	pushed map[string]int  // How many pushes of messengers each took.
	all    []string
}

func newFront(ctx context.Context) (*front, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("open the front: %w", err)
	}
	f := &front{listener: l, ready: map[string]bool{}, pushed: map[string]int{}}
	f.server = &http.Server{ReadHeaderTimeout: frontTimeout, ErrorLog: log.New(io.Discard, "", 0), Handler: &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = "http", "fleet", r.In.Host
		},
		Transport: f, FlushInterval: -1, ErrorLog: log.New(io.Discard, "", 0),
	}}
	ctx, f.stop = context.WithCancel(context.WithoutCancel(ctx))
	f.done.Go(func() { _ = f.server.Serve(l) }) // It ends with close.
	f.done.Go(func() { f.watch(ctx) })
	return f, nil
}

func (f *front) url() string { return "http://" + f.listener.Addr().String() }

// pushes is how many pushes of messengers a replica took.
func (f *front) pushes(address string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.pushed[address]
}

// took notes an answer to a push.
func (f *front) took(address string, r *http.Request, resp *http.Response) {
	if strings.HasPrefix(r.URL.Path, "/webhooks/") && resp.StatusCode < http.StatusMultipleChoices {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.pushed[address]++
	}
}

func (f *front) add(address string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all = append(f.all, address)
}

func (f *front) close() error {
	f.stop()
	err := f.server.Close()
	f.done.Wait()
	return err
}

// watch asks every replica whether it is ready.
func (f *front) watch(ctx context.Context) {
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: healthTimeout}
	tick := time.NewTicker(healthEvery)
	defer tick.Stop()
	for {
		var asked sync.WaitGroup
		for _, address := range f.order() {
			asked.Go(func() {
				ready := answers(ctx, c, address)
				f.mu.Lock()
				defer f.mu.Unlock()
				f.ready[address] = ready
			})
		}
		asked.Wait()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// answers reports whether a replica says that it is ready.
func answers(ctx context.Context, c *http.Client, address string) bool {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/readyz", nil)
	if err != nil {
		return false
	}
	resp, err := c.Do(r)
	if err != nil {
		return false
	}
	_ = resp.Body.Close() // It was only asked for its status.
	return resp.StatusCode == http.StatusOK
}

// order lists the replicas in turn, those that are ready first.
func (f *front) order() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.all) == 0 {
		return nil
	}
	first := int(f.turn.Add(1) % uint64(len(f.all)))
	var ready, others []string
	for i := range f.all {
		if a := f.all[(first+i)%len(f.all)]; f.ready[a] {
			ready = append(ready, a)
		} else {
			others = append(others, a)
		}
	}
	return append(ready, others...)
}

var errNobody = errors.New("no replica takes connections")

// RoundTrip implements http.RoundTripper.
func (f *front) RoundTrip(r *http.Request) (*http.Response, error) {
	for _, address := range f.order() {
		conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(r.Context(), "tcp", address)
		if err != nil { // Nothing was sent yet.
			continue
		}
		if err := conn.SetDeadline(time.Now().Add(frontTimeout)); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
		resp, err := (&http.Transport{
			DisableKeepAlives: true,
			DialContext:       func(context.Context, string, string) (net.Conn, error) { return conn, nil },
		}).RoundTrip(r)
		if err == nil {
			f.took(address, r, resp)
		}
		return resp, err
	}
	return nil, errNobody
}
