package adminsocket

import (
	"net/http"
	"time"
)

// BaseURL is the address of the service for the client of this package. The host
// is only a name: the connection always goes to the socket.
const BaseURL = "http://sayso.internal"

// Client returns a client for the service whose socket is at path. timeout bounds a
// whole call; 0 leaves that to the contexts, for streams. It follows no redirect
// and uses no proxy. Connecting fails with fs.ErrNotExist where no service runs.
func Client(path string, timeout time.Duration) *http.Client {
	return &http.Client{
		Transport: Transport(path),
		Timeout:   timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		},
	}
}

// Transport goes to the socket at path whatever the URL's host is; it is safe for
// concurrent use and, like every transport, belongs to one long-lived client.
func Transport(path string) http.RoundTripper { return transport(path) }
