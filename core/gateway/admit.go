package gateway

import (
	"bytes"
	"errors"
	"io"
	"math"
	"mime"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/api"
)

// admit is what every API call passes before its operation: who calls, how often,
// and whether the query and the body can be read at all. The caller is known
// before a byte of the body is kept.
func (g *Gateway) admit(ctx huma.Context, next func(huma.Context)) {
	r, w := humago.Unwrap(ctx)
	for _, step := range []func(*huma.Operation, *http.Request) *problem{g.authenticate, g.throttle, g.checkQuery, g.readBody} {
		if p := step(ctx.Operation(), r); p != nil {
			g.write(w, r, p)
			return
		}
	}
	g.hold(r.Context(), 0)
	next(ctx)
}

// authenticate fills in the caller, except for public calls: those prove themselves
// by their body.
func (g *Gateway) authenticate(op *huma.Operation, r *http.Request) *problem {
	if len(op.Security) == 0 {
		return nil
	}
	return g.identify(r)
}

// identify reads the bearer. Whoever comes through the admin socket without one is
// the operator of this machine.
func (g *Gateway) identify(r *http.Request) *problem {
	c := callOf(r.Context())
	header := r.Header.Get("Authorization")
	if header == "" && c.operator {
		c.caller = core.Caller{Operator: true}
		return nil
	}
	scheme, bearer, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, "Bearer") || bearer == "" {
		return newProblem(core.CodeOf(core.ErrUnauthenticated))
	}
	caller, err := g.deps.Authenticator.Authenticate(r.Context(), bearer)
	if err != nil {
		return g.fail(r.Context(), err)
	}
	c.caller = caller
	return nil
}

// throttle limits how often a runtime may call.
func (g *Gateway) throttle(_ *huma.Operation, r *http.Request) *problem {
	c := callOf(r.Context())
	if c.caller.Token == nil || c.throttled {
		return nil
	}
	wait, ok := g.limiter.take(c.caller.Token.Runtime, g.deps.Now())
	if ok {
		return nil
	}
	p := newProblem(core.CodeOf(core.ErrRateLimited))
	p.header.Set("Retry-After", strconv.Itoa(max(1, int(math.Ceil(wait.Seconds())))))
	return p
}

// checkQuery refuses what the framework would read in its own way: broken
// escapes, broken UTF-8, and a parameter given twice.
func (g *Gateway) checkQuery(op *huma.Operation, r *http.Request) *problem {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return newProblem(codeMalformed, api.Fault{Field: "query", Rule: "must be percent-encoded"})
	}
	for name, given := range values {
		where, _ := place(g.api.OpenAPI().Components.Schemas, op, "query."+name)
		switch {
		case len(given) > 1:
			return newProblem(core.CodeOf(core.ErrInvalid), api.Fault{Field: where, Rule: "must be given once"})
		case !validText(given[0]):
			return newProblem(core.CodeOf(core.ErrInvalid), api.Fault{Field: where, Rule: "must be UTF-8 without control characters"})
		}
	}
	return nil
}

// readBody takes the whole body, bounded, and hands it on from memory.
func (g *Gateway) readBody(op *huma.Operation, r *http.Request) *problem {
	if op.RequestBody == nil {
		return nil
	}
	mediaType, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if charset, ok := params["charset"]; err != nil || mediaType != jsonType || ok && !strings.EqualFold(charset, "utf-8") {
		return newProblem(codeMediaType)
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, MaxBody+1))
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return newProblem(codeTimeout)
	case err != nil:
		return newProblem(codeMalformed)
	case len(body) > MaxBody:
		return newProblem(codeTooLarge)
	case len(bytes.TrimSpace(body)) == 0:
		return newProblem(codeMalformed, api.Fault{Field: "body", Rule: "is required"})
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.Header.Set("Content-Type", jsonType) // The framework compares letters.
	return nil
}
