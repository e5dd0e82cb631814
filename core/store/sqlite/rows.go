package sqlite

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
	// dest is where a read puts the value.
	dest func(r *approvalRow) any
	// value is what a write stores.
	value func(r *approvalRow) any
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
}

// field ties a column to a field that needs no conversion.
func field[T any](name string, at func(a *core.Approval) *T) column {
	return column{
		name:  name,
		dest:  func(r *approvalRow) any { return at(&r.a) },
		value: func(r *approvalRow) any { return *at(&r.a) },
	}
}

// text is field for the string types, which the driver takes as plain strings.
func text[T ~string](name string, at func(a *core.Approval) *T) column {
	return column{
		name:  name,
		dest:  func(r *approvalRow) any { return at(&r.a) },
		value: func(r *approvalRow) any { return string(*at(&r.a)) },
	}
}

// number is field for the integer types.
func number[T ~int64](name string, at func(a *core.Approval) *T) column {
	return column{
		name:  name,
		dest:  func(r *approvalRow) any { return at(&r.a) },
		value: func(r *approvalRow) any { return int64(*at(&r.a)) },
	}
}

func list[T any](name string, at func(r *approvalRow) *T) column {
	return column{
		name:  name,
		dest:  func(r *approvalRow) any { return at(r) },
		value: func(r *approvalRow) any { return *at(r) },
	}
}

// fixedColumns are written once, by Create.
func fixedColumns() []column {
	return []column{
		text("id", func(a *core.Approval) *string { return &a.ID }),
		text("ref", func(a *core.Approval) *string { return &a.Ref }),
		text("kind", func(a *core.Approval) *core.Kind { return &a.Kind }),
		text("origin", func(a *core.Approval) *core.Origin { return &a.Origin }),
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
		text("class", func(a *core.Approval) *core.Class { return &a.Class }),
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
		text("continuation", func(a *core.Approval) *core.Continuation { return &a.Continuation }),
		text("agent", func(a *core.Approval) *string { return &a.Agent }),
		text("session_key", func(a *core.Approval) *string { return &a.SessionKey }),
		text("run_id", func(a *core.Approval) *string { return &a.RunID }),
		text("frame_id", func(a *core.Approval) *string { return &a.FrameID }),
		text("group_id", func(a *core.Approval) *string { return &a.Group }),
		text("caused_by", func(a *core.Approval) *string { return &a.CausedBy }),
		list("audience", func(r *approvalRow) **string { return &r.audience }),
		text("requested_by", func(a *core.Approval) *string { return &a.RequestedBy }),
		list("reviewers", func(r *approvalRow) **string { return &r.reviewers }),
		field("exclude_requester", func(a *core.Approval) *bool { return &a.ExcludeRequester }),
		field("require_push", func(a *core.Approval) *bool { return &a.RequirePush }),
		number("created_at", func(a *core.Approval) *core.Millis { return &a.CreatedAt }),
		number("expires_at", func(a *core.Approval) *core.Millis { return &a.ExpiresAt }),
	}
}

// movingColumns are what transitions write.
func movingColumns() []column {
	return []column{
		number("updated_at", func(a *core.Approval) *core.Millis { return &a.UpdatedAt }),
		text("status", func(a *core.Approval) *core.Status { return &a.Status }),
		text("decision", func(a *core.Approval) *core.Decision { return &a.Decision }),
		text("reason", func(a *core.Approval) *core.Reason { return &a.Reason }),
		text("note", func(a *core.Approval) *string { return &a.Note }),
		field("by_message", func(a *core.Approval) *bool { return &a.ByMessage }),
		text("decision_key", func(a *core.Approval) *string { return &a.DecisionKey }),
		text("attempt_id", func(a *core.Approval) *string { return &a.AttemptID }),
		number("resolved_at", func(a *core.Approval) *core.Millis { return &a.ResolvedAt }),
		text("resolver_kind", func(a *core.Approval) *core.ResolverKind { return &a.ResolverKind }),
		text("resolver_id", func(a *core.Approval) *string { return &a.ResolverID }),
		text("resolver_name", func(a *core.Approval) *string { return &a.ResolverName }),
		text("surface", func(a *core.Approval) *core.Surface { return &a.Surface }),
		text("delivery_id", func(a *core.Approval) *string { return &a.DeliveryID }),
		text("proof", func(a *core.Approval) *string { return &a.Proof }),
		field("partial_view", func(a *core.Approval) *bool { return &a.PartialView }),
		text("execution", func(a *core.Approval) *core.Execution { return &a.Execution }),
		number("claim_by", func(a *core.Approval) *core.Millis { return &a.ClaimBy }),
		text("claim_token", func(a *core.Approval) *string { return &a.ClaimToken }),
		number("consumed_at", func(a *core.Approval) *core.Millis { return &a.ConsumedAt }),
		text("consumed_by", func(a *core.Approval) *string { return &a.ConsumedBy }),
		number("outcome_by", func(a *core.Approval) *core.Millis { return &a.OutcomeBy }),
		number("outcome_at", func(a *core.Approval) *core.Millis { return &a.OutcomeAt }),
		text("outcome_error", func(a *core.Approval) *string { return &a.OutcomeError }),
		text("void_reason", func(a *core.Approval) *core.VoidReason { return &a.VoidReason }),
		number("revision", func(a *core.Approval) *int64 { return &a.Revision }),
		number("card_revision", func(a *core.Approval) *int64 { return &a.CardRevision }),
	}
}

// table is the knowledge of the approvals table, built once per store.
type table struct {
	all    []column
	moving []column
	names  string // All columns, qualified with "a.".
	insert string
	update string

	// Reads of whole rows; see the conditions in queries.go.
	byID, byRef, byKey         string
	due, lapsed, silent        string
	runPending, runUnclaimed   string
	bootPending, bootUnclaimed string
}

func newTable() *table {
	moving := movingColumns()
	t := &table{moving: moving, all: append(fixedColumns(), moving...)}
	names := make([]string, len(t.all))
	qualified := make([]string, len(t.all))
	for i, c := range t.all {
		names[i], qualified[i] = c.name, "a."+c.name
	}
	sets := make([]string, len(moving))
	for i, c := range moving {
		sets[i] = c.name + " = ?"
	}
	t.names = strings.Join(qualified, ", ")
	t.insert = "INSERT INTO approvals (" + strings.Join(names, ", ") + ") VALUES (?" + strings.Repeat(", ?", len(names)-1) + ")"
	t.update = "UPDATE approvals SET " + strings.Join(sets, ", ") + " WHERE id = ? AND revision = ?"
	t.byID, t.byRef, t.byKey = t.selectWhere(whereID), t.selectWhere(whereRef), t.selectWhere(whereKey)
	t.due, t.lapsed, t.silent = t.selectWhere(whereDue), t.selectWhere(whereLapsed), t.selectWhere(whereSilent)
	t.runPending, t.runUnclaimed = t.selectWhere(whereRunPending), t.selectWhere(whereRunUnclaimed)
	t.bootPending, t.bootUnclaimed = t.selectWhere(whereBootPending), t.selectWhere(whereBootUnclaimed)
	return t
}

// selectWhere builds a read of whole rows.
func (t *table) selectWhere(where string) string {
	return "SELECT " + t.names + " FROM approvals a WHERE " + where
}

func values(columns []column, r *approvalRow) []any {
	args := make([]any, len(columns), len(columns)+2)
	for i, c := range columns {
		args[i] = c.value(r)
	}
	return args
}

// scan reads one row and checks it. A row that the state machine cannot have
// produced yields core.ErrCorrupt, with the id and the position that it claims;
// any other error is of the database.
func (t *table) scan(scan func(dest ...any) error) (core.Approval, error) {
	return t.scanWith(scan)
}

// scanWith is scan for rows with further columns behind the approval's.
func (t *table) scanWith(scan func(dest ...any) error, more ...any) (core.Approval, error) {
	var r approvalRow
	dest := make([]any, len(t.all), len(t.all)+len(more))
	for i, c := range t.all {
		dest[i] = c.dest(&r)
	}
	if err := scan(append(dest, more...)...); err != nil {
		return core.Approval{}, err
	}
	if err := r.decode(); err != nil {
		return r.a, err
	}
	return r.a, r.a.Check()
}

func (r *approvalRow) decode() error {
	err := errors.Join(
		decodeJSON(&r.presentation, &r.a.Presentation),
		decodeJSON(&r.offered, &r.a.Offered),
		decodeJSON(r.alwaysOffer, &r.a.AlwaysOffer),
		decodeJSON(r.trail, &r.a.Trail),
		decodeJSON(r.audience, &r.a.Audience),
		decodeJSON(r.reviewers, &r.a.Reviewers),
	)
	if err != nil { // The decoder's text may quote the row.
		return fmt.Errorf("%w: a column is no JSON of its type", core.ErrCorrupt)
	}
	return nil
}

func (r *approvalRow) encode() error {
	var errs [6]error
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
	if errors.Join(errs[:]...) != nil {
		return core.Invalid("presentation", "must be JSON of its type")
	}
	r.presentation, r.offered = *presentation, *offered
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
