package telegram

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
)

// maxResponse bounds an answer of the platform in bytes: a batch of updates stops
// at about 4 MB.
const maxResponse = 8 << 20

// attempt is what is known of one HTTP call, whatever error came of it.
type attempt struct {
	wrote  atomic.Bool  // The head of the request was written: it may have had an effect.
	status atomic.Int64 // 0 while no answer came.
}

type attemptKey struct{}

func withAttempt(ctx context.Context) (context.Context, *attempt) {
	a := new(attempt)
	return context.WithValue(ctx, attemptKey{}, a), a
}

// client carries the library's calls and our own. The bot token is part of every
// URL, so no error leaves it that names a URL or the token.
type client struct {
	http  *http.Client
	token string
}

func newClient(transport http.RoundTripper, token string) *client {
	return &client{token: token, http: &http.Client{
		Transport: transport,
		// A redirect would carry the token to wherever it points.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Do sends a request. The library writes its body through a pipe that net/http
// cannot replay on a connection which the server has closed meanwhile; held in
// memory it can, and nothing is sent twice by that.
func (c *client) Do(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		body, err := io.ReadAll(r.Body)
		_ = r.Body.Close() // The writing end reports what goes wrong.
		if err != nil {
			return nil, fmt.Errorf("build request: %w", err)
		}
		r.ContentLength = int64(len(body))
		r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
		r.Body, _ = r.GetBody() // Never fails.
	}
	a, ok := r.Context().Value(attemptKey{}).(*attempt)
	if !ok {
		a = new(attempt)
	}
	r = r.WithContext(httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{
		WroteHeaders: func() { a.wrote.Store(true) },
	}))
	resp, err := c.http.Do(r)
	if err != nil {
		return nil, c.strip(err)
	}
	a.status.Store(int64(resp.StatusCode))
	resp.Body = limited{Reader: io.LimitReader(resp.Body, maxResponse), Closer: resp.Body}
	return resp, nil
}

type limited struct {
	io.Reader
	io.Closer
}

// strip removes the URL, and the token wherever else it may stand.
func (c *client) strip(err error) error {
	if named, ok := errors.AsType[*url.Error](err); ok {
		err = named.Err
	}
	if secret := c.secret(); strings.Contains(err.Error(), secret) {
		return stripped{text: strings.ReplaceAll(err.Error(), secret, "***"), is: sentinel(err)}
	}
	return err
}

// secret is the part of the token that is no public id.
func (c *client) secret() string {
	_, secret, _ := strings.Cut(c.token, ":")
	return secret
}

// stripped stands for an error whose text held the token. It keeps what callers
// test for and drops the rest of the chain, which may hold it too.
type stripped struct {
	text string
	is   error
}

func (s stripped) Error() string { return s.text }
func (s stripped) Unwrap() error { return s.is }

func sentinel(err error) error {
	for _, known := range []error{context.Canceled, context.DeadlineExceeded, io.EOF, io.ErrUnexpectedEOF} {
		if errors.Is(err, known) {
			return known
		}
	}
	return nil
}
