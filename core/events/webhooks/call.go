package webhooks

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/saysohq/sayso/core"
)

// Bounds of one call. The whole of it is well below the lease of a nudge.
const (
	callTimeout    = 10 * time.Second
	connectTimeout = 5 * time.Second
	maxHeader      = 16 << 10 // Bytes of an answer's header.
	maxBody        = 4 << 10  // Bytes of an answer that are read, so that its connection ends well.
)

// What a failed call is called, in the record and in the log.
const (
	failedList     = "not-on-the-list"
	failedAddress  = "address-refused"
	failedRedirect = "redirect"
	failedTimeout  = "timeout"
	failedConnect  = "no-connection"
	failedGone     = "gone"
	failedStatus   = "status-"
)

// Event is the type of what is sent.
const Event = "approval.changed"

// Message is the body of a call: ids, and nothing that anybody could act on without
// reading the record.
type Message struct {
	Type      string    `json:"type"`
	Timestamp time.Time `json:"timestamp"` // When the record changed.
	Data      Changed   `json:"data"`
}

// Changed names the record that changed.
type Changed struct {
	ApprovalID string `json:"approval_id"`
	Runtime    string `json:"runtime"`
	Revision   int64  `json:"revision"`
}

// answer is what came of a call.
type answer struct {
	failure string        // "" when it was taken.
	final   bool          // It is of no use to call again.
	after   time.Duration // What the answer asks to wait at least.
}

// clientOf is a client that goes where the guard lets it, and nowhere else: each call
// connects anew, so that each is looked at.
func clientOf(g guard, r *net.Resolver) *http.Client {
	d := &net.Dialer{Timeout: connectTimeout, ControlContext: g.control, Resolver: r}
	return &http.Client{
		Timeout: callTimeout,
		Transport: &http.Transport{
			Proxy: nil, DialContext: d.DialContext, DisableKeepAlives: true,
			TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12}, TLSHandshakeTimeout: connectTimeout,
			MaxResponseHeaderBytes: maxHeader,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// call makes one call.
func (s *Sender) call(ctx context.Context, n *core.Nudge) answer {
	t, err := s.deps.Runtimes.target(n.Runtime, n.URL)
	if err != nil { // The operator has taken it off the list since it was asked for.
		return answer{failure: failedList, final: true}
	}
	r, err := request(ctx, t, n)
	if err != nil {
		return answer{failure: failedList, final: true}
	}
	resp, err := clientOf(t.guard, s.deps.Resolver).Do(r)
	if err != nil {
		return answer{failure: failureOf(err)}
	}
	defer func() { _ = resp.Body.Close() }() // Nothing of it is used.
	_, _ = io.CopyN(io.Discard, resp.Body, maxBody)
	return answerOf(resp)
}

// request is a signed call. The same change has the same id, however often it is told.
func request(ctx context.Context, t *target, n *core.Nudge) (*http.Request, error) {
	body, err := json.Marshal(Message{
		Type: Event, Timestamp: n.Since.Time(), Data: Changed{ApprovalID: n.ApprovalID, Runtime: n.Runtime, Revision: n.Revision},
	})
	if err != nil {
		return nil, fmt.Errorf("encode message: %w", err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, n.URL, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("make request: %w", err)
	}
	id, at := "msg_"+n.Ref+"_"+strconv.FormatInt(n.Revision, 10), n.Now.Time()
	signature, err := t.signer.Sign(id, at, body)
	if err != nil {
		return nil, fmt.Errorf("sign message: %w", err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "sayso")
	r.Header.Set(standardwebhooks.HeaderWebhookID, id)
	r.Header.Set(standardwebhooks.HeaderWebhookTimestamp, strconv.FormatInt(at.Unix(), 10))
	r.Header.Set(standardwebhooks.HeaderWebhookSignature, signature)
	return r, nil
}

// failureOf names what kept a call from being answered. The error itself holds the
// address and stays here.
func failureOf(err error) string {
	var timeout interface{ Timeout() bool }
	switch {
	case errors.Is(err, errAddress):
		return failedAddress
	case errors.As(err, &timeout) && timeout.Timeout():
		return failedTimeout
	}
	return failedConnect
}

// answerOf reads a status as Standard Webhooks means it.
func answerOf(r *http.Response) answer {
	switch {
	case r.StatusCode >= 200 && r.StatusCode < 300:
		return answer{}
	case r.StatusCode == http.StatusGone:
		return answer{failure: failedGone, final: true}
	case r.StatusCode >= 300 && r.StatusCode < 400:
		return answer{failure: failedRedirect}
	}
	a := answer{failure: failedStatus + strconv.Itoa(r.StatusCode)}
	if seconds, err := strconv.Atoi(r.Header.Get("Retry-After")); err == nil && seconds > 0 {
		a.after = min(time.Duration(min(seconds, int(longest/time.Second)))*time.Second, longest)
	}
	return a
}
