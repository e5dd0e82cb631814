package deliveries_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/channels/discord"
	"github.com/saysohq/sayso/channels/fakes"
	fakediscord "github.com/saysohq/sayso/channels/fakes/discord"
	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/bus/local"
	"github.com/saysohq/sayso/core/store/sqlite"
	"github.com/saysohq/sayso/deliveries"
)

const discordChat = "500000000000000001"

// plain makes payloads that nobody reads.
type plain struct{}

func (plain) Encode(_ core.AccountRef, a core.Action) (payload, keyID string, err error) {
	return strings.Join([]string{string(a.Type), string(a.Decision), string(a.Value), a.ApprovalID}, "|"), "k", nil
}

// server is a worker on a real store and the Discord fake, all by one clock that is
// moved by hand.
type server struct {
	*fakediscord.Server
	t     *testing.T
	ctx   context.Context //nolint:containedctx // The life of one test.
	store *sqlite.Store
	ref   core.AccountRef
	bus   *local.Bus
	n     int
}

func serveDiscord(t *testing.T, cfg fakediscord.Config) *server {
	t.Helper()
	fake, err := fakediscord.Start(cfg)
	require.NoError(t, err)
	t.Cleanup(fake.Close)
	fake.AddChannel(discordChat)
	ch, err := discord.New(discord.Config{Token: fake.Token(), APIBase: fake.URL(), Transport: &http.Transport{}, Now: fake.Clock.Now}, plain{})
	require.NoError(t, err)
	t.Cleanup(ch.Close)
	quiet := slog.New(slog.DiscardHandler)
	store, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "sayso.db"), Now: fake.Clock.Now, Log: quiet})
	require.NoError(t, err)
	metrics, err := deliveries.NewMetrics(prometheus.NewRegistry(), core.SurfaceDiscord)
	require.NoError(t, err)
	bus, ledger := local.New(), store.Ledger()
	worker := deliveries.New(deliveries.Config{Name: "worker", Poll: 20 * time.Millisecond}, deliveries.Deps{
		Store: ledger, Rows: ledger, Convergence: ledger, Records: store, People: store, Router: noRoutes{},
		Broken: store, Cards: store, Clock: store, Hints: bus, Publisher: bus, Channels: []channels.Channel{ch},
		Metrics: metrics, Logger: quiet, Now: fake.Clock.Now,
	})
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	storing, stopStore := context.WithCancel(context.Background())
	var running, stored sync.WaitGroup
	stored.Go(func() { _ = store.Run(storing) })
	running.Go(func() { _ = worker.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
		stopStore()
		stored.Wait()
		require.NoError(t, store.Close())
		require.Empty(t, fake.Violations.List())
	})
	return &server{Server: fake, t: t, ctx: ctx, store: store, ref: ch.Ref(), bus: bus}
}

// ask makes an approval with a card in the chat, waits for it and returns its row.
func (s *server) ask() core.Delivery {
	s.t.Helper()
	s.n++
	id := fmt.Sprintf("01890000-0000-7000-8000-%012x", s.n)
	action := core.HashOf([]byte(id))
	_, err := s.store.Create(s.ctx, core.NewApproval{
		Approval: core.Approval{
			ID: id, Kind: core.KindPlugin, Ref: core.ResolutionRef(core.KindPlugin, id), Origin: core.OriginAsk, Runtime: "builder",
			RequestHash: action, ArgumentsHash: action, ActionHash: action, Fingerprint: core.Fingerprint(action),
			Operation: core.Operation{Tool: "mail"}, Class: core.ClassSend, ClassSource: "table",
			Presentation: core.Presentation{Kind: core.KindPlugin, Title: fmt.Sprintf("Question %d", s.n)},
			Offered:      []core.Decision{core.DecisionAllowOnce, core.DecisionDeny}, Continuation: core.ContinuationDurable,
			Status: core.StatusPending, Grant: core.Grant{Execution: core.ExecutionNone},
		},
		ExpiresIn: core.MaxExpiry,
		Deliveries: []core.PlannedDelivery{{
			ID: "d-" + id, Channel: s.ref.Channel, Account: s.ref.Account, Destination: "chat:" + discordChat, Address: discordChat,
		}},
	})
	require.NoError(s.t, err)
	s.bus.Publish(s.ctx, core.Hint{})
	return s.await("d-"+id, func(d core.Delivery) bool { return d.State == core.DeliveryOpen })
}

func (s *server) row(id string) core.Delivery {
	s.t.Helper()
	rows, err := s.store.DeliveriesOf(s.ctx, strings.TrimPrefix(id, "d-"))
	require.NoError(s.t, err)
	require.Len(s.t, rows, 1)
	return rows[0]
}

func (s *server) await(id string, fits func(core.Delivery) bool) core.Delivery {
	s.t.Helper()
	var d core.Delivery
	require.Eventually(s.t, func() bool { d = s.row(id); return fits(d) }, 10*time.Second, 5*time.Millisecond)
	return d
}

// decide denies; with a delay, as the click on the card.
func (s *server) decide(d core.Delivery, delay core.Millis) core.Approval {
	s.t.Helper()
	done, err := s.store.Decide(s.ctx, core.Decide{
		ID: d.ApprovalID, AttemptID: d.ID, AnswerDelay: delay,
		To: core.Terminal{
			Status: core.StatusDenied, Decision: core.DecisionDeny, Reason: core.ReasonUser, ResolverKind: core.ResolverHuman,
			ResolverID: "ann", ResolverName: "Ann", Surface: core.SurfaceDiscord, DeliveryID: d.ID,
		},
	})
	require.NoError(s.t, err)
	require.True(s.t, done.Applied)
	s.bus.Publish(s.ctx, core.Hint{})
	return done.Approval
}

// pass moves the clock on and lets the worker look.
func (s *server) pass(by time.Duration) {
	s.Clock.Advance(by)
	s.bus.Publish(context.Background(), core.Hint{})
}

// edits counts the calls that edit a message.
func (s *server) edits(d core.Delivery) int {
	_, id, _ := strings.Cut(d.Locator, ":")
	return len(s.Calls(http.MethodPatch, "channels/"+discordChat+"/messages/"+id))
}

func closed(d core.Delivery) bool { return d.State == core.DeliveryClosed }

// The platform takes few edits of messages that are older than an hour (code 30046):
// the outcome of a card that has to wait for long is told in reply to it, once, and the
// card is edited when its time has come, not before.
func TestOldDiscordCardsAreToldInReply(t *testing.T) {
	t.Parallel()
	s := serveDiscord(t, fakediscord.Config{OldEditsIn: 10 * time.Minute})
	var rows []core.Delivery
	for range 4 { // The budget is three.
		rows = append(rows, s.ask())
	}
	s.pass(2 * time.Hour)
	for _, d := range rows[:3] {
		s.decide(d, 0)
		require.Equal(t, core.OutcomeReplaced, s.await(d.ID, closed).Outcome)
	}
	late := rows[3]
	a := s.decide(late, 0)
	got := s.await(late.ID, func(d core.Delivery) bool { return d.ToldRevision == a.CardRevision })
	require.Equal(t, core.DeliveryOpen, got.State)
	reply, err := s.AwaitMessage(s.ctx, func(m fakes.Message) bool { return m.ReplyTo == late.Locator })
	require.NoError(t, err)
	require.Contains(t, reply.Text, "enied by Ann")
	require.Empty(t, reply.Buttons)

	s.pass(9 * time.Minute)
	other := s.ask() // The worker has looked.
	require.Equal(t, 1, s.edits(late), "no edit before its time")
	s.decide(other, 0)
	require.Equal(t, core.OutcomeReplaced, s.await(other.ID, closed).Outcome, "a young card needs no such budget")
	s.pass(time.Minute)
	require.Equal(t, core.OutcomeReplaced, s.await(late.ID, closed).Outcome)
	card, ok := s.Message(late.Locator)
	require.True(t, ok)
	require.Empty(t, card.Buttons)
	require.Equal(t, 2, s.edits(late))
	require.Len(t, s.Messages(), 6, "told once")
}

// Design: the clicked row is left to the answer for 5 s; a lost one is made good then.
func TestClickedRowIsLeftToItsAnswer(t *testing.T) {
	t.Parallel()
	s := serveDiscord(t, fakediscord.Config{})
	lost, shown := s.ask(), s.ask()
	s.decide(lost, core.AnswerDelay)
	a := s.decide(shown, core.AnswerDelay)
	_, err := s.store.ShownByAnswer(s.ctx, shown.ID, a.CardRevision)
	require.NoError(t, err)
	require.Equal(t, core.OutcomeReplaced, s.row(shown.ID).Outcome)
	s.pass(4999 * time.Millisecond)
	other := s.ask() // The worker has looked.
	require.Zero(t, s.edits(lost))
	s.decide(other, 0)
	s.await(other.ID, closed)
	require.Zero(t, s.edits(lost))
	s.pass(time.Millisecond)
	require.Equal(t, core.OutcomeReplaced, s.await(lost.ID, closed).Outcome)
	require.Equal(t, 1, s.edits(lost))
	require.Zero(t, s.edits(shown), "the answer had shown it")
}
