package slack

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// maxResponse bounds an answer of the platform in bytes.
const maxResponse = 1 << 20

// attempt is what is known of one HTTP call, whatever error came of it.
type attempt struct {
	wrote atomic.Bool // The head of the request was written: it may have had an effect.
	got   atomic.Pointer[response]
}

// response is an answer as far as every method has it in common.
type response struct {
	status     int
	retryAfter time.Duration
	own        bool // In the platform's own form.

	OK       bool   `json:"ok"`
	Error    string `json:"error"`
	Channel  string `json:"channel"`
	TS       string `json:"ts"`
	Metadata struct {
		Messages []string `json:"messages"`
	} `json:"response_metadata"`
}

// code is the platform's name of the error, "" for none.
func (a *attempt) code() string {
	if got := a.got.Load(); got != nil && got.own && !got.OK {
		return got.Error
	}
	return ""
}

type attemptKey struct{}

func withAttempt(ctx context.Context) (context.Context, *attempt) {
	a := new(attempt)
	return context.WithValue(ctx, attemptKey{}, a), a
}

// client carries the library's calls and our own. It reads each answer itself: the
// library forgets what a failed call said, and reports a message that was posted as
// failed when it cannot decode one of its blocks.
type client struct {
	http *http.Client
}

func newClient(transport http.RoundTripper) *client {
	return &client{http: &http.Client{
		Transport: transport,
		// A redirect would carry the token to wherever it points.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Do sends a request and remembers what came of it in the context's attempt.
func (c *client) Do(r *http.Request) (*http.Response, error) {
	a, ok := r.Context().Value(attemptKey{}).(*attempt)
	if !ok {
		a = new(attempt)
	}
	r = r.WithContext(httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{
		WroteHeaders: func() { a.wrote.Store(true) },
	}))
	resp, err := c.http.Do(r) //nolint:gosec // Channel.trusted has checked the URLs of answers.
	if err != nil {
		return nil, strip(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxResponse))
	if err != nil {
		return nil, strip(err)
	}
	got := &response{}
	got.own = json.Unmarshal(body, got) == nil && (got.OK || got.Error != "")
	got.status = resp.StatusCode
	if n, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && n > 0 {
		got.retryAfter = time.Duration(n) * time.Second
	}
	a.got.Store(got)
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}

// strip keeps what callers test for and drops the rest of an error, which may name
// URLs and repeat content.
func strip(err error) error {
	for _, known := range []error{context.Canceled, context.DeadlineExceeded, io.EOF, io.ErrUnexpectedEOF} {
		if errors.Is(err, known) {
			return known
		}
	}
	return errNoAnswer
}

var errNoAnswer = errors.New("the call to the platform broke")

var (
	codeRule    = regexp.MustCompile(`^[a-z0-9_]{1,64}$`)
	pointerRule = regexp.MustCompile(`json-pointer:(/[a-z0-9_/]{1,100})`)
)

// pointers names the fields of a layout that the platform refused, without what
// stands in them.
func (r *response) pointers() string {
	var list []string
	for _, m := range r.Metadata.Messages {
		if p := pointerRule.FindStringSubmatch(m); p != nil && len(list) < 8 {
			list = append(list, p[1])
		}
	}
	return strings.Join(list, " ")
}

// post sends JSON to a response URL.
func (c *client) post(ctx context.Context, url string, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode answer: %w", err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body)) //nolint:gosec // Channel.trusted has checked it.
	if err != nil {
		return errNoAnswer
	}
	r.Header.Set("Content-Type", "application/json; charset=utf-8")
	resp, err := c.Do(r)
	if err != nil {
		return err
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return errRefused
	}
	return nil
}
