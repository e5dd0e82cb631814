package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/api"
	"github.com/saysohq/sayso/core/client"
)

// Exit codes. Those of ask, run and wait tell a script what the answer was; from
// 64 on they follow sysexits. 2 is left free: hooks use it for "block".
const (
	exitAllowed     = 0
	exitFault       = 1
	exitDenied      = 10
	exitExpired     = 11
	exitCancelled   = 12
	exitPending     = 13
	exitUsage       = 64
	exitUnreachable = 69
	exitNoPermit    = 77
)

// exitError ends the process with a code; a nil Err was reported already.
type exitError struct {
	code int
	err  error
}

// Error implements error.
func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

// Unwrap returns the cause.
func (e *exitError) Unwrap() error { return e.err }

// exitWith is an error that was reported already.
func exitWith(code int) error {
	if code == exitAllowed {
		return nil
	}
	return &exitError{code: code}
}

// usage is a mistake in how the command was called.
func usage(format string, args ...any) error {
	return &exitError{code: exitUsage, err: fmt.Errorf(format, args...)}
}

// codeOf is the exit code of an answer.
func codeOf(a *api.Approval) int {
	switch a.Status {
	case core.StatusAllowed:
		return exitAllowed
	case core.StatusDenied:
		return exitDenied
	case core.StatusExpired:
		return exitExpired
	case core.StatusCancelled:
		return exitCancelled
	case core.StatusPending:
	}
	return exitPending
}

// faultCode is the exit code of an error.
func faultCode(err error) int {
	var exit *exitError
	switch {
	case errors.As(err, &exit):
		return exit.code
	case errors.Is(err, client.ErrUnreachable), errors.Is(err, core.ErrUnavailable),
		errors.Is(err, core.ErrOutcomeUnknown), errors.Is(err, core.ErrStorageFull):
		return exitUnreachable
	case errors.Is(err, core.ErrForbidden), errors.Is(err, core.ErrUnauthenticated), errors.Is(err, core.ErrNotFound):
		return exitNoPermit
	case errors.Is(err, core.ErrInvalid):
		return exitUsage
	}
	return exitFault
}

// plainly is an error as people read it: of what the service answered the sentence,
// without the code, which is for programs.
func plainly(err error) string {
	var e *client.Error
	if !errors.As(err, &e) || e.Detail == "" {
		return err.Error()
	}
	said := e.Detail
	if errors.Is(e, core.ErrUnauthenticated) {
		said = "the service does not know this token or session, or no longer: issue another (sayso token issue) or sign in (sayso login)"
	}
	for _, f := range e.Errors {
		said += "; " + f.Field + ": " + f.Rule
	}
	return strings.Replace(err.Error(), e.Error(), said, 1)
}
