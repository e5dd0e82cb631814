package deliveries_test

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/saysohq/sayso/core"
)

// memory is a small, honest ledger in memory: leases, fences, blocks, aliases and
// the level-triggered rule behave as the ports promise.
type memory struct {
	mu         sync.Mutex
	bus        core.Publisher
	approvals  map[string]*core.Approval
	details    map[string]core.Detail
	rows       map[string]*core.Delivery
	before     map[string]core.DeliveryState
	aliases    map[chat]string
	blocked    map[chat]core.Millis
	broken     map[chat]core.BrokenRoute // By destination.
	people     []core.Principal
	owners     []string
	identities []core.Identity
	reachable  bool // The page can be reached.

	slowClaims time.Duration // How long a claim takes, after which it has what was due at its end.

	claims    int
	begins    []core.BeginSend
	completes []core.CompleteDelivery
	releases  []core.ReleaseDelivery
	closes    []core.CloseDelivery
	fail      func(op string) error // Scripted faults.
	onBegin   func(d *core.Delivery)
	damaged   map[string]bool // Approvals whose record cannot be read any more.
}

type chat struct {
	ref     core.AccountRef
	address string
}

func newMemory(bus core.Publisher) *memory {
	return &memory{
		bus: bus, approvals: map[string]*core.Approval{}, details: map[string]core.Detail{},
		rows: map[string]*core.Delivery{}, before: map[string]core.DeliveryState{},
		aliases: map[chat]string{}, blocked: map[chat]core.Millis{}, broken: map[chat]core.BrokenRoute{},
		fail: func(string) error { return nil },
	}
}

func now() core.Millis { return core.MillisOf(time.Now()) }

func refOf(d *core.Delivery) core.AccountRef {
	return core.AccountRef{Channel: d.Channel, Account: d.Account}
}

func (m *memory) Now(context.Context) (core.Millis, error) { return now(), nil }

// ask adds a pending approval with rows that are due.
func (m *memory) ask(id string, rows ...core.Delivery) {
	m.mu.Lock()
	defer m.mu.Unlock()
	a := core.Approval{
		ID: id, Kind: core.KindPlugin, Ref: core.ResolutionRef(core.KindPlugin, id), Status: core.StatusPending,
		ActionHash: core.HashOf([]byte(id)), CreatedAt: now(), ExpiresAt: now() + core.MaxExpiry,
		Revision: 1, CardRevision: 1,
	}
	m.approvals[id] = &a
	for _, d := range rows {
		d.ApprovalID, d.CreatedAt, d.GiveUpAt = id, now(), now()+core.GiveUpAfter
		d.State, d.Step, d.DueAt = cmp.Or(d.State, core.DeliveryPlanned), cmp.Or(d.Step, core.StepCard), now()
		m.rows[d.ID] = &d
	}
}

// hint tells the bus to look again.
func (m *memory) hint(id string) {
	m.bus.Publish(context.Background(), core.Hint{ApprovalID: id, Deliveries: true})
}

// decide ends an approval and marks its rows due, as the guarded write does.
func (m *memory) decide(id string) {
	m.mu.Lock()
	m.end(id, core.StatusDenied, core.ReasonUser)
	m.mu.Unlock()
	m.hint(id)
}

func (m *memory) end(id string, s core.Status, r core.Reason) {
	a := m.approvals[id]
	a.Status, a.Reason, a.ResolvedAt, a.Decision = s, r, now(), core.DecisionDeny
	a.Revision++
	a.CardRevision++
	for _, d := range m.rows {
		if d.ApprovalID == id && d.State != core.DeliveryClosed {
			d.DueAt = m.due(d, now())
		}
	}
}

// due applies the rule of core to a row.
func (m *memory) due(d *core.Delivery, from core.Millis) core.Millis {
	a := m.approvals[d.ApprovalID]
	return d.DueFrom(from, a.Status.Terminal(), a.CardRevision)
}

// requestView asks for the whole detail.
func (m *memory) requestView(deliveryID string) {
	m.mu.Lock()
	d := m.rows[deliveryID]
	d.View, d.DueAt = 1, now()
	m.mu.Unlock()
	m.hint(d.ApprovalID)
}

// row returns a copy of a row.
func (m *memory) row(id string) core.Delivery {
	m.mu.Lock()
	defer m.mu.Unlock()
	return *m.rows[id]
}

// change alters a row behind the worker's back, as another replica would.
func (m *memory) change(id string, f func(d *core.Delivery)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f(m.rows[id])
}

func (m *memory) script(f func(op string) error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fail = f
}

func (m *memory) Approval(_ context.Context, l core.Lookup) (core.Approval, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.fail("approval"); err != nil {
		return core.Approval{}, err
	}
	a, ok := m.approvals[l.ID]
	if !ok {
		return core.Approval{}, core.ErrNotFound
	}
	if a.Due(now()) {
		m.end(l.ID, core.StatusExpired, core.ReasonTimeout)
	}
	return *a, nil
}

func (m *memory) Detail(_ context.Context, id string) (core.Detail, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.fail("detail"); err != nil {
		return core.Detail{}, err
	}
	return m.details[id], nil
}

// Principal reads a person. As long as a test names nobody, everybody is an admin.
func (m *memory) Principal(_ context.Context, id string) (core.Principal, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.fail("person"); err != nil {
		return core.Principal{}, err
	}
	if m.people == nil {
		return core.Principal{ID: id, Role: core.RoleAdmin}, nil
	}
	for _, p := range m.people {
		if p.ID == id {
			return p, nil
		}
	}
	return core.Principal{}, core.ErrNotFound
}

// Owners lists who owns every agent.
func (m *memory) Owners(context.Context, string, string) ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.owners), nil
}

func (m *memory) IdentitiesOf(_ context.Context, ids ...string) ([]core.Identity, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.fail("identities"); err != nil {
		return nil, err
	}
	var out []core.Identity
	for _, i := range m.identities {
		if len(ids) == 0 || slices.Contains(ids, i.PrincipalID) {
			out = append(out, i)
		}
	}
	return out, nil
}

func (m *memory) DeliveriesOf(_ context.Context, id string) ([]core.Delivery, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []core.Delivery
	for _, d := range m.rows {
		if d.ApprovalID == id {
			out = append(out, *d)
		}
	}
	slices.SortFunc(out, func(a, b core.Delivery) int { return cmp.Compare(a.ID, b.ID) })
	return out, nil
}

// readyAt is when the row may be claimed; 0 for never.
func (m *memory) readyAt(d *core.Delivery) core.Millis {
	if d.State == core.DeliveryClosed {
		return 0
	}
	at := d.DueAt
	if d.LeaseHolder != "" {
		at = d.LeaseUntil
	}
	if at == 0 {
		return 0
	}
	return max(at, m.blocked[chat{refOf(d), ""}], m.blocked[chat{refOf(d), m.follow(d)}])
}

func (m *memory) follow(d *core.Delivery) string {
	address := d.Address
	for {
		next, ok := m.aliases[chat{refOf(d), address}]
		if !ok {
			return address
		}
		address = next
	}
}

func (m *memory) ClaimDue(_ context.Context, c core.ClaimDue) ([]core.Work, core.Millis, error) {
	if m.slowClaims > 0 {
		<-time.After(m.slowClaims)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.claims++
	if err := m.fail("claim"); err != nil {
		return nil, 0, err
	}
	var due []*core.Delivery
	for _, d := range m.rows {
		terminal := m.approvals[d.ApprovalID].Status.Terminal()
		if c.Lane == core.LaneEdits && !terminal || c.Lane == core.LaneCards && terminal {
			continue
		}
		if slices.Contains(c.Accounts, refOf(d)) && m.readyAt(d) != 0 {
			due = append(due, d)
		}
	}
	slices.SortFunc(due, func(a, b *core.Delivery) int {
		return cmp.Or(cmp.Compare(m.rank(a), m.rank(b)), cmp.Compare(m.readyAt(a), m.readyAt(b)), cmp.Compare(a.ID, b.ID))
	})
	var work []core.Work
	var next core.Millis
	for _, d := range due {
		if at := m.readyAt(d); at > now() || len(work) == c.Limit {
			if next == 0 || at < next {
				next = at
			}
			continue
		}
		work = append(work, m.lease(d, c))
	}
	return work, next, nil
}

func (m *memory) rank(d *core.Delivery) int {
	if m.approvals[d.ApprovalID].Status.Terminal() {
		return 0
	}
	return 1
}

func (m *memory) lease(d *core.Delivery, c core.ClaimDue) core.Work {
	takenOver := d.LeaseHolder != ""
	if takenOver {
		d.Unsettled, d.SettleAt = true, now().Add(core.CallTimeout+core.SettleMargin)
	}
	d.LeaseHolder, d.LeaseUntil = c.Worker, now()+c.Lease
	d.Fence++
	out := *d
	out.Address = m.follow(d)
	w := core.Work{Delivery: out, Approval: *m.approvals[d.ApprovalID], TakenOver: takenOver, Now: now()}
	if w.Damaged = m.damaged[d.ApprovalID]; w.Damaged {
		a := w.Approval
		w.Approval = core.Approval{ID: a.ID, Kind: a.Kind, Status: a.Status, Revision: a.Revision, CardRevision: a.CardRevision}
	}
	return w
}

// fenced finds the row if the lease is still the caller's.
func (m *memory) fenced(id string, fence int64, margin core.Millis) (*core.Delivery, error) {
	d, ok := m.rows[id]
	if !ok || d.Fence != fence || d.LeaseHolder == "" || d.LeaseUntil <= now()+margin {
		return nil, core.ErrLeaseLost
	}
	return d, nil
}

// known is fenced for a worker that has to know which message its row follows.
func (m *memory) known(id string, fence int64, margin core.Millis, locator string) (*core.Delivery, error) {
	d, err := m.fenced(id, fence, margin)
	if err == nil && d.Locator != locator { // Adopted since.
		d.LeaseHolder, d.LeaseUntil, d.DueAt = "", 0, now()
		return nil, core.ErrLeaseLost
	}
	return d, err
}

func (m *memory) Begin(_ context.Context, b core.BeginSend) error {
	d, err := m.begin(b)
	if err == nil && m.onBegin != nil { // Outside the lock: it may let time pass.
		m.onBegin(d)
	}
	return err
}

func (m *memory) begin(b core.BeginSend) (*core.Delivery, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.fail("begin"); err != nil {
		return nil, err
	}
	d, err := m.known(b.Delivery, b.Fence, b.LeaseMargin, b.Locator)
	if err != nil {
		return nil, err
	}
	for _, o := range m.rows {
		if o.ID != d.ID && o.ApprovalID == d.ApprovalID && refOf(o) == refOf(d) && o.Address == b.Address {
			m.closeRow(d, core.OutcomeDuplicate)
			return nil, core.ErrConflict
		}
	}
	m.begins = append(m.begins, b)
	d.Address, d.ShownHash, d.Offered, d.ShownComplete, d.KeyID = b.Address, b.ShownHash, b.Offered, b.ShownComplete, b.KeyID
	d.Attempts++
	if !b.Edit {
		m.before[d.ID] = d.State
		d.State = core.DeliverySending
	}
	seen := *d
	return &seen, nil
}

func (m *memory) Complete(_ context.Context, c core.CompleteDelivery) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.fail("complete"); err != nil {
		return err
	}
	d, err := m.fenced(c.Delivery, c.Fence, 0)
	if err != nil {
		return err
	}
	m.completes = append(m.completes, c)
	a := m.approvals[d.ApprovalID]
	d.State, d.Attempts, d.LeaseHolder, d.DueAt, d.LastError = core.DeliveryOpen, 0, "", 0, core.FailureNone
	if d.Locator = cmp.Or(c.Locator, d.Locator); c.Locator != "" {
		delete(m.broken, chat{refOf(d), d.Destination})
	}
	d.ShownRevision, d.ShownView, d.Step, d.ToldRevision = c.ShownRevision, c.ShownView, c.Step, max(d.ToldRevision, c.Told)
	if c.Step == core.StepFollowup {
		d.ClosesAs, d.DueAt = c.Then, now()
		return nil
	}
	if d.SettleAt.Reached(now()) {
		d.Unsettled = false
	}
	switch {
	case d.ShownRevision < a.CardRevision || d.ShownView < d.View:
		d.DueAt = m.due(d, now())
	case d.Unsettled:
		d.DueAt = d.SettleAt
	case c.Final != core.OutcomeNone && a.Status.Terminal():
		m.closeRow(d, c.Final)
	}
	return nil
}

func (m *memory) Release(_ context.Context, r core.ReleaseDelivery) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.fail("release"); err != nil {
		return err
	}
	d, err := m.fenced(r.Delivery, r.Fence, 0)
	if err != nil {
		return err
	}
	m.releases = append(m.releases, r)
	if r.NotSent {
		d.State = m.before[d.ID]
	}
	d.Ambiguous = d.Ambiguous || r.Ambiguous
	if r.Address != "" {
		m.aliases[chat{refOf(d), d.Address}] = r.Address
		d.Address = r.Address
	}
	if r.BlockFor > 0 {
		where := chat{refOf(d), d.Address}
		if r.BlockAll {
			where.address = ""
		}
		m.blocked[where] = max(m.blocked[where], now()+r.BlockFor)
	}
	if r.EditFor > 0 {
		d.EditAfter = now() + r.EditFor
	}
	d.LeaseHolder, d.DueAt, d.LastError, d.LastErrorText = "", m.due(d, now()+r.RetryIn), r.Class, r.ErrorText
	if m.approvals[d.ApprovalID].CardRevision > r.SeenRevision {
		d.DueAt = m.due(d, now())
	}
	return nil
}

func (m *memory) Close(_ context.Context, c core.CloseDelivery) (core.Hint, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.fail("close"); err != nil {
		return core.Hint{}, err
	}
	d, err := m.known(c.Delivery, c.Fence, 0, c.Locator)
	if err != nil {
		return core.Hint{}, err
	}
	m.closes = append(m.closes, c)
	d.LastError, d.LastErrorText = c.Class, c.ErrorText
	m.closeRow(d, c.Outcome)
	if c.BreakRoute {
		m.broken[chat{refOf(d), d.Destination}] = core.BrokenRoute{
			Ref: refOf(d), Destination: d.Destination, PersonID: d.PersonID, Class: c.Class,
			Failures: 1, BrokenAt: now(), RetryAt: now() + core.RouteRetryFirst,
		}
	}
	for _, id := range c.Hasten {
		m.rows[id].DueAt = now()
	}
	for i := range m.identities {
		l := &m.identities[i]
		if c.BreakRoute && l.PrincipalID == d.PersonID && l.Channel == d.Channel && l.Account == d.Account {
			l.Broken = c.Class
		}
	}
	for _, p := range c.Next {
		m.plan(d.ApprovalID, p)
	}
	a := m.approvals[d.ApprovalID]
	if a.Status == core.StatusPending && !m.reachable && !m.hasRoute(a.ID) {
		m.end(a.ID, core.StatusDenied, core.ReasonNoRoute)
	}
	return core.Hint{ApprovalID: a.ID, Revision: a.Revision, Deliveries: true}, nil
}

func (m *memory) BrokenRoutes(context.Context) ([]core.BrokenRoute, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.fail("broken"); err != nil {
		return nil, err
	}
	return slices.Collect(maps.Values(m.broken)), nil
}

func (m *memory) PlanCard(_ context.Context, id string, p core.PlannedDelivery) (bool, core.Hint, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.fail("plan"); err != nil {
		return false, core.Hint{}, err
	}
	if m.approvals[id].Status != core.StatusPending {
		return false, core.Hint{}, core.ErrConflict
	}
	if m.rows[p.ID] != nil {
		return false, core.Hint{}, nil
	}
	m.plan(id, p)
	return true, core.Hint{ApprovalID: id, Deliveries: true}, nil
}

func (m *memory) plan(id string, p core.PlannedDelivery) {
	m.rows[p.ID] = &core.Delivery{
		ID: p.ID, ApprovalID: id, Channel: p.Channel, Account: p.Account, Destination: p.Destination,
		PersonID: p.PersonID, Address: p.Address, State: core.DeliveryPlanned, Step: core.StepCard,
		CreatedAt: now(), DueAt: now() + p.After, GiveUpAt: now() + p.After + core.GiveUpAfter,
	}
}

func (m *memory) hasRoute(id string) bool {
	for _, d := range m.rows {
		if d.ApprovalID == id && d.State != core.DeliveryClosed {
			return true
		}
	}
	return false
}

func (m *memory) closeRow(d *core.Delivery, o core.DeliveryOutcome) {
	d.State, d.Outcome, d.DueAt, d.LeaseHolder = core.DeliveryClosed, o, 0, ""
}

func (m *memory) Unconverged(context.Context) (int, core.Millis, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	count, oldest := 0, core.Millis(0)
	for _, d := range m.rows {
		if a := m.approvals[d.ApprovalID]; d.State == core.DeliveryOpen && d.NeedsWork(a) {
			count++
			oldest = max(oldest, now()-a.ResolvedAt)
		}
	}
	return count, oldest, nil
}

func (m *memory) SweepDeliveries(_ context.Context, _ core.Reachability, limit int) ([]core.Hint, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var hints []core.Hint
	for _, d := range m.rows {
		a := m.approvals[d.ApprovalID]
		if d.NeedsWork(a) && d.DueAt == 0 && d.LeaseHolder == "" && len(hints) < limit {
			d.DueAt = now()
			hints = append(hints, core.Hint{ApprovalID: a.ID, Deliveries: true})
		}
	}
	return hints, nil
}
