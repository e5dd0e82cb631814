package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"strconv"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/api"
)

// problemType is the content type of every error (RFC 9457).
const problemType = "application/problem+json"

// Codes of the transport, beside those of core.CodeOf.
const (
	codeMalformed   = "malformed"
	codeTooLarge    = "too_large"
	codeMediaType   = "unsupported_media_type"
	codeMethod      = "method_not_allowed"
	codeMisdirected = "misdirected"
	codeTimeout     = "request_timeout"
	codeInternal    = "internal"
)

// statusOf gives every code its status; what is not listed is our own fault.
func statusOf(code string) int {
	switch code {
	case codeMalformed:
		return http.StatusBadRequest
	case "invalid", "not_offered", "wrong_kind", "hash_required", "not_shown":
		return http.StatusUnprocessableEntity
	case "unauthenticated":
		return http.StatusUnauthorized
	case "forbidden", "only_tightens", "code_invalid":
		return http.StatusForbidden
	case "not_found":
		return http.StatusNotFound
	case codeMethod:
		return http.StatusMethodNotAllowed
	case codeTimeout:
		return http.StatusRequestTimeout
	case "conflict", "idempotency_conflict", "id_taken", "stale_epoch", "run_aborted", "already_claimed",
		"not_claimable", "agent_paused", "last_admin", "identity_taken":
		return http.StatusConflict
	case codeTooLarge:
		return http.StatusRequestEntityTooLarge
	case codeMediaType:
		return http.StatusUnsupportedMediaType
	case codeMisdirected:
		return http.StatusMisdirectedRequest
	case "rate_limited", "pending_limit":
		return http.StatusTooManyRequests
	case "unavailable", "outcome_unknown", "policy_changed", "lease_lost", "sealed", "newer_schema":
		return http.StatusServiceUnavailable
	case "storage_full":
		return http.StatusInsufficientStorage
	}
	return http.StatusInternalServerError
}

// sentenceOf is all that is said about a code: never the text of a wrapped error.
func sentenceOf(code string) string {
	if err := core.ErrorOf(code); err != nil {
		return err.Error()
	}
	switch code {
	case codeMalformed:
		return "the request cannot be read"
	case codeTooLarge:
		return "the body is larger than " + strconv.Itoa(MaxBody) + " bytes"
	case codeMediaType:
		return "the body must be application/json in UTF-8"
	case codeMethod:
		return "this path does not take this method"
	case codeMisdirected:
		return "this service does not answer for this host"
	case codeTimeout:
		return "the request took too long to arrive"
	}
	return "an internal error; it was logged"
}

// problem is an api.Problem on its way out.
type problem struct {
	api.Problem
	header http.Header
}

func newProblem(code string, faults ...api.Fault) *problem {
	status := statusOf(code)
	p := &problem{Problem: api.Problem{
		Title: http.StatusText(status), Status: status, Code: code, Detail: sentenceOf(code), Errors: faults,
	}}
	switch status {
	case http.StatusUnauthorized:
		p.header = http.Header{"Www-Authenticate": {"Bearer"}}
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		p.header = http.Header{"Retry-After": {"1"}}
	}
	return p
}

// Error, GetStatus, ContentType and GetHeaders are what huma asks of an error.
func (p *problem) Error() string             { return p.Code }
func (p *problem) GetStatus() int            { return p.Status }
func (p *problem) ContentType(string) string { return problemType }
func (p *problem) GetHeaders() http.Header   { return p.header }

// fail turns an error of a service into the problem that the caller gets. What is
// our own fault is logged here, once; everything else is the caller's to read.
func (g *Gateway) fail(ctx context.Context, err error) *problem {
	if known, ok := errors.AsType[*problem](err); ok {
		return known
	}
	code := core.CodeOf(err)
	if code == codeInternal && (errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)) {
		code = "unavailable"
	}
	p := newProblem(code, faultsOf(err)...)
	if p.Status >= http.StatusInternalServerError {
		c := callOf(ctx)
		g.deps.Logger.LogAttrs(ctx, slog.LevelError, "request failed",
			slog.String("request", c.id), slog.String("route", c.route), slog.String("code", code), slog.Any("error", err))
	}
	return p
}

// failWith adds the record as it is, where the service returned it with the error:
// it does so only to callers that may see it.
func (g *Gateway) failWith(ctx context.Context, c core.Caller, err error, a core.Approval) error {
	p := g.fail(ctx, err)
	if p.Status != http.StatusConflict || a.ID == "" {
		return p
	}
	if now, err := g.deps.Clock.Now(ctx); err == nil {
		doc := g.project(c, &a, now)
		p.Approval = &doc
	}
	return p
}

// refused is failWith for a claim: its runtime also gets what to tell the agent.
func (g *Gateway) refused(ctx context.Context, c core.Caller, err error, a core.Approval) error {
	out := g.failWith(ctx, c, err, a)
	if p, ok := errors.AsType[*problem](out); ok && p.Approval != nil && c.Token != nil {
		p.AgentText = g.deps.RefusalText(a, err)
	}
	return out
}

// faultsOf collects the field errors of a tree of errors. Their parts never repeat
// a value; that is their contract.
func faultsOf(err error) []api.Fault {
	switch e := err.(type) { //nolint:errorlint // The tree is walked by hand: errors.As stops at the first.
	case *core.FieldError:
		return []api.Fault{{Field: e.Field, Rule: e.Rule}}
	case interface{ Unwrap() error }:
		return faultsOf(e.Unwrap())
	case interface{ Unwrap() []error }:
		var faults []api.Fault
		for _, one := range e.Unwrap() {
			faults = append(faults, faultsOf(one)...)
		}
		return faults
	}
	return nil
}

// write sends a problem outside the framework.
func (g *Gateway) write(w http.ResponseWriter, r *http.Request, p *problem) {
	c := callOf(r.Context())
	body, err := json.Marshal(g.stamp(c, p).Problem)
	if err != nil { // Strings and numbers: it cannot fail.
		body = []byte("{}")
	}
	maps.Copy(w.Header(), p.header)
	w.Header().Set("Content-Type", problemType)
	w.WriteHeader(p.Status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(append(body, '\n'))
	}
}
