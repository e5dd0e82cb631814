package storetest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
)

// Names that most subtests share.
const (
	ownRuntime   = "builder"
	otherRuntime = "stranger"
	account      = "bot-1"
	otherAccount = "bot-2"
	worker       = "worker-1"
	otherWorker  = "worker-2"
)

// tester is what the helpers need of a test; *testing.T and *rapid.T have it.
type tester interface {
	require.TestingT
	Helper()
}

// kit is one subtest's store with the vocabulary of the suite.
type kit struct {
	t   tester
	tb  testing.TB
	ctx context.Context //nolint:containedctx // The life of one test.
	h   Harness
	Store
	seen *seenRows // Nil where callers bring no row; see seeing.

	mu   sync.Mutex
	next int
}

func newKit(t *testing.T, h Harness) *kit {
	t.Helper()
	return &kit{t: t, tb: t, ctx: t.Context(), h: h, Store: h.Store()}
}

// number counts up; ids made from it sort in the order of making.
func (k *kit) number() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.next++
	return k.next
}

func (k *kit) reopen() {
	k.t.Helper()
	k.h.Reopen(k.tb)
	k.use()
}

func (k *kit) now() core.Millis {
	k.t.Helper()
	now, err := k.Now(k.ctx)
	require.NoError(k.t, err)
	return now
}

func (k *kit) advance(ms core.Millis) { k.h.Advance(time.Duration(ms) * time.Millisecond) }

// advanceTo moves the clock to exactly the given time.
func (k *kit) advanceTo(at core.Millis) {
	k.t.Helper()
	k.advance(at - k.now())
	require.Equal(k.t, at, k.now(), "the clock stands where it was moved to")
}

// edit changes a request before it is made.
type edit func(*core.NewApproval)

// ask builds a valid request: live, plugin, open for half an hour.
func (k *kit) ask(edits ...edit) core.NewApproval {
	n := k.number()
	id := fmt.Sprintf("01890000-0000-7000-8000-%012x", n)
	action := core.HashOf(fmt.Appendf(nil, "action %d", n))
	a := core.Approval{
		ID: id, Kind: core.KindPlugin, Origin: core.OriginAsk, Runtime: ownRuntime,
		RequestHash:   core.HashOf(fmt.Appendf(nil, "request %d", n)),
		Operation:     core.Operation{ID: fmt.Sprintf("call-%d", n), Type: "tool.call", Tool: "mail", Name: "send"},
		ArgumentsHash: core.HashOf(fmt.Appendf(nil, "arguments %d", n)),
		ActionHash:    action, Fingerprint: core.Fingerprint(action),
		Class: core.ClassSend, ClassSource: "table", Risk: "low",
		Presentation: core.Presentation{Kind: core.KindPlugin, Title: "Builder wants to send a message"},
		Offered:      []core.Decision{core.DecisionAllowOnce, core.DecisionDeny},
		Continuation: core.ContinuationLive, Agent: "agent-1", SessionKey: "session-1",
		Status: core.StatusPending, Grant: core.Grant{Execution: core.ExecutionNone},
	}
	c := core.NewApproval{Approval: a, Detail: core.Detail{Text: "the whole action"}, ExpiresIn: core.LiveExpiry}
	for _, e := range edits {
		e(&c)
	}
	c.Approval.Ref = core.ResolutionRef(c.Approval.Kind, c.Approval.ID)
	c.Approval.DetailBytes = int64(len(c.Detail.Text))
	return c
}

// create makes the request and requires that it made a new row.
func (k *kit) create(edits ...edit) core.Approval {
	k.t.Helper()
	made, err := k.Create(k.ctx, k.ask(edits...))
	require.NoError(k.t, err)
	require.False(k.t, made.Existing)
	return made.Approval
}

func withID(id string) edit         { return func(c *core.NewApproval) { c.Approval.ID = id } }
func withRuntime(name string) edit  { return func(c *core.NewApproval) { c.Approval.Runtime = name } }
func withRun(run string) edit       { return func(c *core.NewApproval) { c.Approval.RunID = run } }
func expiresIn(ms core.Millis) edit { return func(c *core.NewApproval) { c.ExpiresIn = ms } }

func withInstance(name string, epoch int64) edit {
	return func(c *core.NewApproval) { c.Approval.Instance, c.Approval.Epoch = name, epoch }
}

func withContinuation(to core.Continuation) edit {
	return func(c *core.NewApproval) { c.Approval.Continuation = to }
}

// withKey gives the request an idempotency key and the content that it stands for.
func withKey(key, content string) edit {
	return func(c *core.NewApproval) {
		c.Approval.IdempotencyKey = key
		c.Approval.RequestHash = core.HashOf([]byte(content))
	}
}

func withReviewers(ids ...string) edit {
	return func(c *core.NewApproval) { c.Approval.Reviewers = append([]string{}, ids...) }
}

// automatic makes the request one that a policy allowed (K15).
func automatic(c *core.NewApproval) {
	c.Approval.Origin, c.Approval.PolicyID, c.Approval.Status = core.OriginAuto, "sandbox.workspace.v1", core.StatusAllowed
	c.Approval.Reason, c.Approval.ResolverKind = core.ReasonPolicy, core.ResolverPolicy
	c.Approval.ResolverID = "sandbox.workspace.v1"
	c.Approval.Execution = core.ExecutionUnclaimed
}

// unroutable makes the request one that nobody can be asked.
func unroutable(c *core.NewApproval) {
	c.Approval.Status, c.Approval.Decision = core.StatusDenied, core.DecisionDeny
	c.Approval.Reason, c.Approval.ResolverKind = core.ReasonNoRoute, core.ResolverSystem
}

// withCards plans cards to addresses of the usual bot.
func withCards(addresses ...string) edit { return withCardsOf(account, addresses...) }

func withCardsOf(bot string, addresses ...string) edit {
	return func(c *core.NewApproval) {
		for _, address := range addresses {
			c.Deliveries = append(c.Deliveries, planned(
				fmt.Sprintf("%s-%s-%d", c.Approval.ID, bot, len(c.Deliveries)+1), bot, address))
		}
	}
}

func planned(id, bot, address string) core.PlannedDelivery {
	return core.PlannedDelivery{
		ID: id, Channel: core.SurfaceTelegram, Account: bot, Destination: "chat:" + address, Address: address,
	}
}

// answer builds a person's decision under the service's own guard.
func (k *kit) answer(id string, d core.Decision) core.Decide {
	return core.Decide{ID: id, AttemptID: fmt.Sprintf("attempt-%d", k.number()), To: core.Terminal{
		Status: d.Status(), Decision: d, Reason: core.ReasonUser, ResolverKind: core.ResolverHuman,
		ResolverID: "alice", ResolverName: "Alice", Surface: core.SurfacePage,
	}}
}

// withdrawal builds the runtime's own cancellation.
func (k *kit) withdrawal(id string) core.Decide {
	return core.Decide{ID: id, AttemptID: fmt.Sprintf("attempt-%d", k.number()), To: core.Terminal{
		Status: core.StatusCancelled, Reason: core.ReasonWithdrawn,
		ResolverKind: core.ResolverRuntime, ResolverID: ownRuntime, Surface: core.SurfaceAPI,
	}}
}

// decide applies a decision that must win.
func (k *kit) decide(id string, d core.Decision) core.Approval {
	k.t.Helper()
	got, err := k.Decide(k.ctx, k.answer(id, d))
	require.NoError(k.t, err)
	require.True(k.t, got.Applied)
	require.False(k.t, got.Expired)
	return got.Approval
}

func (k *kit) allow(id string) core.Approval {
	k.t.Helper()
	return k.decide(id, core.DecisionAllowOnce)
}

func (k *kit) deny(id string) core.Approval {
	k.t.Helper()
	return k.decide(id, core.DecisionDeny)
}

// read reads a row by id; it must be there and sound.
func (k *kit) read(id string) core.Approval {
	k.t.Helper()
	a, err := k.Approval(k.ctx, core.Lookup{ID: id})
	require.NoError(k.t, err)
	require.NoError(k.t, a.Check())
	return a
}

func (k *kit) gone(id string) {
	k.t.Helper()
	_, err := k.Approval(k.ctx, core.Lookup{ID: id})
	require.ErrorIs(k.t, err, core.ErrNotFound)
}

// same requires two rows to be equal; nil and empty lists of no meaning are.
func (k *kit) same(want, got core.Approval) {
	k.t.Helper()
	require.Empty(k.t, cmp.Diff(want, got, cmpopts.EquateEmpty()))
}

// events requires the changes that were recorded of an approval.
func (k *kit) events(id string, want ...core.EventType) {
	k.t.Helper()
	require.Equal(k.t, want, k.changes(id))
}

// claimOf builds the claim that the row's own runner would make.
func claimOf(a core.Approval, token string) core.Claim {
	return core.Claim{
		ID: a.ID, Runtime: a.Runtime, Instance: a.Instance, Epoch: a.Epoch,
		ActionHash: a.ActionHash, TokenHash: tokenHash(token),
	}
}

func tokenHash(token string) string {
	return strings.TrimPrefix(core.HashOf([]byte(token)), core.HashPrefix)
}

func (k *kit) claim(a core.Approval, token string) core.Approval {
	k.t.Helper()
	got, err := k.Claim(k.ctx, claimOf(a, token))
	require.NoError(k.t, err)
	require.Equal(k.t, core.ExecutionClaimed, got.Execution)
	return got
}

// person adds somebody.
func (k *kit) person(id string, role core.Role) core.Principal {
	k.t.Helper()
	p, err := k.AddPrincipal(k.ctx, core.Principal{ID: id, Name: "Person " + id, Role: role})
	require.NoError(k.t, err)
	return p
}

// signIn gives a person a session that lasts a day.
func (k *kit) signIn(principalID string) core.Session {
	k.t.Helper()
	n := k.number()
	s, err := k.StartSession(k.ctx, core.Session{
		ID: fmt.Sprintf("session-%d", n), Hash: tokenHash(fmt.Sprintf("secret-%d", n)),
		PrincipalID: principalID, Kind: core.SessionBrowser, Label: "phone",
	}, 24*60*60*1_000)
	require.NoError(k.t, err)
	return s
}

func identity(principalID, externalID string) core.Identity {
	return core.Identity{
		Realm: "telegram", ExternalID: externalID, PrincipalID: principalID, Label: "@" + externalID,
		Channel: core.SurfaceTelegram, Account: account, DirectChat: externalID,
	}
}

func (k *kit) link(principalID, externalID string) {
	k.t.Helper()
	require.NoError(k.t, k.LinkIdentity(k.ctx, identity(principalID, externalID)))
}

// together runs fn n times at once and returns when all have returned. Results
// go into slots of the caller; nothing is asserted inside.
func together(n int, fn func(i int)) {
	var ready, done sync.WaitGroup
	start := make(chan struct{})
	ready.Add(n)
	for i := range n {
		done.Go(func() {
			ready.Done()
			<-start
			fn(i)
		})
	}
	ready.Wait()
	close(start)
	done.Wait()
}

// ids lists the approvals of hints without repetition.
func ids(hints []core.Hint) map[string]bool {
	set := make(map[string]bool, len(hints))
	for _, h := range hints {
		set[h.ApprovalID] = true
	}
	return set
}
