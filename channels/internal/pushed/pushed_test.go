package pushed_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/channels/internal/pushed"
)

func TestOnlyPostsAreServed(t *testing.T) {
	t.Parallel()
	h := pushed.Posts(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) })
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPut, http.MethodDelete, http.MethodOptions, "post"} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, "/", http.NoBody))
		require.Equal(t, http.StatusMethodNotAllowed, w.Code, method)
		require.Equal(t, http.MethodPost, w.Header().Get("Allow"))
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", http.NoBody))
	require.Equal(t, http.StatusAccepted, w.Code)
}

func TestBodyIsWholeAndBounded(t *testing.T) {
	t.Parallel()
	full := strings.Repeat("x", pushed.MaxBody)
	tests := map[string]struct {
		body    io.Reader
		want    string
		refusal int
	}{
		"nothing":   {strings.NewReader(""), "", 0},
		"as large":  {strings.NewReader(full), full, 0},
		"too large": {strings.NewReader(full + "x"), "", http.StatusRequestEntityTooLarge},
		"endless":   {endless{}, "", http.StatusRequestEntityTooLarge},
		"broke off": {io.MultiReader(strings.NewReader("{"), iotest.ErrReader(io.ErrUnexpectedEOF)), "", http.StatusBadRequest},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := httptest.NewRecorder()
			body, refusal := pushed.Body(w, io.NopCloser(test.body))
			require.Equal(t, test.refusal, refusal)
			require.Equal(t, test.want, string(body))
			require.Empty(t, w.Body.String(), "the channel answers")
		})
	}
}

// endless is a body that never ends.
type endless struct{}

// Read implements io.Reader.
func (endless) Read(p []byte) (int, error) { return len(p), nil }
