package postgres

import (
	"bytes"
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
)

// wire stands between the store and the server: it counts round trips and can lose
// what passes.
type wire struct {
	turns atomic.Int64 // Answers awaited after something was sent.
	lose  atomic.Int32
	of    atomic.Pointer[string] // Only what contains this is lost; nil is everything.
	down  atomic.Bool            // Nobody gets through.
}

// loses is what becomes of a piece, once.
func (w *wire) loses(piece []byte) int32 {
	if of := w.of.Load(); of != nil && !bytes.Contains(piece, []byte(*of)) {
		return loseNothing
	}
	return w.lose.Swap(loseNothing)
}

// What a wire loses, once.
const (
	loseNothing int32 = iota
	loseRequest       // It never arrives, and its sender does not know.
	loseAnswer        // It arrives, and the answer does not.
	refuse            // It is not even taken.
)

func (w *wire) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if w.down.Load() {
		return nil, errCut
	}
	c, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &tapped{Conn: c, wire: w}, nil
}

// tapped is one connection on the wire.
type tapped struct {
	net.Conn
	wire *wire

	mu   sync.Mutex
	sent bool
	dead bool // Nothing arrives any more.
	mute bool // The last request never arrived either: there is no answer to wait for.
}

var errCut = errors.New("the wire was cut")

func (c *tapped) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sent = true
	switch c.wire.loses(b) {
	case refuse:
		c.dead, c.mute = true, true
		return 0, errCut
	case loseRequest:
		c.dead, c.mute = true, true
		return len(b), nil
	case loseAnswer:
		c.dead = true
	}
	return c.Conn.Write(b)
}

func (c *tapped) Read(b []byte) (int, error) {
	c.mu.Lock()
	dead, mute := c.dead, c.mute
	if c.sent {
		c.sent = false
		c.wire.turns.Add(1)
	}
	c.mu.Unlock()
	if dead && !mute {
		_, _ = c.Conn.Read(b) // The server has answered.
	}
	if dead {
		return 0, errCut
	}
	return c.Conn.Read(b)
}

// A decision and a plain question are one round trip each, once the statements are
// known to the connection, and always without a session to know them.
func TestOneRoundTrip(t *testing.T) {
	t.Parallel()
	for _, pooler := range []Pooler{PoolerNone, PoolerTransaction} {
		w := &wire{}
		s := opened(t, func(c *Config) { c.Dial, c.MaxConns, c.Pooler = w.dial, 1, pooler })
		p, err := s.AddPrincipal(t.Context(), core.Principal{ID: "bob", Name: "Bob", Role: core.RoleAdmin})
		require.NoError(t, err)
		for n := range 6 {
			before := w.turns.Load()
			c := draft(n, "chat-1", "chat-2")
			c.Approval.RunID, c.MaxPending = "run", []int{0, 10, 10_000}[n%3] // No limit; one that is near; one that is far.
			c.Detail = core.Detail{Text: "all of it"}
			made, err := s.Create(t.Context(), c)
			require.NoError(t, err)
			asked := w.turns.Load()
			d := denial(made.Approval.ID, "attempt")
			d.Guard, d.Seen = core.Guard{PersonID: p.ID, PersonRevision: p.Revision}, &made.Approval
			got, err := s.Decide(t.Context(), d)
			require.NoError(t, err)
			require.True(t, got.Applied)
			if n > 2 || pooler == PoolerTransaction {
				require.Equal(t, int64(1), asked-before, "asking, pooler %q", pooler)
				require.Equal(t, int64(1), w.turns.Load()-asked, "deciding, pooler %q", pooler)
			}
		}
	}
}

// cut makes an approval and warms the connection up, so that the next thing on the
// wire is the decision.
func cut(t *testing.T) (*Store, *wire, core.Approval) {
	t.Helper()
	w := &wire{}
	s := opened(t, func(c *Config) { c.Dial, c.Pooler = w.dial, PoolerTransaction })
	made, err := s.Create(t.Context(), draft(1, "chat-1"))
	require.NoError(t, err)
	return s, w, made.Approval
}

// The answer was lost on its way: the attempt in the row says that it won.
func TestALostAnswerIsReadBack(t *testing.T) {
	t.Parallel()
	s, w, a := cut(t)
	d := denial(a.ID, "mine")
	d.Seen = &a
	w.lose.Store(loseAnswer)
	got, err := s.Decide(t.Context(), d)
	require.NoError(t, err)
	require.True(t, got.Applied)
	require.Equal(t, "mine", got.Approval.AttemptID)
	require.Equal(t, int64(2), got.Approval.Revision, "once")
}

// The answer was lost, and somebody else had been first.
func TestALostAnswerOfALoser(t *testing.T) {
	t.Parallel()
	s, w, a := cut(t)
	_, err := s.Decide(t.Context(), denial(a.ID, "theirs"))
	require.NoError(t, err)
	d := denial(a.ID, "mine")
	d.Seen = &a // As it was before.
	w.lose.Store(loseAnswer)
	got, err := s.Decide(t.Context(), d)
	require.NoError(t, err)
	require.False(t, got.Applied)
	require.Equal(t, "theirs", got.Approval.AttemptID)
}

// Nobody knows whether the server will still begin: it is not sent again.
func TestALostRequestIsNotRepeated(t *testing.T) {
	t.Parallel()
	for _, lose := range []int32{loseRequest, refuse} {
		s, w, a := cut(t)
		d := denial(a.ID, "mine")
		d.Seen = &a
		w.lose.Store(lose)
		_, err := s.Decide(t.Context(), d)
		require.ErrorIs(t, err, core.ErrOutcomeUnknown)
		now, err := s.Approval(t.Context(), core.Lookup{ID: a.ID})
		require.NoError(t, err)
		require.Equal(t, core.StatusPending, now.Status)
		got, err := s.Decide(t.Context(), d)
		require.NoError(t, err, "the store goes on")
		require.True(t, got.Applied)
	}
}

// A question whose answer was lost is unknown too; asking again by its id finds it.
func TestALostAnswerOfAQuestion(t *testing.T) {
	t.Parallel()
	s, w, _ := cut(t)
	w.lose.Store(loseAnswer)
	_, err := s.Create(t.Context(), draft(2, "chat-1"))
	require.ErrorIs(t, err, core.ErrOutcomeUnknown)
	again, err := s.Create(t.Context(), draft(2, "chat-1"))
	require.NoError(t, err)
	require.True(t, again.Existing)
	rows, err := s.DeliveriesOf(t.Context(), again.Approval.ID)
	require.NoError(t, err)
	require.Len(t, rows, 1)
}

// The commit of any other write: unknown, and not repeated.
func TestALostCommit(t *testing.T) {
	t.Parallel()
	s, _, _ := cut(t)
	for name, c := range map[string]struct {
		lose int32
		want error
	}{"answer": {loseAnswer, core.ErrOutcomeUnknown}, "request": {loseRequest, core.ErrOutcomeUnknown}} {
		conn, err := s.acquire(t.Context())
		require.NoError(t, err)
		x := &tx{ctx: t.Context(), conn: conn, store: s}
		_, err = x.begin()
		require.NoError(t, err)
		_, err = x.Exec(`INSERT INTO spent_ids (id) VALUES (?)`, name)
		require.NoError(t, err)
		tap, ok := conn.Conn().PgConn().Conn().(*tapped)
		require.True(t, ok)
		tap.wire.lose.Store(c.lose)
		require.ErrorIs(t, x.commit(), c.want, name)
		conn.Release()
	}
}

// A claim takes as many round trips for many rows as for one: looking (the clock and
// what is due next), begin, read, lease, what is due next, commit. While nothing is due
// it looks only.
func TestAClaimIsBounded(t *testing.T) {
	t.Parallel()
	w := &wire{}
	s := opened(t, func(c *Config) { c.Dial, c.MaxConns = w.dial, 1 })
	claim := core.ClaimDue{
		Worker: "w", Accounts: []core.AccountRef{{Channel: core.SurfaceTelegram, Account: "bot"}}, Limit: core.MaxPage, Lease: core.Millis(core.DeliveryLease.Milliseconds()),
	}
	turns := func(rows int) int64 {
		before := w.turns.Load()
		works, _, err := s.ClaimDue(t.Context(), claim)
		require.NoError(t, err)
		require.Len(t, works, rows)
		return w.turns.Load() - before
	}
	ask := func(n int, chats ...string) {
		_, err := s.Create(t.Context(), draft(n, chats...))
		require.NoError(t, err)
	}
	ask(1, "chat-1")
	turns(1) // The connection knows the statements now.
	require.Equal(t, int64(1), turns(0), "nothing is due")
	ask(2, "chat-1")
	require.Equal(t, int64(6), turns(1), "one row")
	for n := range 10 {
		ask(3+n, "chat-1", "chat-2", "chat-3")
	}
	require.Equal(t, int64(6), turns(30), "thirty rows")
}

// A claim whose commit nobody heard of costs its rows nothing: they are given back as
// soon as the record can be asked, and are claimed again as if nobody had had them.
func TestALostClaimIsGivenBack(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lose int32
		down bool // Nobody can be asked for a while.
	}{
		"its answer is lost":                     {lose: loseAnswer},
		"its commit is lost":                     {lose: loseRequest},
		"its answer is lost, and then everybody": {lose: loseAnswer, down: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &wire{}
			s := opened(t, func(c *Config) { c.Dial, c.MaxConns, c.Limit = w.dial, 2, time.Second })
			made, err := s.Create(t.Context(), draft(1, "chat-1", "chat-2"))
			require.NoError(t, err)
			claim := core.ClaimDue{
				Worker: "w", Accounts: []core.AccountRef{{Channel: core.SurfaceTelegram, Account: "bot"}}, Limit: 10, Lease: core.Millis(core.DeliveryLease.Milliseconds()),
			}
			commit := "COMMIT"
			w.of.Store(&commit)
			w.lose.Store(c.lose)
			if c.down {
				w.down.Store(true)
				_, _, err := s.ClaimDue(t.Context(), claim)
				require.ErrorIs(t, err, core.ErrUnavailable)
				w.down.Store(false)
			} else {
				works, next, err := s.ClaimDue(t.Context(), claim)
				require.NoError(t, err)
				require.Empty(t, works, "nobody knows what was claimed")
				require.NotZero(t, next, "look again at once")
			}
			works, _, err := s.ClaimDue(t.Context(), claim)
			require.NoError(t, err)
			require.Len(t, works, 2)
			for _, work := range works {
				require.Equal(t, made.Approval.ID, work.Approval.ID)
				require.False(t, work.TakenOver)
				require.False(t, work.Delivery.Unsettled, "nobody can paint late")
				require.Equal(t, core.DeliveryPlanned, work.Delivery.State)
			}
			works, _, err = s.ClaimDue(t.Context(), claim)
			require.NoError(t, err)
			require.Empty(t, works, "they are leased")
		})
	}
}

// What somebody else has claimed meanwhile stays theirs.
func TestALostClaimTakesNothingBack(t *testing.T) {
	t.Parallel()
	w := &wire{}
	s := opened(t, func(c *Config) { c.Dial, c.Limit = w.dial, time.Second })
	_, err := s.Create(t.Context(), draft(1, "chat-1"))
	require.NoError(t, err)
	claim := core.ClaimDue{
		Worker: "w", Accounts: []core.AccountRef{{Channel: core.SurfaceTelegram, Account: "bot"}}, Limit: 10, Lease: core.Millis(core.DeliveryLease.Milliseconds()),
	}
	commit := "COMMIT"
	w.of.Store(&commit)
	w.lose.Store(loseRequest) // Nothing is leased, and the claim does not know.
	w.down.Store(true)
	_, _, err = s.ClaimDue(t.Context(), claim)
	require.ErrorIs(t, err, core.ErrUnavailable)
	w.down.Store(false)

	other := opened(t, func(c *Config) { c.DSN = s.pool.Config().ConnString() })
	theirs := claim
	theirs.Worker = "other"
	works, _, err := other.ClaimDue(t.Context(), theirs)
	require.NoError(t, err)
	require.Len(t, works, 1)
	mine, _, err := s.ClaimDue(t.Context(), claim)
	require.NoError(t, err)
	require.Empty(t, mine)
	d := works[0].Delivery
	require.NoError(t, other.BeginDelivery(t.Context(), core.BeginSend{Delivery: d.ID, Fence: d.Fence, Address: "chat-1"}))
}
