package callbacks_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/callbacks"
	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/approvals"
)

const (
	approvalID = "0193a6f0-0000-7000-8000-000000000001"
	otherID    = "0193a6f0-0000-7000-8000-000000000002"
	chat       = `{"chat":4711}`
	group      = `{"chat":-100}`
	message    = `{"chat":4711,"message":10}`
	groupCard  = `{"chat":-100,"message":11}`
	elsewhere  = `{"chat":4711,"message":99}`
	promptAt   = `{"chat":4711,"message":50}`
	realm      = "telegram"
)

var asked = core.MillisOf(time.Date(2026, 11, 30, 14, 0, 0, 0, time.UTC))

// What the pipeline asks for is what the rest of the service has.
var (
	_ callbacks.Resolver = (*approvals.Service)(nil)
	_ callbacks.Reader   = (*approvals.Service)(nil)
	_ callbacks.Ledger   = core.Ledger(nil)
	_ callbacks.People   = core.Principals(nil)
	_ callbacks.Texts    = core.Describer(nil)
)

// world is a whole small deployment: one record that decides, a ledger, people,
// prompts and codes, all in memory, each of which can be made to fail.
type world struct {
	mu         sync.Mutex
	approvals  map[string]core.Approval
	deliveries []core.Delivery
	people     map[string]core.Principal // By realm and id.
	prompts    map[string]core.Prompt
	codes      map[string]string // Code to person.
	burned     []string
	adoptable  bool
	adopted    []core.Adopt
	views      []string
	cards      []core.PlannedDelivery
	hints      []core.Hint
	resolves   []approvals.Resolve

	// Faults; nil for none.
	onResolve func(n int, r approvals.Resolve) error // Before the decision; n counts from 1.
	lost      func(n int) error                      // After it: the answer is lost.
	onGet     error
	onList    error
	onRow     error
	onPerson  error
	onPrompt  error
	onLink    error
	onView    error
	panics    string

	log      bytes.Buffer
	codec    *callbacks.Codec
	pipeline *callbacks.Pipeline
}

func newWorld(t *testing.T, change ...func(*callbacks.Config)) *world {
	t.Helper()
	w := &world{
		approvals: map[string]core.Approval{},
		people: map[string]core.Principal{
			realm + "/4711": {ID: "alice", Name: "Alice", Role: core.RoleReviewer, Revision: 1},
			realm + "/4712": {ID: "bob", Name: "Bob", Role: core.RoleReviewer, Revision: 1},
			realm + "/4713": {ID: "vera", Name: "Vera", Role: core.RoleViewer, Revision: 1},
			realm + "/4714": {ID: "dan", Name: "Dan", Role: core.RoleReviewer, Revision: 1},
			realm + "/4715": {ID: "eve", Name: "Eve", Role: core.RoleReviewer, Disabled: true, Revision: 2},
		},
		prompts: map[string]core.Prompt{},
		codes:   map[string]string{"LINKCODE": "alice"},
		codec:   newCodec(t),
	}
	w.add(approvalID)
	w.add(otherID)
	w.deliveries = []core.Delivery{
		w.row("d-direct", approvalID, chat, message),
		w.row("d-group", approvalID, group, groupCard),
		w.row("d-other", otherID, chat, `{"chat":4711,"message":20}`),
	}
	cfg := callbacks.Config{}
	for _, c := range change {
		c(&cfg)
	}
	w.pipeline = callbacks.New(cfg, w.with(w))
	return w
}

// with are the dependencies of a pipeline in this world, with a resolver of choice.
func (w *world) with(r callbacks.Resolver) callbacks.Deps {
	ids := 0
	return callbacks.Deps{
		Codec: w.codec, Resolver: r, Reader: w, Ledger: w, Cards: w, People: w, Prompts: w, Linker: w, Publisher: w, Clock: w, Texts: w,
		NewID:  func() string { ids++; return fmt.Sprintf("prompt-%d", ids) },
		Logger: slog.New(slog.NewTextHandler(&w.log, nil)),
	}
}

// add stores a pending approval that Alice, Bob and Vera may see.
func (w *world) add(id string) {
	hash := core.HashOf([]byte(id))
	w.approvals[id] = core.Approval{
		ID: id, Ref: core.ResolutionRef(core.KindExec, id), Kind: core.KindExec, Origin: core.OriginAsk, Runtime: "laptop",
		ArgumentsHash: hash, ActionHash: hash, Fingerprint: core.Fingerprint(hash), Class: core.ClassSend,
		Presentation: core.Presentation{Kind: core.KindExec, Title: "Claude wants to run a command", Command: "make deploy"},
		Offered:      []core.Decision{core.DecisionAllowOnce, core.DecisionDeny},
		Continuation: core.ContinuationLive, Agent: "Claude", Reviewers: []string{"alice", "bob", "vera"},
		CreatedAt: asked, UpdatedAt: asked, ExpiresAt: asked.Add(30 * time.Minute),
		Status: core.StatusPending, Grant: core.Grant{Execution: core.ExecutionNone}, Revision: 1, CardRevision: 1,
	}
}

// row is an open card that shows the whole action.
func (w *world) row(id, approval, address, locator string) core.Delivery {
	return core.Delivery{
		ID: id, ApprovalID: approval, Channel: bot.Channel, Account: bot.Account, Address: address, Locator: locator,
		State: core.DeliveryOpen, ShownRevision: 1, ShownHash: w.approvals[approval].ActionHash,
		Offered: []core.Decision{core.DecisionAllowOnce, core.DecisionDeny}, ShownComplete: true, KeyID: "K",
	}
}

func (w *world) record(id string) core.Approval {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.approvals[id]
}

func (w *world) change(id string, f func(*core.Approval)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	a := w.approvals[id]
	f(&a)
	w.approvals[id] = a
}

// press makes a click by user on our button of the card at locator.
func (w *world) press(t *testing.T, user, locator string, a core.Action) channels.Click {
	t.Helper()
	payload, _, err := w.codec.Encode(bot, a)
	require.NoError(t, err)
	return channels.Click{
		Account: bot, Actor: actor(user), Payload: payload, Chat: chat, Message: locator, Direct: true,
		Copy: channels.MessageCopy{SentByUs: true, Payloads: []string{payload}},
	}
}

func actor(user string) channels.Actor {
	return channels.Actor{Realm: realm, ID: user, Label: "@" + user}
}

func (w *world) say(user, text string) channels.Text {
	return channels.Text{Account: bot, Actor: actor(user), Chat: chat, Direct: true, Text: text, MessageID: "m1"}
}

func allow(id string) core.Action { return decision(core.DecisionAllowOnce, core.KindExec, id) }
func deny(id string) core.Action  { return decision(core.DecisionDeny, core.KindExec, id) }

// Resolve mimics the service: find, authorise, answered before, shown, write.
func (w *world) Resolve(ctx context.Context, r approvals.Resolve) (approvals.Resolved, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.resolves = append(w.resolves, r)
	n := len(w.resolves)
	if w.panics == "resolve" {
		panic("a secret note")
	}
	if w.onResolve != nil {
		if err := w.onResolve(n, r); err != nil {
			return approvals.Resolved{}, err
		}
	}
	if err := ctx.Err(); err != nil {
		return approvals.Resolved{}, err
	}
	a, err := w.find(r.Caller, r.Lookup)
	if err != nil {
		return approvals.Resolved{}, err
	}
	if !core.MayDecide(r.Caller.Person, &a, nil) {
		return approvals.Resolved{}, core.ErrForbidden
	}
	if a.Status.Terminal() {
		same := a.Decision == r.Decision || r.DecisionKey != "" && a.DecisionKey == r.DecisionKey
		return approvals.Resolved{Approval: a, Idempotent: same}, nil
	}
	if err := shown(&a, &r); err != nil {
		return approvals.Resolved{Approval: a}, err
	}
	a.Status, a.Revision, a.CardRevision = r.Decision.Status(), 2, 2
	a.Resolution = core.Resolution{
		Decision: r.Decision, Reason: core.ReasonUser, Note: r.Note, ByMessage: r.ByMessage, DecisionKey: r.DecisionKey,
		ResolvedAt: asked.Add(3 * time.Minute), ResolverKind: core.ResolverHuman,
		ResolverID: r.Caller.Person.ID, ResolverName: r.Caller.Person.Name, Surface: r.Caller.Surface, DeliveryID: r.DeliveryID,
	}
	if r.Adopt != nil {
		w.adopted = append(w.adopted, *r.Adopt)
	}
	w.approvals[a.ID] = a
	if w.lost != nil {
		if err := w.lost(n); err != nil {
			return approvals.Resolved{}, err
		}
	}
	return approvals.Resolved{Approval: a, Applied: true}, nil
}

func shown(a *core.Approval, r *approvals.Resolve) error {
	switch {
	case !r.Decision.Allows():
		return nil
	case !a.Offers(r.Decision):
		return core.ErrNotOffered
	case !r.Shown.Complete, r.Shown.Offered != nil && !slices.Contains(r.Shown.Offered, r.Decision):
		return core.ErrNotShown
	case r.Shown.ActionHash == "":
		return core.ErrHashRequired
	}
	return nil
}

func (w *world) find(c core.Caller, l core.Lookup) (core.Approval, error) {
	for _, a := range w.approvals {
		if (l.ID != "" && a.ID == l.ID || l.Ref != "" && a.Ref == l.Ref) && core.MaySee(c.Person, &a, nil) {
			return a, nil
		}
	}
	return core.Approval{}, core.ErrNotFound
}

func (w *world) Get(_ context.Context, c core.Caller, l core.Lookup) (core.Approval, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.onGet != nil {
		return core.Approval{}, w.onGet
	}
	return w.find(c, l)
}

func (w *world) List(_ context.Context, c core.Caller, q core.ListQuery) (core.ListPage, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.onList != nil {
		return core.ListPage{}, w.onList
	}
	var page core.ListPage
	for _, id := range slices.Sorted(maps.Keys(w.approvals)) {
		a := w.approvals[id]
		if q.Status != "" && a.Status != q.Status || !core.MaySee(c.Person, &a, nil) {
			continue
		}
		if len(page.Approvals) == q.Limit {
			page.More = true
			break
		}
		page.Approvals = append(page.Approvals, a)
	}
	return page, nil
}

func (w *world) DeliveryAt(_ context.Context, ref core.AccountRef, locator string) (core.Delivery, error) {
	if w.onRow != nil {
		return core.Delivery{}, w.onRow
	}
	for _, d := range w.deliveries {
		if d.Channel == ref.Channel && d.Account == ref.Account && d.Locator == locator {
			return d, nil
		}
	}
	return core.Delivery{}, core.ErrNotFound
}

func (w *world) DeliveriesOf(_ context.Context, id string) ([]core.Delivery, error) {
	var rows []core.Delivery
	for _, d := range w.deliveries {
		if d.ApprovalID == id {
			rows = append(rows, d)
		}
	}
	return rows, nil
}

func (w *world) Adoptable(context.Context, string, core.Adopt) (bool, error) { return w.adoptable, nil }

func (w *world) RequestView(_ context.Context, id string) (core.Hint, error) {
	if w.onView != nil {
		return core.Hint{}, w.onView
	}
	w.views = append(w.views, id)
	return core.Hint{ApprovalID: approvalID, Deliveries: true}, nil
}

func (w *world) Publish(_ context.Context, hints ...core.Hint) { w.hints = append(w.hints, hints...) }

func (w *world) Now(context.Context) (core.Millis, error) { return asked.Add(5 * time.Minute), nil }

// Text marks what went through the redactor.
func (w *world) Text(s string, limit int) string {
	if r := []rune(s); len(r) > limit {
		return string(r[:limit])
	}
	return s
}

func (w *world) PrincipalByIdentity(_ context.Context, r, id string) (core.Principal, error) {
	if w.panics == "people" {
		panic("a secret name")
	}
	if w.onPerson != nil {
		return core.Principal{}, w.onPerson
	}
	p, ok := w.people[r+"/"+id]
	if !ok {
		return core.Principal{}, fmt.Errorf("read person: %w", core.ErrNotFound)
	}
	return p, nil
}

func (w *world) OpenPrompt(_ context.Context, p core.Prompt, life core.Millis) (core.Prompt, error) {
	if w.onPrompt != nil {
		return core.Prompt{}, w.onPrompt
	}
	p.ExpiresAt = asked + life
	w.prompts[p.ID] = p
	return p, nil
}

func (w *world) PlacePrompt(_ context.Context, id, locator string) error {
	p, ok := w.prompts[id]
	if !ok {
		return core.ErrNotFound
	}
	p.Message = locator
	w.prompts[id] = p
	return nil
}

func (w *world) PromptByRef(_ context.Context, ref string) (core.Prompt, error) {
	return w.prompt(func(p core.Prompt) bool { return p.Ref == ref })
}

func (w *world) PromptAt(_ context.Context, ref core.AccountRef, locator string) (core.Prompt, error) {
	return w.prompt(func(p core.Prompt) bool {
		return p.Channel == ref.Channel && p.Account == ref.Account && p.Message == locator
	})
}

func (w *world) prompt(match func(core.Prompt) bool) (core.Prompt, error) {
	if w.onPrompt != nil {
		return core.Prompt{}, w.onPrompt
	}
	for _, p := range w.prompts {
		if p.DoneAt == 0 && match(p) {
			return p, nil
		}
	}
	return core.Prompt{}, core.ErrNotFound
}

func (w *world) FinishPrompt(_ context.Context, id string) error {
	p, ok := w.prompts[id]
	if !ok || p.DoneAt != 0 {
		return core.ErrNotFound
	}
	p.DoneAt = asked
	w.prompts[id] = p
	return nil
}

func (w *world) PeekLink(_ context.Context, code string) (core.Principal, string, error) {
	if w.onLink != nil {
		return core.Principal{}, "", w.onLink
	}
	id, ok := w.codes[code]
	if !ok {
		return core.Principal{}, "", core.ErrCodeInvalid
	}
	return core.Principal{ID: id, Name: "Alice"}, "hash of " + code, nil
}

func (w *world) RedeemLink(_ context.Context, hash string, i core.Identity) (core.Principal, error) {
	if w.onLink != nil {
		return core.Principal{}, w.onLink
	}
	for code, id := range w.codes {
		if hash == "hash of "+code {
			delete(w.codes, code)
			p := core.Principal{ID: id, Name: "Alice", Role: core.RoleReviewer}
			w.people[i.Realm+"/"+i.ExternalID] = p
			return p, nil
		}
	}
	return core.Principal{}, core.ErrCodeInvalid
}

func (w *world) BurnCode(_ context.Context, code string) error {
	if w.onLink != nil {
		return w.onLink
	}
	delete(w.codes, code)
	w.burned = append(w.burned, code)
	return nil
}

// PlanCard implements core.Cards.
func (w *world) PlanCard(_ context.Context, id string, d core.PlannedDelivery) (bool, core.Hint, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.onView != nil {
		return false, core.Hint{}, w.onView
	}
	a, ok := w.approvals[id]
	if !ok {
		return false, core.Hint{}, core.ErrNotFound
	}
	if a.Status != core.StatusPending {
		return false, core.Hint{}, core.ErrConflict
	}
	for _, row := range w.deliveries {
		if row.ApprovalID == id && row.Address == d.Address {
			return false, core.Hint{}, nil
		}
	}
	w.cards = append(w.cards, d)
	return true, core.Hint{ApprovalID: id, Deliveries: true}, nil
}
