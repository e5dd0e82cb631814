package discord

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"time"

	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/core"
)

// maxResponse bounds an answer of the platform in bytes; those that are read here
// have a few KiB.
const maxResponse = 4 << 20

// userAgent has the form that the platform asks for.
const userAgent = "DiscordBot (https://github.com/saysohq/sayso, 1)"

func newClient(transport http.RoundTripper) *http.Client {
	return &http.Client{
		Transport: transport,
		// A redirect would carry the token to wherever it points.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// call makes one call with a JSON body within the time that a platform call may
// take, and reads the answer into out. Neither the URL, which may hold the token of
// an interaction, nor what the platform said in words is part of any error.
func (c *Channel) call(ctx context.Context, op, method, path string, body, out any) (refusal, *channels.Error) {
	var raw []byte
	if body != nil {
		var err error
		if raw, err = json.Marshal(body); err != nil {
			return refusal{}, &channels.Error{Class: core.FailureRejected, Op: op, Detail: "the request cannot be encoded", NotSent: true}
		}
	}
	return c.callRaw(ctx, op, method, path, "application/json", raw, out)
}

func (c *Channel) callRaw(ctx context.Context, op, method, path, contentType string, body []byte, out any) (refusal, *channels.Error) {
	ctx, cancel := context.WithTimeout(ctx, core.CallTimeout)
	defer cancel()
	var a attempt
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { a.wrote.Store(true) }})
	r, err := http.NewRequestWithContext(ctx, method, c.cfg.APIBase+"/"+path, bytes.NewReader(body))
	if err != nil {
		return refusal{}, &channels.Error{Class: core.FailureRejected, Op: op, Detail: "the address of the API is malformed", NotSent: true}
	}
	r.Header.Set("User-Agent", userAgent)
	if !strings.HasPrefix(path, "interactions/") && !strings.HasPrefix(path, "webhooks/") { // Those carry their own token.
		r.Header.Set("Authorization", "Bot "+c.cfg.Token)
	}
	if body != nil {
		r.Header.Set("Content-Type", contentType)
	}
	resp, err := c.http.Do(r)
	if err != nil {
		return refusal{}, broken(op, err, &a)
	}
	defer func() { _ = resp.Body.Close() }()
	a.answered = true
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxResponse))
	if err != nil {
		return refusal{}, broken(op, err, &a)
	}
	if resp.StatusCode/100 != 2 {
		return refused(op, resp, raw, &a)
	}
	if !taken(resp.StatusCode, raw, out) {
		return refusal{}, broken(op, errNoAnswer, &a)
	}
	return refusal{}, nil
}

// nothing is the answer to a call that is confirmed by having none. A success with a body
// comes from something in between, and says nothing of the platform's.
type nothing struct{}

// taken reports whether a success is what the platform answers to the call.
func taken(status int, raw []byte, out any) bool {
	switch out.(type) {
	case nil:
		return true
	case nothing:
		return status == http.StatusNoContent
	}
	return json.Unmarshal(raw, out) == nil
}

// attempt is what is known of one call, whatever error came of it.
type attempt struct {
	wrote    atomic.Bool // The head of the request was written: it may have had an effect.
	answered bool        // The head of an answer came.
}

// broken is a call without a proper answer: what is known of it decides whether it
// may be repeated.
func broken(op string, err error, a *attempt) *channels.Error {
	e := &channels.Error{Class: core.FailureTemporary, Op: op, Err: cause(err)}
	switch {
	case a.answered:
		e.Detail = "the answer could not be read"
	case a.wrote.Load():
		e.Detail = "no answer came"
	default:
		e.Detail, e.NotSent = "nothing was sent", true
	}
	if op == opSend && !e.NotSent { // An edit may be repeated as it is.
		e.Class = core.FailureAmbiguous
	}
	return e
}

// unreadable is a success that does not say what it did.
func unreadable(op string) *channels.Error { return broken(op, errNoAnswer, &attempt{answered: true}) }

// cause keeps what callers test for, and nothing that names a URL or content.
func cause(err error) error {
	for _, known := range []error{context.Canceled, context.DeadlineExceeded, io.EOF, io.ErrUnexpectedEOF} {
		if errors.Is(err, known) {
			return known
		}
	}
	return errNoAnswer
}

var (
	errNoAnswer = errors.New("the call to the platform broke")
	errRefused  = errors.New("the platform refused the call")
)

// refused reads the platform's own "no". One that is not in its form came from
// something in between.
func refused(op string, resp *http.Response, raw []byte, a *attempt) (refusal, *channels.Error) {
	r := refusal{status: resp.StatusCode}
	var body struct {
		Code       int             `json:"code"`
		Message    *string         `json:"message"`
		RetryAfter float64         `json:"retry_after"`
		Global     bool            `json:"global"`
		Errors     json.RawMessage `json:"errors"`
	}
	own := json.Unmarshal(raw, &body) == nil && body.Message != nil
	if own {
		r.code, r.global = body.Code, body.Global
		r.retryAfter = seconds(body.RetryAfter)
		r.field = wrongField(body.Errors)
	}
	switch {
	case r.status == http.StatusTooManyRequests && !own:
		r.global = true // The network before the platform blocks the address, not a chat.
		r.retryAfter = headerDelay(resp.Header)
	case r.status == http.StatusUnauthorized:
	case !own:
		return refusal{}, broken(op, errNoAnswer, a)
	}
	return r, r.failure(op)
}

// seconds rounds up, so that the platform's delay is never shortened.
func seconds(s float64) time.Duration {
	const longest = 24 * 60 * 60
	if !(s > 0) {
		return 0
	}
	return time.Duration(math.Ceil(min(s, longest)*1000)) * time.Millisecond
}

func headerDelay(h http.Header) time.Duration {
	var s float64
	if json.Unmarshal([]byte(h.Get("Retry-After")), &s) != nil {
		return 0
	}
	return seconds(s)
}
