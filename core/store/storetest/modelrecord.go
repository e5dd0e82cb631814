package storetest

import (
	"fmt"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
)

const modelInstance = "instance"

// ask draws a request: fresh, repeated under its key, or refused.
func (m *model) ask() {
	if len(m.rows) >= maxRows {
		m.rt.Skip("enough rows")
	}
	edits := []edit{withRuntime(m.runtime), expiresIn(pick(m, "expiry", core.Millis(1_000), 60_000, core.LiveExpiry))}
	key, content := pick(m, "key", "", "", "key-1", "key-2"), pick(m, "content", "a", "a", "b")
	run := ""
	if key == "" {
		run = pick(m, "run", "", "run-1", "run-2")
		edits = append(edits, withRun(run))
	} else {
		edits = append(edits, withKey(key, content))
	}
	var refusal error
	if m.aborted[run] {
		refusal = core.ErrRunAborted
	}
	switch {
	case m.chance("durable", 3):
		edits = append(edits, withContinuation(core.ContinuationDurable))
	case m.epoch > 0 && m.chance("instance", 2):
		epoch := m.epoch
		if key == "" && refusal == nil && m.boots > 1 && m.chance("zombie", 4) {
			epoch--
			refusal = core.ErrStaleEpoch
		}
		edits = append(edits, withInstance(modelInstance, epoch))
	}
	if key == "" && m.chance("automatic", 5) {
		edits = append(edits, automatic)
	} else {
		edits = append(edits, withCardsOf(m.account, []string{"chat-1", "chat-2"}[:pick(m, "cards", 0, 1, 2)]...))
	}
	m.put(m.kit.ask(edits...), content, refusal)
}

// put makes the request and compares the answer with what the model says.
func (m *model) put(c core.NewApproval, content string, refusal error) {
	m.t.Helper()
	newest := m.newest[c.Approval.IdempotencyKey]
	made, err := m.Create(m.ctx, c)
	now := m.now()
	if newest != nil {
		newest.expire(now)
	}
	switch {
	case newest != nil && newest.content != content:
		require.ErrorIs(m.t, err, core.ErrIdempotencyConflict)
		return
	case newest != nil && newest.want.Status != core.StatusExpired && newest.want.Reason != core.ReasonRuntimeRestart:
		require.NoError(m.t, err)
		require.True(m.t, made.Existing)
		require.Equal(m.t, newest.want.ID, made.Approval.ID, "a retry finds the newest row of its key")
		return
	case refusal != nil:
		require.ErrorIs(m.t, err, refusal)
		return
	}
	require.NoError(m.t, err)
	require.False(m.t, made.Existing)
	require.NoError(m.t, made.Approval.Check())
	require.Equal(m.t, c.Approval.Status, made.Approval.Status)
	require.Equal(m.t, core.Millis(0), made.Approval.CreatedAt-now)
	require.Equal(m.t, c.ExpiresIn, made.Approval.ExpiresAt-now)
	r := &modelRow{want: made.Approval, content: content, cards: map[string]core.Delivery{}}
	if newest != nil {
		require.Equal(m.t, newest.want.ID, made.Approval.Supersedes)
		require.Equal(m.t, newest.want.KeyGeneration+1, made.Approval.KeyGeneration)
	}
	m.rows = append(m.rows, r)
	if key := c.Approval.IdempotencyKey; key != "" {
		m.newest[key] = r
	}
}

// resolve lets one of several people answer, sometimes with outdated authority.
func (m *model) resolve() {
	r := m.row()
	who := pick(m, "person", modelPeople[:]...)
	decision := pick(m, "decision", core.DecisionAllowOnce, core.DecisionDeny)
	c := guarded(m.answer(r.want.ID, decision), m.people[who])
	old, changed := m.outdated[who]
	if !changed || r.want.Status != core.StatusPending || r.want.Due(m.now()) || !m.chance("outdated", 3) {
		m.decided(r, c)
		return
	}
	c.Guard.PersonRevision = old.Revision
	got, err := m.Decide(m.ctx, c)
	require.ErrorIs(m.t, err, core.ErrNotFound)
	require.False(m.t, got.Applied)
}

func (m *model) withdraw() {
	r := m.row()
	c := m.withdrawal(r.want.ID)
	c.To.ResolverID = m.runtime
	m.decided(r, c)
}

// decided applies a decision whose guard holds.
func (m *model) decided(r *modelRow, c core.Decide) {
	m.t.Helper()
	got, err := m.Decide(m.ctx, c)
	require.NoError(m.t, err)
	now := m.now()
	expired := r.expire(now)
	applied := r.want.Status == core.StatusPending
	if applied {
		r.end(now, c.To)
	}
	require.Equal(m.t, applied, got.Applied)
	require.Equal(m.t, expired, got.Expired)
	if !r.lapsed(now) && !r.silent(now) {
		m.took(r, got.Approval)
	}
	if applied {
		require.Equal(m.t, c.AttemptID, got.Approval.AttemptID)
	}
}

// unseat changes a person's standing, so that revisions read before are outdated.
func (m *model) unseat() {
	who := pick(m, "person", modelPeople[:]...)
	role := core.RoleViewer
	if m.people[who].Role == core.RoleViewer {
		role = core.RoleReviewer
	}
	p, err := m.ChangePrincipal(m.ctx, core.ChangePrincipal{ID: who, Role: &role})
	require.NoError(m.t, err)
	require.Greater(m.t, p.Revision, m.people[who].Revision)
	m.outdated[who], m.people[who] = m.people[who], p
}

// claim tries to take a grant, rightly or wrongly.
func (m *model) claim() {
	r, now := m.row(), m.now()
	token := pick(m, "token", "token-1", "token-2")
	c := claimOf(r.want, token)
	foreign, wrong := m.chance("foreign", 6), m.chance("wrong hash", 6)
	if foreign {
		c.Runtime = otherRuntime
	}
	if wrong {
		c.ActionHash = core.HashOf([]byte("something else"))
	}
	got, err := m.Claim(m.ctx, c)
	switch {
	case foreign:
		require.ErrorIs(m.t, err, core.ErrNotFound)
		require.Empty(m.t, got.ID)
	case r.want.Status != core.StatusAllowed:
		require.ErrorIs(m.t, err, oneOf(err, core.ErrNotClaimable, core.ErrRunAborted, core.ErrStaleEpoch))
	case r.want.Execution == core.ExecutionVoided:
		require.ErrorIs(m.t, err, oneOf(err, core.ErrNotClaimable, core.ErrRunAborted, core.ErrStaleEpoch))
	case r.want.Execution != core.ExecutionUnclaimed:
		m.claimHeld(r, token, wrong, err)
	case r.lapsed(now):
		require.ErrorIs(m.t, err, core.ErrNotClaimable)
		r.void(got.VoidReason)
		require.Equal(m.t, core.ExecutionVoided, got.Execution)
	case wrong:
		require.ErrorIs(m.t, err, core.ErrNotClaimable)
		r.void(core.VoidHashMismatch)
	default:
		require.NoError(m.t, err)
		r.token = token
		r.want.Execution, r.want.ClaimToken = core.ExecutionClaimed, tokenHash(token)
		r.want.ConsumedAt, r.want.OutcomeBy = now, now+core.OutcomeWindow
	}
}

// claimHeld judges the claim of a grant that somebody holds.
func (m *model) claimHeld(r *modelRow, token string, wrong bool, err error) {
	m.t.Helper()
	switch {
	case token != r.token:
		require.ErrorIs(m.t, err, oneOf(err, core.ErrAlreadyClaimed, core.ErrNotClaimable))
	case !wrong && r.want.Execution == core.ExecutionClaimed && !r.silent(m.now()):
		require.NoError(m.t, err)
	}
}

// report tells what happened, rightly or wrongly.
func (m *model) report() {
	r := m.row()
	if r.silent(m.now()) {
		m.rt.Skip("a report and its deadline may come in either order")
	}
	token := pick(m, "token", "token-1", "token-1", "token-2")
	outcome := pick(m, "outcome", core.ExecutionSucceeded, core.ExecutionFailed, core.ExecutionUnknown)
	_, err := m.Report(m.ctx, reportOf(r.want, token, outcome))
	switch {
	case r.token == "":
		require.ErrorIs(m.t, err, core.ErrNotClaimable)
	case token != r.token:
		require.ErrorIs(m.t, err, core.ErrAlreadyClaimed)
	case r.want.Execution == core.ExecutionClaimed:
		require.NoError(m.t, err)
		r.want.Execution, r.want.OutcomeAt = outcome, m.now()
	case r.want.Execution == outcome:
		require.NoError(m.t, err)
	default:
		require.ErrorIs(m.t, err, core.ErrConflict)
	}
}

// stop ends what a stopped run or a replaced process had left open, after time
// has had its turn: a row that is due has expired.
func (m *model) stop(hints []core.Hint, concerns func(*modelRow) bool, reason core.Reason, void core.VoidReason) {
	m.t.Helper()
	now, changed := m.now(), ids(hints)
	for _, r := range m.rows {
		hit := false
		switch {
		case !concerns(r):
		case r.want.Status == core.StatusPending:
			r.end(now, core.Terminal{Status: core.StatusCancelled, Reason: reason, ResolverKind: core.ResolverRuntime, ResolverID: m.runtime})
			hit = true
		case r.want.Execution == core.ExecutionUnclaimed:
			r.void(void)
			hit = true
		}
		require.Equal(m.t, hit, changed[r.want.ID], "exactly what changed is hinted at")
	}
}

func (m *model) abort() {
	m.sweep()
	run := pick(m, "run", "run-1", "run-2")
	got, hints, err := m.AbortRun(m.ctx, m.runtime, run)
	require.NoError(m.t, err)
	require.Zero(m.t, got.Pending)
	m.aborted[run] = true
	m.stop(hints, func(r *modelRow) bool { return r.want.RunID == run }, core.ReasonRunAborted, core.VoidRunAborted)
}

func (m *model) register() {
	m.sweep()
	if !m.chance("same boot", 3) {
		m.boots++
	}
	got, hints, err := m.RegisterInstance(m.ctx, core.RegisterInstance{
		Runtime: m.runtime, Instance: modelInstance, BootID: fmt.Sprintf("boot-%d", m.boots),
	})
	require.NoError(m.t, err)
	require.GreaterOrEqual(m.t, got.Epoch, m.epoch)
	m.epoch = got.Epoch
	m.stop(hints, func(r *modelRow) bool {
		return r.want.Instance == modelInstance && r.want.Epoch < m.epoch && r.want.Continuation == core.ContinuationLive
	}, core.ReasonRuntimeRestart, core.VoidRuntimeRestart)
}

// sweep lets time have its turn with everything.
func (m *model) sweep() {
	const limit = 1_000
	now, changed := m.now(), map[string]bool{}
	for {
		hints, err := m.Sweep(m.ctx, limit)
		require.NoError(m.t, err)
		for id := range ids(hints) {
			changed[id] = true
		}
		if len(hints) < limit {
			break
		}
	}
	for _, r := range m.rows {
		hit := r.expire(now)
		switch {
		case r.lapsed(now):
			r.void(core.VoidLapsed)
			hit = true
		case r.silent(now):
			r.want.Execution, r.want.OutcomeAt = core.ExecutionUnknown, now
			hit = true
		}
		require.Equal(m.t, hit, changed[r.want.ID], "exactly what changed is hinted at")
	}
}

// advance moves the clock and then looks at the store in one of several ways, of
// which each must notice what has become due.
func (m *model) advance() {
	m.kit.advance(pick(m, "by", core.Millis(1), 1_000, 30_000, 59_999, 60_000, core.GiveUpAfter, core.LiveExpiry, core.DurableClaim))
	look := pick(m, "look", "list", "sweep", "resolve", "withdraw", "ask", "claim")
	switch {
	case look == "sweep":
		m.sweep()
	case look == "ask" && len(m.rows) < maxRows:
		m.ask()
	case look == "resolve" && len(m.rows) > 0:
		m.resolve()
	case look == "withdraw" && len(m.rows) > 0:
		m.withdraw()
	case look == "claim" && len(m.rows) > 0:
		m.claim()
	}
}

func (m *model) reopen() {
	if !m.chance("really", 4) {
		m.rt.Skip("reopening is slow")
	}
	m.kit.reopen()
}
