package adminsocket

import (
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
)

// serveTokenFile serves hello behind the token file at path until the test ends.
func serveTokenFile(t *testing.T, path string) net.Listener {
	t.Helper()
	listener, guard, err := listenTokenFile(t.Context(), path)
	require.NoError(t, err)
	server := &http.Server{ReadHeaderTimeout: headerTimeout, Handler: guard(http.HandlerFunc(
		func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") },
	))}
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	t.Cleanup(func() {
		require.NoError(t, server.Close())
		require.ErrorIs(t, <-done, http.ErrServerClosed)
	})
	return listener
}

func fetch(t *testing.T, next http.RoundTripper, url, token string) (int, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	if token != "" {
		request.Header.Set(tokenHeader, token)
	}
	response, err := (&http.Client{Transport: next, Timeout: time.Minute}).Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	return response.StatusCode, nil
}

func TestTheTokenFileOpensTheDoor(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "admin.json")
	listener := serveTokenFile(t, path)
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o600), info.Mode().Perm())

	code, err := fetch(t, newTokenTransport(path), BaseURL, "")
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, code)

	plain := &http.Transport{}
	t.Cleanup(plain.CloseIdleConnections)
	for _, token := range []string{"", "guess"} {
		code, err = fetch(t, plain, "http://"+listener.Addr().String(), token)
		require.NoError(t, err)
		require.Equal(t, http.StatusNotFound, code)
	}
}

func TestTheTokenFileGoesWithTheListener(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "admin.json")
	listener, _, err := listenTokenFile(t.Context(), path)
	require.NoError(t, err)
	_, _, err = listenTokenFile(t.Context(), path)
	require.ErrorIs(t, err, ErrInUse)
	leftover, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	_, err = fetch(t, newTokenTransport(path), BaseURL, "")
	require.ErrorIs(t, err, fs.ErrNotExist)

	// What a dead process left behind is replaced.
	require.NoError(t, os.WriteFile(path, leftover, 0o600))
	listener, _, err = listenTokenFile(t.Context(), path)
	require.NoError(t, err)
	require.NoError(t, listener.Close())
}

func TestTheTokenGoesNowhereButToLoopback(t *testing.T) {
	t.Parallel()
	for _, content := range []string{
		`{"address":"192.0.2.1:80","token":"t"}`, `{"address":"example.org:80","token":"t"}`,
		`{"address":"127.0.0.1","token":"t"}`, `{"token":"t"}`, `not json`,
	} {
		path := filepath.Join(t.TempDir(), "admin.json")
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		_, err := fetch(t, newTokenTransport(path), BaseURL, "")
		require.ErrorIs(t, err, core.ErrInvalid, content)
	}
}
