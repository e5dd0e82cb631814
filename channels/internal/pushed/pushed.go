package pushed

import (
	"errors"
	"io"
	"net/http"
)

// MaxBody bounds a body in bytes. What the platforms push has a few KiB.
const MaxBody = 1 << 20

// Posts serves POST, and answers 405 to everything else.
func Posts(serve http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			w.Header().Set("Allow", http.MethodPost)
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		serve(w, r)
	})
}

// Body reads the whole body of a request. Where it cannot be had, refusal is the status that says
// so: 413 beyond MaxBody, 400 when it broke off. Nothing is answered yet.
func Body(w http.ResponseWriter, from io.ReadCloser) (body []byte, refusal int) {
	body, err := io.ReadAll(http.MaxBytesReader(w, from, MaxBody))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, http.StatusRequestEntityTooLarge
	case err != nil:
		return nil, http.StatusBadRequest
	}
	return body, 0
}
