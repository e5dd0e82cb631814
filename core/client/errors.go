package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/api"
)

// ErrUnreachable is a service that could not be reached, or stopped answering, for
// as long as the client is patient. It comes with core.ErrUnavailable where the call
// changed nothing, and with core.ErrOutcomeUnknown where its answer was lost.
var ErrUnreachable = errors.New("the service cannot be reached")

// CodeUnexpected is the code of an answer that is none of the service's: a proxy's
// error page, or another program at the address.
const CodeUnexpected = "unexpected_answer"

// Error is an error that the service answered with. It unwraps to the error of core
// that its code stands for.
type Error struct {
	api.Problem
	RetryAfter time.Duration // When the service said so; 0 when it did not.
}

// Error implements error: the code, its sentence, and the fields at fault.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Code)
	if e.Detail != "" {
		b.WriteString(": " + e.Detail)
	}
	for _, f := range e.Errors {
		b.WriteString("; " + f.Field + ": " + f.Rule)
	}
	return b.String()
}

// Unwrap returns the error of core behind the code. Codes of the transport are
// core.ErrInvalid where the request was at fault and core.ErrUnavailable where the
// service was.
func (e *Error) Unwrap() error {
	if err := core.ErrorOf(e.Code); err != nil {
		return err
	}
	if e.Status >= http.StatusInternalServerError {
		return core.ErrUnavailable
	}
	return core.ErrInvalid
}

// problemOf reads the error of an answer.
func problemOf(status int, contentType string, body []byte) *Error {
	e := &Error{}
	if strings.HasPrefix(contentType, "application/problem+json") && json.Unmarshal(body, &e.Problem) == nil && e.Code != "" {
		e.Status = status
		return e
	}
	return &Error{Problem: api.Problem{
		Title: http.StatusText(status), Status: status, Code: CodeUnexpected,
		Detail: fmt.Sprintf("status %d without a reason", status),
	}}
}

// unreachable says what is known after a connection broke.
func unreachable(call *call, cause error) error {
	known := core.ErrOutcomeUnknown
	if call.method == http.MethodGet || neverSent(cause) {
		known = core.ErrUnavailable
	}
	return &brokenError{known: known, cause: cause}
}

// brokenError reads as ErrUnreachable and its cause, and is also what is known of
// the record.
type brokenError struct {
	known, cause error
}

// Error implements error.
func (e *brokenError) Error() string { return ErrUnreachable.Error() + ": " + e.cause.Error() }

// Unwrap returns all three.
func (e *brokenError) Unwrap() []error { return []error{ErrUnreachable, e.known, e.cause} }
