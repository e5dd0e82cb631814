package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// maxAnswer bounds what is read of an answer, in bytes: a full page of the longest
// records is well below it.
const maxAnswer = 64 << 20

// call is one request, which may need several attempts.
type call struct {
	method string
	path   string // Escaped.
	query  url.Values
	body   any
	into   any
	// repeatable says that a second attempt means the same as one, so that a lost
	// answer may be asked for again. What never left this machine always may.
	repeatable bool
	wait       time.Duration // How long the service was asked to hold the answer.
	patience   time.Duration // 0 for no limit but the context's.
}

// do makes the call. Errors: *Error, ErrUnreachable, the context's error.
func (c *Client) do(ctx context.Context, call call) error {
	var body []byte
	if call.body != nil {
		var err error
		if body, err = json.Marshal(call.body); err != nil {
			return fmt.Errorf("encode request: %w", err)
		}
	}
	b := backoff{budget: call.patience}
	patient, done := ctx, context.CancelFunc(func() {})
	if call.patience > 0 { // Attempts that hang use patience up too.
		patient, done = context.WithTimeout(ctx, call.patience+call.wait)
	}
	defer done()
	for {
		err := c.attempt(ctx, &call, body)
		if err == nil || ctx.Err() != nil {
			return cause(ctx, err)
		}
		asked, again := worthRepeating(err, call.repeatable)
		pause, within := b.pause(asked)
		if !again || !within || patient.Err() != nil {
			return err
		}
		if c.cfg.Sleep(ctx, pause) != nil {
			return cause(ctx, err)
		}
	}
}

// cause prefers the end of the context over what it led to.
func cause(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// worthRepeating says whether another attempt may fare better and means the same,
// and how long the service asked to stay away.
func worthRepeating(err error, repeatable bool) (after time.Duration, again bool) {
	if answered, ok := errors.AsType[*Error](err); ok {
		switch answered.Status {
		case http.StatusTooManyRequests: // Nothing was done.
			return answered.RetryAfter, true
		case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
			return answered.RetryAfter, repeatable
		}
		return 0, false
	}
	if !errors.Is(err, ErrUnreachable) {
		return 0, false
	}
	return 0, repeatable || neverSent(err)
}

// neverSent reports whether no byte of the request left this machine.
func neverSent(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

func (c *Client) attempt(ctx context.Context, call *call, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.Timeout+call.wait)
	defer cancel()
	target := c.base + call.path
	if len(call.query) > 0 {
		target += "?" + call.query.Encode()
	}
	r, err := http.NewRequestWithContext(ctx, call.method, target, bytes.NewReader(body))
	if err != nil {
		return errors.New("build request: malformed address") // The library's text repeats it.
	}
	c.dress(r, body)
	resp, err := c.http.Do(r)
	if err != nil {
		return unreachable(call, withoutURL(err))
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return unreachable(call, withoutURL(err))
	}
	return decode(resp, answer, call.into)
}

func (c *Client) dress(r *http.Request, body []byte) {
	r.Header.Set("Accept", "application/json")
	r.Header.Set("User-Agent", c.cfg.UserAgent)
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if c.cfg.Bearer != "" {
		r.Header.Set("Authorization", "Bearer "+c.cfg.Bearer)
	}
}

func decode(resp *http.Response, body []byte, into any) error {
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		e := problemOf(resp.StatusCode, resp.Header.Get("Content-Type"), body)
		if s, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && s > 0 && s <= 3600 {
			e.RetryAfter = time.Duration(s) * time.Second
		}
		return e
	}
	if resp.StatusCode == http.StatusNoContent {
		return nil
	}
	if len(body) > maxAnswer || json.Unmarshal(body, into) != nil {
		return problemOf(resp.StatusCode, "", nil)
	}
	return nil
}

// withoutURL drops the address from a transport's error: paths hold callers' ids.
func withoutURL(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

// path joins literal parts, which begin with a slash, and ids, which are escaped.
func path(parts ...string) string {
	var out strings.Builder
	for i, p := range parts {
		if i%2 == 1 {
			p = url.PathEscape(p)
		}
		out.WriteString(p)
	}
	return out.String()
}
