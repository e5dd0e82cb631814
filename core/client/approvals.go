package client

import (
	"context"
	"crypto/rand"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/api"
)

// longPoll is how long one poll of Wait asks the service to hold the answer. The
// service cuts longer ones at 60 s, and proxies on the way often sooner.
const longPoll = 50 * time.Second

// pollPause keeps Wait from spinning at a service that answers at once, such as one
// that is stopping.
const pollPause = 200 * time.Millisecond

// Ask asks and returns the verdict so far, after waiting for an answer for at most
// wait (the service cuts it at 60 s; 0 returns at once). Without an id and a key of
// its own the request gets a random idempotency key, so that repeating it after a
// lost answer finds the same record. A call that only reads has none: it is
// Unrecorded, and may run at once, without a claim.
//
// Errors: core.ErrInvalid, core.ErrIdempotencyConflict and core.ErrIDTaken (with the
// record in Error.Approval where there is one), core.ErrPendingLimit,
// ErrUnreachable, the context's error.
func (c *Client) Ask(ctx context.Context, ask api.Ask, wait time.Duration) (api.Asked, error) {
	if ask.IdempotencyKey == "" && ask.ID == "" {
		ask.IdempotencyKey = rand.Text()
	}
	var out api.Asked
	err := c.do(ctx, call{
		method: http.MethodPost, path: "/v1/approvals", query: waitQuery(wait), body: ask, into: &out,
		repeatable: true, wait: wait, patience: c.cfg.Patience,
	})
	return out, err
}

// Get reads one approval. Errors: core.ErrNotFound.
func (c *Client) Get(ctx context.Context, id string) (api.Answer, error) {
	return c.poll(ctx, id, 0, 0, c.cfg.Patience)
}

// Poll reads one approval and waits for at most wait until it is newer than the
// revision that the caller saw; with revision 0, until it is final. It returns the
// record as it is when the time is over. Errors: core.ErrNotFound.
func (c *Client) Poll(ctx context.Context, id string, revision int64, wait time.Duration) (api.Answer, error) {
	return c.poll(ctx, id, revision, wait, c.cfg.Patience)
}

func (c *Client) poll(ctx context.Context, id string, revision int64, wait, patience time.Duration) (api.Answer, error) {
	query := waitQuery(wait)
	if revision > 0 {
		query.Set("revision", strconv.FormatInt(revision, 10))
	}
	var out api.Answer
	err := c.do(ctx, call{
		method: http.MethodGet, path: path("/v1/approvals/", id), query: query, into: &out,
		repeatable: true, wait: wait, patience: patience,
	})
	return out, err
}

// Wait returns the approval once it is final. It polls again for as long as the
// context and WaitPatience allow, through restarts of the service; the service
// itself ends every wait at the approval's expiry. A lost connection decides
// nothing. Errors: core.ErrNotFound, ErrUnreachable, the context's error.
func (c *Client) Wait(ctx context.Context, id string) (api.Answer, error) {
	for {
		a, err := c.poll(ctx, id, 0, longPoll, c.cfg.WaitPatience)
		if err != nil || a.Approval.Status.Terminal() {
			return a, err
		}
		if err := c.cfg.Sleep(ctx, pollPause); err != nil {
			return a, cause(ctx, err)
		}
	}
}

func waitQuery(wait time.Duration) url.Values {
	q := url.Values{}
	if wait > 0 {
		q.Set("wait", wait.String())
	}
	return q
}

// Filter narrows a list; empty fields do not.
type Filter struct {
	Status  core.Status
	Origin  core.Origin   // core.OriginAuto: what ran without asking.
	Within  time.Duration // Only what was asked within this time.
	Agent   string
	Session string
	Run     string
	Limit   int // At most 1,000, which is the default.
}

// List reads one page, newest first; cursor is "" for the first page and the page's
// Cursor for the next.
func (c *Client) List(ctx context.Context, f Filter, cursor string) (api.List, error) {
	q := url.Values{}
	for name, value := range map[string]string{
		"status": string(f.Status), "origin": string(f.Origin), "agent": f.Agent, "session": f.Session, "run": f.Run, "cursor": cursor,
	} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if f.Within > 0 {
		q.Set("within", f.Within.String())
	}
	if f.Limit > 0 {
		q.Set("limit", strconv.Itoa(f.Limit))
	}
	return read[api.List](ctx, c, "/v1/approvals", q)
}

// Detail reads the redacted full text of an action, as a person, with the view that
// an allow of a cut projection needs. Errors: core.ErrNotFound, core.ErrForbidden.
func (c *Client) Detail(ctx context.Context, id string) (api.Detail, error) {
	return read[api.Detail](ctx, c, path("/v1/approvals/", id, "/detail"), nil)
}

// Resolve answers as a person; the id may be the resolution reference. Losing the
// race is no error: Applied is false and the record names the winner. Errors:
// core.ErrNotFound, core.ErrForbidden, core.ErrWrongKind, core.ErrNotOffered,
// core.ErrHashRequired, core.ErrNotShown.
func (c *Client) Resolve(ctx context.Context, idOrRef string, r api.Resolve) (api.Resolved, error) {
	return repeat[api.Resolved](ctx, c, http.MethodPost, path("/v1/approvals/", idOrRef, "/resolve"), r)
}

// Cancel withdraws an approval: its own runtime's, or anyone's by an admin. Errors:
// core.ErrNotFound, core.ErrForbidden.
func (c *Client) Cancel(ctx context.Context, id string) (api.Resolved, error) {
	return repeat[api.Resolved](ctx, c, http.MethodPost, path("/v1/approvals/", id, "/cancel"), nil)
}

// DenyMalformed denies because the runtime received a verdict that it cannot read.
// Errors: core.ErrNotFound, core.ErrForbidden.
func (c *Client) DenyMalformed(ctx context.Context, id string) (api.Resolved, error) {
	return repeat[api.Resolved](ctx, c, http.MethodPost, path("/v1/approvals/", id, "/malformed-verdict"), nil)
}

// NewClaimToken makes the fresh randomness of one runner: kept in memory, given to
// Claim and Report, never written down.
func NewClaimToken() string { return rand.Text() }

// Claim takes the single-use grant; run only after it returned without an error.
// Repeating it with the same token is the same success. Errors: core.ErrNotFound,
// core.ErrNotClaimable, core.ErrAlreadyClaimed, core.ErrStaleEpoch,
// core.ErrRunAborted, each but the first with the record in Error.Approval.
func (c *Client) Claim(ctx context.Context, id string, cl api.Claim) (api.Answer, error) {
	return repeat[api.Answer](ctx, c, http.MethodPost, path("/v1/approvals/", id, "/claim"), cl)
}

// Report says what happened under a claim. Repeating the same report is the same
// success. Errors: core.ErrNotFound, core.ErrNotClaimable, core.ErrAlreadyClaimed,
// core.ErrConflict (another outcome is recorded).
func (c *Client) Report(ctx context.Context, id string, r api.Report) (api.Answer, error) {
	return repeat[api.Answer](ctx, c, http.MethodPost, path("/v1/approvals/", id, "/outcome"), r)
}

// RegisterInstance registers a start of an instance; the same boot id is the same
// epoch. Errors: core.ErrForbidden, core.ErrInvalid.
func (c *Client) RegisterInstance(ctx context.Context, name string, r api.Register) (api.Instance, error) {
	return repeat[api.Instance](ctx, c, http.MethodPut, path("/v1/runtimes/self/instances/", name), r)
}

// Run reads how a run stands. Errors: core.ErrNotFound when nothing was ever asked
// for it.
func (c *Client) Run(ctx context.Context, run string) (api.Run, error) {
	return read[api.Run](ctx, c, path("/v1/runs/", run), nil)
}

// AbortRun stops a run for good; repeating it changes nothing.
func (c *Client) AbortRun(ctx context.Context, run string) (api.Run, error) {
	return repeat[api.Run](ctx, c, http.MethodPost, path("/v1/runs/", run, "/abort"), nil)
}

// Reply passes on a message that the person wrote instead of answering; repeating
// the same message id changes nothing.
func (c *Client) Reply(ctx context.Context, run string, r api.Reply) (api.Replied, error) {
	return repeat[api.Replied](ctx, c, http.MethodPost, path("/v1/runs/", run, "/reply"), r)
}

// read makes a GET.
func read[T any](ctx context.Context, c *Client, path string, q url.Values) (T, error) {
	var out T
	err := c.do(ctx, call{
		method: http.MethodGet, path: path, query: q, into: &out, repeatable: true, patience: c.cfg.Patience,
	})
	return out, err
}

// repeat makes a call that the service takes twice as once.
func repeat[T any](ctx context.Context, c *Client, method, path string, body any) (T, error) {
	var out T
	err := c.do(ctx, call{
		method: method, path: path, body: body, into: &out, repeatable: true, patience: c.cfg.Patience,
	})
	return out, err
}

// once makes a call that is attempted again only when it never left this machine.
func once[T any](ctx context.Context, c *Client, method, path string, body any) (T, error) {
	var out T
	err := c.do(ctx, call{method: method, path: path, body: body, into: &out, patience: c.cfg.Patience})
	return out, err
}
