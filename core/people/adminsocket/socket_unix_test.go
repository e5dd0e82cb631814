//go:build unix

package adminsocket

import (
	"context"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
)

// shortFolder is a private folder with a path that fits a socket.
func shortFolder(t *testing.T) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "sayso") //nolint:usetesting // t.TempDir is too long for a socket on some systems.
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(folder)) })
	return folder
}

func newServer(path string, h http.HandlerFunc) *Server {
	return New(Config{Path: path, Handler: h, Log: slog.New(slog.DiscardHandler)})
}

// serve listens and runs the server until the returned stop, which waits for it.
func serve(t *testing.T, s *Server) (stop func() error) {
	t.Helper()
	require.NoError(t, s.Listen(t.Context()))
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	return func() error {
		cancel()
		return <-done
	}
}

func get(t *testing.T, c *http.Client, path string) (int, string, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, BaseURL+path, nil)
	require.NoError(t, err)
	response, err := c.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(body), nil
}

func TestTheOperatorReachesTheHandler(t *testing.T) {
	t.Parallel()
	path := filepath.Join(shortFolder(t), "admin.sock")
	stop := serve(t, newServer(path, func(w http.ResponseWriter, r *http.Request) {
		if peer, known := PeerOf(r.Context()); known && (peer.UID != os.Getuid() || peer.PID != os.Getpid()) {
			w.WriteHeader(http.StatusTeapot)
		}
		_, _ = io.WriteString(w, "hello "+r.URL.Path)
	}))
	info, err := os.Lstat(path)
	require.NoError(t, err)
	require.Equal(t, fs.ModeSocket|0o600, info.Mode())

	code, body, err := get(t, Client(path, time.Minute), "/people")
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, code)
	require.Equal(t, "hello /people", body)

	require.NoError(t, stop())
	_, err = os.Lstat(path)
	require.ErrorIs(t, err, fs.ErrNotExist, "the socket goes with the server")
	_, _, err = get(t, Client(path, time.Minute), "/people")
	require.ErrorIs(t, err, fs.ErrNotExist)
}

func TestTheClientFollowsNoRedirect(t *testing.T) {
	t.Parallel()
	path := filepath.Join(shortFolder(t), "admin.sock")
	stop := serve(t, newServer(path, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://example.org/", http.StatusFound)
	}))
	code, _, err := get(t, Client(path, time.Minute), "/")
	require.NoError(t, err)
	require.Equal(t, http.StatusFound, code)
	require.NoError(t, stop())
}

func TestListenTakesOnlyWhatIsFree(t *testing.T) {
	t.Parallel()
	nothing := func(http.ResponseWriter, *http.Request) {}
	tests := []struct {
		name string
		make func(t *testing.T, path string)
		want error
	}{
		{"nothing there", func(*testing.T, string) {}, nil},
		{"the socket of a dead process", func(t *testing.T, path string) {
			dead, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
			require.NoError(t, err)
			dead.SetUnlinkOnClose(false)
			require.NoError(t, dead.Close())
		}, nil},
		{"a living process", func(t *testing.T, path string) {
			stop := serve(t, newServer(path, nothing))
			t.Cleanup(func() { require.NoError(t, stop()) })
		}, ErrInUse},
		{"a file of somebody's", func(t *testing.T, path string) {
			require.NoError(t, os.WriteFile(path, []byte("precious"), 0o600))
		}, core.ErrInvalid},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(shortFolder(t), "admin.sock")
			test.make(t, path)
			s := newServer(path, nothing)
			require.ErrorIs(t, s.Listen(t.Context()), test.want)
			require.NoError(t, s.Close())
		})
	}
	long := newServer(filepath.Join("/", strings.Repeat("x", maxPath)), nothing)
	require.ErrorIs(t, long.Listen(t.Context()), core.ErrInvalid)
	require.ErrorIs(t, ErrInUse, core.ErrUnavailable)
}

func TestARefusedFileIsLeftAlone(t *testing.T) {
	t.Parallel()
	path := filepath.Join(shortFolder(t), "admin.sock")
	require.NoError(t, os.WriteFile(path, []byte("precious"), 0o600))
	require.Error(t, newServer(path, nil).Run(t.Context()))
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "precious", string(content))
}

func TestOnlyTheSameUserAndRootAreAdmitted(t *testing.T) {
	t.Parallel()
	tests := []struct {
		peer, own int
		want      bool
	}{
		{1000, 1000, true},
		{0, 1000, true},
		{0, 0, true},
		{1001, 1000, false},
		{1000, 0, false}, // A service that runs as root does not open itself to its users.
		{-1, 1000, false},
	}
	for _, test := range tests {
		require.Equal(t, test.want, admitted(Peer{UID: test.peer}, test.own), test)
	}
}

// scripted hands out the given connections, then ends.
type scripted struct {
	net.Listener
	conns []net.Conn
}

func (s *scripted) Accept() (net.Conn, error) {
	if len(s.conns) == 0 {
		return nil, net.ErrClosed
	}
	next := s.conns[0]
	s.conns = s.conns[1:]
	return next, nil
}

func TestARefusedPeerIsClosedAndTheListeningGoesOn(t *testing.T) {
	t.Parallel()
	// The kernel cannot vouch for the end of a pipe: it must not be let in.
	stranger, ours := net.Pipe()
	listener := &peerListener{Listener: &scripted{conns: []net.Conn{ours, ours}}, log: slog.New(slog.DiscardHandler)}
	_, err := listener.Accept()
	require.ErrorIs(t, err, net.ErrClosed)
	_, err = stranger.Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF)
}

func TestAStreamDoesNotKeepTheServerFromStopping(t *testing.T) {
	t.Parallel()
	path := filepath.Join(shortFolder(t), "admin.sock")
	began := make(chan struct{})
	stop := serve(t, New(Config{Path: path, Log: slog.New(slog.DiscardHandler), Drain: time.Millisecond, Handler: http.HandlerFunc(
		func(_ http.ResponseWriter, r *http.Request) {
			close(began)
			<-r.Context().Done()
		})}))
	answered := make(chan error, 1)
	go func() {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, BaseURL+"/stream", nil)
		if err == nil {
			var response *http.Response
			if response, err = Client(path, 0).Do(request); err == nil {
				err = response.Body.Close()
			}
		}
		answered <- err
	}()
	<-began
	require.NoError(t, stop())
	require.Error(t, <-answered)
}
