package client

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"
)

// Config says where the service is and who calls. The zero value of a field takes
// its default.
type Config struct {
	// BaseURL is the address of the service with an optional base path. Required
	// unless Socket is set.
	BaseURL string
	// Socket is the path of the admin socket; it wins over BaseURL.
	Socket string
	// Transport replaces the client's own, for places that need more than a socket's
	// path; nil for none.
	Transport http.RoundTripper
	// Bearer is a runtime's token or a session; "" on the admin socket.
	Bearer string
	// AllowPlainHTTP lets the bearer travel unencrypted to another machine.
	AllowPlainHTTP bool
	// UserAgent names the program; default "sayso-go".
	UserAgent string
	// Timeout bounds one attempt, not counting what it was asked to wait; default 30 s.
	Timeout time.Duration
	// Patience is how long a call goes on trying to reach the service; default 5 s.
	Patience time.Duration
	// WaitPatience is the same for Wait; default until the context ends.
	WaitPatience time.Duration
	// Sleep pauses between attempts; default a timer. Tests replace it.
	Sleep func(ctx context.Context, d time.Duration) error
}

// Client calls one service. It is safe for concurrent use.
type Client struct {
	cfg  Config
	base string // Without a slash at its end.
	http *http.Client
}

// New checks the configuration; it connects to nothing.
func New(cfg Config) (*Client, error) {
	if cfg.UserAgent == "" {
		cfg.UserAgent = "sayso-go"
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = 30 * time.Second
	}
	if cfg.Patience == 0 {
		cfg.Patience = 5 * time.Second
	}
	if cfg.Sleep == nil {
		cfg.Sleep = sleep
	}
	if strings.ContainsAny(cfg.Bearer+cfg.UserAgent, "\r\n") {
		return nil, errors.New("client: bearer and user agent must be of one line")
	}
	base, err := baseOf(&cfg)
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	if cfg.Transport == nil {
		cfg.Transport = transport(cfg.Socket)
	}
	return &Client{cfg: cfg, base: base, http: &http.Client{
		Transport: cfg.Transport,
		// A redirect would carry the bearer to a place that nobody configured.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// Close drops idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

func baseOf(cfg *Config) (string, error) {
	if cfg.Socket != "" {
		return "http://localhost", nil // The name is for the Host header only.
	}
	u, err := url.Parse(cfg.BaseURL)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" ||
		u.Scheme != "http" && u.Scheme != "https" {
		return "", errors.New("base url: must be http or https with a host and an optional path")
	}
	if u.Scheme == "http" && cfg.Bearer != "" && !cfg.AllowPlainHTTP && !loopback(u.Hostname()) {
		return "", errors.New("base url: plain http would show the bearer to the network; use https, or allow it explicitly")
	}
	return strings.TrimSuffix(u.Scheme+"://"+u.Host+u.EscapedPath(), "/"), nil
}

func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}

func transport(socket string) *http.Transport {
	dialer := &net.Dialer{Timeout: 10 * time.Second}
	t := &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           dialer.DialContext,
		TLSHandshakeTimeout:   10 * time.Second,
		ExpectContinueTimeout: time.Second,
		IdleConnTimeout:       90 * time.Second,
		MaxIdleConnsPerHost:   8,
		ForceAttemptHTTP2:     true,
	}
	if socket != "" {
		t.Proxy = nil
		t.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, "unix", socket)
		}
	}
	return t
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// Pauses between attempts: doubled from the shortest to the longest, with jitter,
// so that the callers of a restarted service do not come back all at once.
const (
	shortestPause = 100 * time.Millisecond
	longestPause  = 5 * time.Second
)

// backoff counts the pauses of one call against its patience. What attempts take
// beside the pauses is the business of the call's own timer.
type backoff struct {
	next   time.Duration
	slept  time.Duration
	budget time.Duration // 0 for no limit.
}

// pause returns the next pause, at least as long as the service asked for, and
// false once patience has run out.
func (b *backoff) pause(asked time.Duration) (time.Duration, bool) {
	if b.next == 0 {
		b.next = shortestPause
	}
	d := max(b.next/2+rand.N(b.next/2+1), asked) //nolint:gosec // Jitter needs no secrecy.
	b.next = min(2*b.next, longestPause)
	b.slept += d
	return d, b.budget == 0 || b.slept <= b.budget
}
