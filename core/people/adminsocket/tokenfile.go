package adminsocket

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"

	"github.com/saysohq/sayso/core"
)

// tokenHeader carries the token. No browser sends it to another origin unasked.
const tokenHeader = "Sayso-Admin-Token" //nolint:gosec // The name of a header, not a token.

// door is the content of the token file.
type door struct {
	Address string `json:"address"` // Loopback address and port.
	Token   string `json:"token"`   // 128 random bits, new at every start.
}

// listenTokenFile is the way in where there are no peer-checked sockets: a loopback
// port that answers only to the token in the file. The file goes with the listener;
// one that a dead process left behind names a token that nobody accepts any more.
func listenTokenFile(ctx context.Context, path string) (net.Listener, func(http.Handler) http.Handler, error) {
	if err := probeTokenFile(ctx, path); err != nil {
		return nil, nil, err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	d := door{Address: listener.Addr().String(), Token: rand.Text()}
	if err := writeDoor(path, d); err != nil {
		_ = listener.Close() // Nobody could find it.
		return nil, nil, err
	}
	guard := func(next http.Handler) http.Handler { return tokenGuard(d.Token, next) }
	return &doorListener{Listener: listener, path: path}, guard, nil
}

// probeTokenFile refuses to take over from a living process.
func probeTokenFile(ctx context.Context, path string) error {
	d, err := readDoor(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, core.ErrInvalid) {
		return nil
	}
	if err != nil {
		return err
	}
	conn, err := (&net.Dialer{Timeout: headerTimeout}).DialContext(ctx, "tcp", d.Address)
	if err != nil {
		return nil //nolint:nilerr // Nobody answers: the file is a leftover.
	}
	_ = conn.Close() // It was only a question.
	return ErrInUse
}

// tokenGuard compares digests in constant time, so that neither the bytes nor the
// length of a guess show in the timing.
func tokenGuard(token string, next http.Handler) http.Handler {
	want := sha256.Sum256([]byte(token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got := sha256.Sum256([]byte(r.Header.Get(tokenHeader)))
		if subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// doorListener removes the file when it closes.
type doorListener struct {
	net.Listener
	path string
}

// Close implements net.Listener.
func (l *doorListener) Close() error {
	err := l.Listener.Close()
	if removed := os.Remove(l.path); removed != nil && !errors.Is(removed, fs.ErrNotExist) && err == nil {
		return removed
	}
	return err
}

// writeDoor replaces the file as a whole.
func writeDoor(path string, d door) error {
	content, err := json.Marshal(d)
	if err != nil {
		return fmt.Errorf("encode token file: %w", err)
	}
	temporary, err := os.CreateTemp(filepath.Dir(path), ".door-*") // Made 0600.
	if err != nil {
		return err
	}
	_, err = temporary.Write(content)
	if closed := temporary.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(temporary.Name(), path)
	}
	if err != nil {
		_ = os.Remove(temporary.Name()) // It is in nobody's way.
	}
	return err
}

func readDoor(path string) (door, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return door{}, err
	}
	var d door
	if err := json.Unmarshal(content, &d); err != nil || d.Address == "" || d.Token == "" {
		return door{}, core.Invalid("token file", "must be one that the service wrote")
	}
	return d, nil
}

// tokenTransport reads the file for every call, because a restart changes it.
type tokenTransport struct {
	path string
	next http.RoundTripper
}

// newTokenTransport goes to the loopback port itself, past any proxy.
func newTokenTransport(path string) http.RoundTripper {
	return &tokenTransport{path: path, next: &http.Transport{
		DialContext:     (&net.Dialer{Timeout: headerTimeout}).DialContext,
		MaxIdleConns:    1,
		IdleConnTimeout: idleTimeout / 2, // Given up before the server does.
	}}
}

// RoundTrip implements http.RoundTripper.
func (t *tokenTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	d, err := readDoor(t.path)
	if err != nil {
		return nil, fmt.Errorf("read token file: %w", err)
	}
	host, _, err := net.SplitHostPort(d.Address)
	if ip := net.ParseIP(host); err != nil || ip == nil || !ip.IsLoopback() {
		return nil, fmt.Errorf("read token file: %w", core.ErrInvalid) // The token goes nowhere else.
	}
	own := r.Clone(r.Context())
	own.URL.Host = d.Address
	own.Header.Set(tokenHeader, d.Token)
	return t.next.RoundTrip(own)
}
