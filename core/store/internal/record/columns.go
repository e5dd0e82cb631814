package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/saysohq/sayso/core"
)

// column ties a column of approvals to its field, once, for reading and writing.
type column struct {
	name string
	// kind is its type where a database wants to be told: text, bigint, boolean, json.
	kind string
	// at points to the value in a row: there a read puts it, and a write finds it.
	at func(r *approvalRow) any
}

// approvalRow is an approval with the JSON of its lists on the way in or out.
type approvalRow struct {
	a            core.Approval
	presentation string
	offered      string
	alwaysOffer  *string
	trail        *string
	audience     *string
	reviewers    *string
	aftermath    *string
}

// text is a column of text.
func text(name string, at func(a *core.Approval) *string) column {
	return column{
		name: name, kind: "text",
		at: func(r *approvalRow) any { return at(&r.a) },
	}
}

// number is a column of whole numbers.
func number(name string, at func(a *core.Approval) *int64) column {
	return column{
		name: name, kind: "bigint",
		at: func(r *approvalRow) any { return at(&r.a) },
	}
}

// flag is a column of yes or no.
func flag(name string, at func(a *core.Approval) *bool) column {
	return column{
		name: name, kind: "boolean",
		at: func(r *approvalRow) any { return at(&r.a) },
	}
}

// list is a column of JSON; a pointer may be NULL.
func list[T any](name string, at func(r *approvalRow) *T) column {
	return column{
		name: name, kind: "json",
		at: func(r *approvalRow) any { return at(r) },
	}
}

// fixedColumns are written once, by Create.
func fixedColumns() []column {
	return []column{
		text("id", func(a *core.Approval) *string { return &a.ID }),
		text("ref", func(a *core.Approval) *string { return &a.Ref }),
		text("kind", func(a *core.Approval) *string { return (*string)(&a.Kind) }),
		text("origin", func(a *core.Approval) *string { return (*string)(&a.Origin) }),
		text("runtime", func(a *core.Approval) *string { return &a.Runtime }),
		text("instance", func(a *core.Approval) *string { return &a.Instance }),
		number("epoch", func(a *core.Approval) *int64 { return &a.Epoch }),
		text("idempotency_key", func(a *core.Approval) *string { return &a.IdempotencyKey }),
		number("key_generation", func(a *core.Approval) *int64 { return &a.KeyGeneration }),
		text("request_hash", func(a *core.Approval) *string { return &a.RequestHash }),
		text("supersedes", func(a *core.Approval) *string { return &a.Supersedes }),
		text("sticky_of", func(a *core.Approval) *string { return &a.StickyOf }),
		text("operation_id", func(a *core.Approval) *string { return &a.Operation.ID }),
		text("operation_type", func(a *core.Approval) *string { return &a.Operation.Type }),
		text("tool", func(a *core.Approval) *string { return &a.Operation.Tool }),
		text("operation", func(a *core.Approval) *string { return &a.Operation.Name }),
		text("arguments_hash", func(a *core.Approval) *string { return &a.ArgumentsHash }),
		text("action_hash", func(a *core.Approval) *string { return &a.ActionHash }),
		text("fingerprint", func(a *core.Approval) *string { return &a.Fingerprint }),
		text("class", func(a *core.Approval) *string { return (*string)(&a.Class) }),
		text("class_source", func(a *core.Approval) *string { return &a.ClassSource }),
		text("risk", func(a *core.Approval) *string { return &a.Risk }),
		list("presentation", func(r *approvalRow) *string { return &r.presentation }),
		number("detail_bytes", func(a *core.Approval) *int64 { return &a.DetailBytes }),
		number("detail_omitted", func(a *core.Approval) *int64 { return &a.DetailOmitted }),
		list("offered", func(r *approvalRow) *string { return &r.offered }),
		list("always_offer", func(r *approvalRow) **string { return &r.alwaysOffer }),
		text("policy_id", func(a *core.Approval) *string { return &a.PolicyID }),
		number("policy_generation", func(a *core.Approval) *int64 { return &a.PolicyGeneration }),
		list("trail", func(r *approvalRow) **string { return &r.trail }),
		text("continuation", func(a *core.Approval) *string { return (*string)(&a.Continuation) }),
		text("agent", func(a *core.Approval) *string { return &a.Agent }),
		text("session_key", func(a *core.Approval) *string { return &a.SessionKey }),
		text("run_id", func(a *core.Approval) *string { return &a.RunID }),
		text("frame_id", func(a *core.Approval) *string { return &a.FrameID }),
		text("group_id", func(a *core.Approval) *string { return &a.Group }),
		text("caused_by", func(a *core.Approval) *string { return &a.CausedBy }),
		list("audience", func(r *approvalRow) **string { return &r.audience }),
		text("callback_url", func(a *core.Approval) *string { return &a.CallbackURL }),
		text("requested_by", func(a *core.Approval) *string { return &a.RequestedBy }),
		list("reviewers", func(r *approvalRow) **string { return &r.reviewers }),
		flag("exclude_requester", func(a *core.Approval) *bool { return &a.ExcludeRequester }),
		flag("require_push", func(a *core.Approval) *bool { return &a.RequirePush }),
		number("created_at", func(a *core.Approval) *int64 { return (*int64)(&a.CreatedAt) }),
		number("expires_at", func(a *core.Approval) *int64 { return (*int64)(&a.ExpiresAt) }),
	}
}

// stampColumns are what every transition writes.
func stampColumns() []column {
	return []column{
		number("updated_at", func(a *core.Approval) *int64 { return (*int64)(&a.UpdatedAt) }),
		number("revision", func(a *core.Approval) *int64 { return &a.Revision }),
		number("card_revision", func(a *core.Approval) *int64 { return &a.CardRevision }),
	}
}

// outcomeColumns are what the end of a pending row writes, together with the grant
// that an allowed row begins with.
func outcomeColumns() []column {
	return []column{
		text("status", func(a *core.Approval) *string { return (*string)(&a.Status) }),
		text("decision", func(a *core.Approval) *string { return (*string)(&a.Decision) }),
		text("reason", func(a *core.Approval) *string { return (*string)(&a.Reason) }),
		text("note", func(a *core.Approval) *string { return &a.Note }),
		flag("by_message", func(a *core.Approval) *bool { return &a.ByMessage }),
		text("decision_key", func(a *core.Approval) *string { return &a.DecisionKey }),
		text("attempt_id", func(a *core.Approval) *string { return &a.AttemptID }),
		number("resolved_at", func(a *core.Approval) *int64 { return (*int64)(&a.ResolvedAt) }),
		text("resolver_kind", func(a *core.Approval) *string { return (*string)(&a.ResolverKind) }),
		text("resolver_id", func(a *core.Approval) *string { return &a.ResolverID }),
		text("resolver_name", func(a *core.Approval) *string { return &a.ResolverName }),
		text("surface", func(a *core.Approval) *string { return (*string)(&a.Surface) }),
		text("delivery_id", func(a *core.Approval) *string { return &a.DeliveryID }),
		text("proof", func(a *core.Approval) *string { return &a.Proof }),
		flag("partial_view", func(a *core.Approval) *bool { return &a.PartialView }),
	}
}

// grantColumns are what becomes of an allowed row. The first two begin the grant.
func grantColumns() []column {
	return []column{
		text("execution", func(a *core.Approval) *string { return (*string)(&a.Execution) }),
		number("claim_by", func(a *core.Approval) *int64 { return (*int64)(&a.ClaimBy) }),
		text("claim_token", func(a *core.Approval) *string { return &a.ClaimToken }),
		number("consumed_at", func(a *core.Approval) *int64 { return (*int64)(&a.ConsumedAt) }),
		text("consumed_by", func(a *core.Approval) *string { return &a.ConsumedBy }),
		number("outcome_by", func(a *core.Approval) *int64 { return (*int64)(&a.OutcomeBy) }),
		number("outcome_at", func(a *core.Approval) *int64 { return (*int64)(&a.OutcomeAt) }),
		text("outcome_error", func(a *core.Approval) *string { return &a.OutcomeError }),
		text("void_reason", func(a *core.Approval) *string { return (*string)(&a.VoidReason) }),
		list("aftermath", func(r *approvalRow) **string { return &r.aftermath }),
	}
}

// rowBuffer is a row with the pointers to all of its columns. To make one costs as
// much as to read a row into it, so that buffers are used again.
type rowBuffer struct {
	row approvalRow
	at  []any // By column, in the order of Table.all.
}

func newRowBuffer(columns []column) *rowBuffer {
	b := &rowBuffer{at: make([]any, len(columns), len(columns)+16)} // Some reads have more columns behind.
	for i, c := range columns {
		b.at[i] = c.at(&b.row)
	}
	return b
}

// buffer lends an empty row buffer; done gives it back. What it points to must not be
// used after that.
func (t *Table) buffer() (b *rowBuffer, done func()) {
	b = t.buffers.Get().(*rowBuffer) //nolint:forcetypeassert // The pool holds nothing else.
	return b, func() {
		b.row = approvalRow{} // Content is not kept, and no list is shared with the next row.
		t.buffers.Put(b)
	}
}

// scanWith is Scan for rows with further columns behind the approval's.
func (t *Table) scanWith(scan Row, more ...any) (core.Approval, error) {
	b, done := t.buffer()
	defer done()
	if err := scan(append(b.at, more...)...); err != nil {
		return core.Approval{}, err
	}
	if err := b.row.decode(); err != nil {
		return b.row.a, err
	}
	return b.row.a, b.row.a.Check()
}

func (r *approvalRow) decode() error {
	err := errors.Join(
		decodeJSON(&r.presentation, &r.a.Presentation),
		r.decodeOffered(),
		decodeJSON(r.alwaysOffer, &r.a.AlwaysOffer),
		decodeJSON(r.trail, &r.a.Trail),
		decodeJSON(r.audience, &r.a.Audience),
		decodeJSON(r.reviewers, &r.a.Reviewers),
		decodeJSON(r.aftermath, &r.a.Aftermath),
	)
	if err != nil { // The decoder's text may quote the row.
		return fmt.Errorf("%w: a column is no JSON of its type", core.ErrCorrupt)
	}
	return nil
}

// decodeOffered knows by heart what nearly every row offers.
func (r *approvalRow) decodeOffered() error {
	switch r.offered {
	case `["allow-once","deny"]`:
		r.a.Offered = []core.Decision{core.DecisionAllowOnce, core.DecisionDeny}
		return nil
	case `["allow-once","allow-always","deny"]`:
		r.a.Offered = []core.Decision{core.DecisionAllowOnce, core.DecisionAllowAlways, core.DecisionDeny}
		return nil
	}
	return decodeJSON(&r.offered, &r.a.Offered)
}

func (r *approvalRow) encode() error {
	var errs [7]error
	var presentation, offered *string
	presentation, errs[0] = encodeJSON(r.a.Presentation)
	offered, errs[1] = encodeJSON(r.a.Offered)
	if r.a.AlwaysOffer != nil {
		r.alwaysOffer, errs[2] = encodeJSON(r.a.AlwaysOffer)
	}
	if r.a.Trail != nil {
		r.trail, errs[3] = encodeJSON(r.a.Trail)
	}
	if r.a.Audience != nil {
		r.audience, errs[4] = encodeJSON(r.a.Audience)
	}
	if r.a.Reviewers != nil {
		r.reviewers, errs[5] = encodeJSON(r.a.Reviewers)
	}
	errs[6] = r.encodeMoving()
	if errors.Join(errs[:]...) != nil {
		return core.Invalid("presentation", "must be JSON of its type")
	}
	r.presentation, r.offered = *presentation, *offered
	return nil
}

// encodeMoving is encode for the columns that change after a row was made.
func (r *approvalRow) encodeMoving() (err error) {
	r.aftermath = nil
	if r.a.Aftermath != nil {
		r.aftermath, err = encodeJSON(r.a.Aftermath)
	}
	return err
}

// decodeMoving is decode for the same columns.
func (r *approvalRow) decodeMoving() error {
	r.a.Aftermath = nil
	if err := decodeJSON(r.aftermath, &r.a.Aftermath); err != nil {
		return fmt.Errorf("%w: a column is no JSON of its type", core.ErrCorrupt)
	}
	return nil
}

func decodeJSON(s *string, into any) error {
	if s == nil {
		return nil
	}
	return json.Unmarshal([]byte(*s), into)
}

// encodeJSON writes JSON without the escapes meant for HTML, so that bounded text
// keeps its size and raw JSON its bytes.
func encodeJSON(v any) (*string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	s := strings.TrimSuffix(b.String(), "\n")
	return &s, nil
}

// textsJSON is the array that Dialect.TextsIn lists: an empty one for nil, because
// PostgreSQL cannot list null, where its plan comes to it at all.
func textsJSON(list []string) (string, error) {
	s, err := encodeJSON(append([]string{}, list...))
	if err != nil {
		return "", core.Invalid("list", "must be of text")
	}
	return *s, nil
}

// Names lists all columns of approvals, qualified with "a.", in the order of Scan.
func (t *Table) Names() string { return t.names }

// Columns lists the names and the types of all columns of approvals, in the order
// of Values.
func (t *Table) Columns() (names, types []string) {
	for _, c := range t.all {
		names, types = append(names, c.name), append(types, c.kind)
	}
	return names, types
}

// Values is a whole row as it is stored: pointers to its columns. Errors:
// core.ErrInvalid.
func (t *Table) Values(a *core.Approval) ([]any, error) {
	b := newRowBuffer(t.all)
	b.row.a = *a
	if err := b.row.encode(); err != nil {
		return nil, err
	}
	return b.at, nil
}

// Scan reads one row of Names and checks it. A row that the state machine cannot
// have produced yields core.ErrCorrupt, with the id and the position that it
// claims; any other error is of the database.
func (t *Table) Scan(scan Row) (core.Approval, error) { return t.scanWith(scan) }
