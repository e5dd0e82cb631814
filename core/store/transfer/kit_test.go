package transfer

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/store/postgres"
	"github.com/saysohq/sayso/core/store/postgres/postgrestest"
	"github.com/saysohq/sayso/core/store/sqlite"
)

// server has one database for each test that wants one.
var server = postgrestest.New(postgrestest.Options{}) //nolint:gochecknoglobals // TestMain ends it.

func TestMain(m *testing.M) {
	code := m.Run()
	if err := server.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// record is what both stores offer.
type record interface {
	core.Approvals
	core.Grants
	core.Principals
	core.Identities
	core.Sessions
	core.Tokens
	core.Codes
	core.Prompts
	core.Keys
	core.Restoration
	core.Rules
	core.AgentSettings
	core.Policies
	core.Declines
	AbortRun(ctx context.Context, runtime, run string) (core.Run, []core.Hint, error)
	RegisterInstance(ctx context.Context, r core.RegisterInstance) (core.Instance, []core.Hint, error)
	DeliveriesOf(ctx context.Context, id string) ([]core.Delivery, error)
	ClaimDue(ctx context.Context, c core.ClaimDue) ([]core.Work, core.Millis, error)
	BeginDelivery(ctx context.Context, b core.BeginSend) error
	CompleteDelivery(ctx context.Context, c core.CompleteDelivery) error
}

// withFile runs a store over a file and closes it again.
func withFile(t *testing.T, path string, fn func(record)) {
	t.Helper()
	var s *sqlite.Store
	require.Eventually(t, func() (open bool) { // A process that another test starts holds all files open until it runs.
		var err error
		s, err = sqlite.Open(t.Context(), sqlite.Config{Path: path, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
		if !errors.Is(err, sqlite.ErrInUse) {
			require.NoError(t, err)
		}
		return err == nil
	}, 10*time.Second, time.Millisecond)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	defer func() {
		stop()
		require.NoError(t, <-ended)
		require.NoError(t, s.Close())
	}()
	fn(s)
}

// withDatabase is the same over a database.
func withDatabase(t *testing.T, dsn string, fn func(record)) {
	t.Helper()
	s, err := postgres.Open(t.Context(), postgres.Config{DSN: dsn, Migrate: true, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	fn(s)
}

// Names of the questions of a populated store; draft makes their ids.
const (
	qPending = iota + 1
	qUnclaimed
	qClaimed
	qDenied
	qUnsent
	qReported
)

func draft(n int) core.NewApproval {
	id := fmt.Sprintf("01890000-0000-7000-8000-%012x", n)
	action := core.HashOf(fmt.Appendf(nil, "action %d", n))
	return core.NewApproval{
		Approval: core.Approval{
			ID: id, Ref: core.ResolutionRef(core.KindPlugin, id), Kind: core.KindPlugin, Origin: core.OriginAsk, Runtime: "builder",
			RequestHash:   core.HashOf(fmt.Appendf(nil, "request %d", n)),
			ArgumentsHash: core.HashOf(nil), ActionHash: action, Fingerprint: core.Fingerprint(action), Class: core.ClassSend,
			// Text that a careless copy would change.
			Presentation: core.Presentation{Kind: core.KindPlugin, Title: "Grüße an 東京 <b>&amp;", Arguments: []byte(`{"b": 1.0,  "a":[null,"\u00e9"]}`)},
			Offered:      []core.Decision{core.DecisionAllowOnce, core.DecisionDeny}, Reviewers: []string{"alice"},
			Continuation: core.ContinuationLive, Agent: "agent", RunID: "run", RequirePush: n%2 == 0,
			Status: core.StatusPending, Grant: core.Grant{Execution: core.ExecutionNone},
		},
		Detail: core.Detail{Text: "line\n\ttab \x01 end"}, ExpiresIn: core.LiveExpiry,
		Deliveries: []core.PlannedDelivery{{
			ID: id + "-1", Channel: core.SurfaceTelegram, Account: "bot", Destination: "chat:1", Address: "1",
		}},
	}
}

func idOf(n int) string { return draft(n).Approval.ID }

func hashOf(secret string) string { return core.HashOf([]byte(secret))[len(core.HashPrefix):] }

// populate brings a store to where it has something of everything.
func populate(t *testing.T, s record) {
	t.Helper()
	ctx := t.Context()
	_, err := s.AddPrincipal(ctx, core.Principal{ID: "alice", Name: "Alice", Role: core.RoleAdmin})
	require.NoError(t, err)
	require.NoError(t, s.LinkIdentity(ctx, core.Identity{
		Realm: "telegram", ExternalID: "7", PrincipalID: "alice", Channel: core.SurfaceTelegram, Account: "bot", DirectChat: "7",
	}))
	require.NoError(t, s.SetOwners(ctx, "builder", "agent", []string{"alice"}))
	_, err = s.StartSession(ctx, core.Session{ID: "s", Hash: hashOf("session"), PrincipalID: "alice", Kind: core.SessionBrowser}, core.SessionLife)
	require.NoError(t, err)
	_, err = s.IssueToken(ctx, core.Token{ID: "t", Hash: hashOf("token"), Runtime: "builder", Scopes: []core.Scope{core.ScopeRequest}}, 0)
	require.NoError(t, err)
	_, err = s.IssueCode(ctx, core.Code{Hash: hashOf("code"), Purpose: core.CodePair, PrincipalID: "alice"}, core.CodeLife)
	require.NoError(t, err)
	require.NoError(t, s.AddSealedKey(ctx, core.SealedKey{ID: "k", Purpose: "page", Sealed: []byte{0, 1, 255}}))
	_, _, err = s.RegisterInstance(ctx, core.RegisterInstance{Runtime: "builder", Instance: "i", BootID: "b", Facts: map[string]string{"sandbox": "docker"}})
	require.NoError(t, err)
	_, _, err = s.AbortRun(ctx, "builder", "other run")
	require.NoError(t, err)
	ask(t, s, qPending, qUnclaimed, qClaimed, qDenied, qReported)
	deliver(t, s)
	ask(t, s, qUnsent)
	answer(t, s, core.DecisionDeny, qDenied)
	answer(t, s, core.DecisionAllowOnce, qUnclaimed, qClaimed, qReported)
	for _, n := range []int{qClaimed, qReported} {
		_, err := s.Claim(ctx, core.Claim{ID: idOf(n), Runtime: "builder", ActionHash: draft(n).Approval.ActionHash, TokenHash: hashOf("runner")})
		require.NoError(t, err)
	}
	_, err = s.Report(ctx, core.Report{ID: idOf(qReported), Runtime: "builder", TokenHash: hashOf("runner"), Outcome: core.ExecutionSucceeded})
	require.NoError(t, err)
	_, err = s.SwitchMoney(ctx, core.NewRule{Rule: core.Rule{
		ID: "switch", Runtime: "builder", Agent: "agent", Tool: "pay", Scope: core.RuleForTool, Class: core.ClassMoney,
		Label: "every use of pay — für 東京", CreatedBy: "alice", CreatedName: "Alice", UsesAllowed: 3,
	}, Life: core.MaxExpiry}, core.Guard{})
	require.NoError(t, err)
	_, err = s.SetMode(ctx, core.SetMode{Runtime: "builder", Agent: "agent", Mode: core.ModeOnlyMoney, By: "alice", Name: "Alice"})
	require.NoError(t, err)
	_, err = s.ReopenDecline(ctx, core.ReopenDecline{ApprovalID: idOf(qDenied), By: "alice", Name: "Alice"})
	require.NoError(t, err)
}

// policyOf is what a store knows of the agent's policy.
type policyOf struct {
	Rules    []core.Rule
	Agents   []core.ListedAgent
	Changes  []core.PolicyChange
	Reopened core.Reopened
	Facts    map[string]string
}

func readPolicy(t *testing.T, s record) (p policyOf) {
	t.Helper()
	var err error
	p.Rules, err = s.ListRules(t.Context(), core.RuleQuery{})
	require.NoError(t, err)
	p.Agents, err = s.ListAgents(t.Context(), core.AgentQuery{})
	require.NoError(t, err)
	p.Changes, err = s.PolicyChanges(t.Context(), "builder", "agent", 0)
	require.NoError(t, err)
	p.Reopened, err = s.ReadReopened(t.Context(), idOf(qDenied))
	require.NoError(t, err)
	is, err := s.PolicyState(t.Context(), core.PolicyQuery{Runtime: "builder", Agent: "agent", Instance: "i", Epoch: 1})
	require.NoError(t, err)
	p.Facts = is.Facts
	return p
}

func ask(t *testing.T, s record, questions ...int) {
	t.Helper()
	for _, n := range questions {
		_, err := s.Create(t.Context(), draft(n))
		require.NoError(t, err)
	}
}

func answer(t *testing.T, s record, d core.Decision, questions ...int) {
	t.Helper()
	for _, n := range questions {
		got, err := s.Decide(t.Context(), core.Decide{ID: idOf(n), AttemptID: fmt.Sprint("attempt ", n), To: core.Terminal{
			Status: d.Status(), Decision: d, Reason: core.ReasonUser, ResolverKind: core.ResolverHuman,
			ResolverID: "alice", ResolverName: "Alice", Surface: core.SurfacePage,
		}})
		require.NoError(t, err)
		require.True(t, got.Applied)
	}
}

// deliver sends all cards that are due.
func deliver(t *testing.T, s record) {
	t.Helper()
	works, _, err := s.ClaimDue(t.Context(), core.ClaimDue{
		Worker: "w", Accounts: []core.AccountRef{{Channel: core.SurfaceTelegram, Account: "bot"}}, Lease: 60_000, Limit: 100,
	})
	require.NoError(t, err)
	for _, w := range works {
		d := w.Delivery
		require.NoError(t, s.BeginDelivery(t.Context(), core.BeginSend{Delivery: d.ID, Fence: d.Fence, Address: "1", KeyID: "k"}))
		require.NoError(t, s.CompleteDelivery(t.Context(), core.CompleteDelivery{
			Delivery: d.ID, Fence: d.Fence, Locator: "message of " + d.ApprovalID, ShownRevision: w.Approval.CardRevision,
		}))
	}
}

// populated is a file with something of everything.
func populated(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "data", "sayso.db")
	withFile(t, path, func(s record) { populate(t, s) })
	return path
}

// alter changes a file behind its store's back.
func alter(t *testing.T, path string, statements ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=ignore_check_constraints(1)&_pragma=busy_timeout(5000)")
	require.NoError(t, err)
	for _, s := range statements {
		_, err = db.ExecContext(t.Context(), s)
		require.NoError(t, err, s)
	}
	require.NoError(t, db.Close())
}

// in runs a statement in a database, and returns the first column as text.
func in(t *testing.T, dsn, statement string) []string {
	t.Helper()
	c, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Close(context.Background())) }()
	found, err := c.Query(t.Context(), statement)
	require.NoError(t, err)
	list, err := pgx.CollectRows(found, pgx.RowTo[string])
	require.NoError(t, err)
	return list
}

// inFile is the same in a file.
func inFile(t *testing.T, path, statement string) []string {
	t.Helper()
	f, err := openFile(t.Context(), path, asSnapshot)
	require.NoError(t, err)
	defer func() { require.NoError(t, f.close()) }()
	list, err := f.texts(t.Context(), statement)
	require.NoError(t, err)
	return list
}
