package redis_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/bus/redis"
	"github.com/saysohq/sayso/core/bus/redis/redistest"
)

var everything core.Hint

// flows proves that hints go from one replica to the other, both ways.
func flows(t *testing.T, a, b replica) {
	t.Helper()
	for i, way := range [][2]replica{{a, b}, {b, a}} {
		from, heard := way[0], way[1].listen(t)
		want := core.Hint{ApprovalID: fmt.Sprint("flows ", i), Revision: time.Now().UnixNano()}
		require.Eventually(t, func() bool { // What is published in the moment of a fault may be lost.
			from.Publish(t.Context(), want)
			select {
			case h := <-heard:
				return h == want
			case <-time.After(20 * time.Millisecond):
				return false
			}
		}, soon, time.Millisecond)
	}
}

func TestServerKilledAndRestartedEmpty(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	a, b := start(t, s.URL()).connects(t), start(t, s.URL()).connects(t)
	heard := b.listen(t)
	flows(t, a, b)

	s.Kill(t)
	require.Eventually(t, func() bool { return !a.Connected() && !b.Connected() }, soon, time.Millisecond)
	own := a.listen(t)
	a.Publish(t.Context(), core.Hint{ApprovalID: "while it is dead"})
	await(t, own, core.Hint{ApprovalID: "while it is dead"})
	drain(heard)
	for range 3 { // At polling speed, for as long as it takes.
		began := time.Now()
		await(t, heard, everything)
		require.Less(t, time.Since(began), 10*time.Second)
	}
	require.Positive(t, a.figure(t, "sayso_bus_hints_dropped_total"))
	require.Zero(t, a.figure(t, "sayso_bus_connected"))
	require.Equal(t, 2, b.Replicas(), "as last known")

	s.Again(t)
	a.connects(t)
	b.connects(t)
	flows(t, a, b)
	require.InDelta(t, 1, a.figure(t, "sayso_bus_connected"), 0)
}

func drain(heard <-chan core.Hint) {
	for {
		select {
		case <-heard:
		default:
			return
		}
	}
}

// Whoever was cut off looks at everything as soon as he hears again.
func TestConnectionsKilled(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	a, b := start(t, s.URL()).connects(t), start(t, s.URL()).connects(t)
	admin := client(t, s)
	for _, kind := range []string{"pubsub", "normal"} {
		flows(t, a, b)
		heard := b.listen(t)
		require.NoError(t, admin.ClientKillByFilter(t.Context(), "TYPE", kind, "SKIPME", "yes").Err())
		await(t, heard, everything)
		flows(t, a, b)
	}
}

func client(t *testing.T, s redistest.Server) *goredis.Client {
	t.Helper()
	c := goredis.NewClient(&goredis.Options{Network: "unix", Addr: s.Socket()})
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

// A partition breaks nothing and answers nothing. Both sides notice: the replica that
// is cut off, and the one that misses it.
func TestPartition(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	p := redistest.Before(t, s)
	cut, other := start(t, p.URL()).connects(t), start(t, s.URL()).connects(t)
	flows(t, cut, other)
	atCut, atOther := cut.listen(t), other.listen(t)

	p.Stall()
	began := time.Now()
	for range 20_000 { // More than the outbox holds.
		cut.Publish(t.Context(), core.Hint{ApprovalID: "x"})
	}
	require.Less(t, time.Since(began), time.Second, "a dead network delays nobody")
	require.Eventually(t, func() bool { return !cut.Connected() }, soon, time.Millisecond)
	other.connects(t)
	require.Positive(t, cut.figure(t, "sayso_bus_hints_dropped_total"))
	drain(atCut)
	drain(atOther)
	for range 2 {
		await(t, atCut, everything)
		await(t, atOther, everything)
	}

	p.Resume()
	cut.connects(t)
	flows(t, cut, other)
}

func TestNoRedisAtTheStart(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	s.Kill(t)
	a, b := start(t, s.URL()), start(t, s.URL())
	heard := a.listen(t)
	a.Publish(t.Context(), core.Hint{ApprovalID: "alone"})
	await(t, heard, core.Hint{ApprovalID: "alone"})
	await(t, heard, everything)
	await(t, heard, everything)
	require.Equal(t, 2, a.Replicas(), "assumed")
	s.Again(t)
	flows(t, a.connects(t), b.connects(t))
}

func TestReplicasAreCounted(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	all := []replica{start(t, s.URL()), start(t, s.URL()), start(t, s.URL())}
	counts := func(n int, of ...replica) {
		t.Helper()
		for _, r := range of {
			require.Eventually(t, func() bool { return r.Replicas() == n }, soon, time.Millisecond)
		}
	}
	counts(3, all...)
	all[2].stop()
	counts(2, all[:2]...)
	require.InDelta(t, 2, all[0].figure(t, "sayso_bus_replicas"), 0)
}

func TestStopTellsWhatItWasGiven(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	a, b := start(t, s.URL()).connects(t), start(t, s.URL()).connects(t)
	heard := b.listen(t)
	for i := range int64(700) {
		a.Publish(t.Context(), core.Hint{ApprovalID: "x", Revision: i + 1})
	}
	a.stop()
	await(t, heard, core.Hint{ApprovalID: "x", Revision: 700})
	a.Publish(t.Context(), core.Hint{ApprovalID: "too late"})
	require.Positive(t, a.figure(t, "sayso_bus_hints_dropped_total"))
	require.False(t, a.Connected())
}

func TestDeploymentsShareARedis(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	mine := startAs(t, redis.Config{URL: s.URL(), Deployment: "d1"}).connects(t)
	same := startAs(t, redis.Config{URL: s.URL(), Deployment: "d1", Prefix: "sayso"}).connects(t)
	theirs := startAs(t, redis.Config{URL: s.URL(), Deployment: "d2"}).connects(t)
	others := startAs(t, redis.Config{URL: s.URL(), Deployment: "d1", Prefix: "other"}).connects(t)
	foreign := []<-chan core.Hint{theirs.listen(t), others.listen(t)}
	flows(t, mine, same)
	for i, r := range []replica{theirs, others} {
		own := core.Hint{ApprovalID: "own"}
		r.Publish(t.Context(), own)
		require.Equal(t, own, nextTold(t, foreign[i]), "nothing else was heard before")
	}
}

func nextTold(t *testing.T, heard <-chan core.Hint) core.Hint {
	t.Helper()
	for {
		select {
		case h := <-heard:
			if h != everything {
				return h
			}
		case <-time.After(soon):
			require.FailNow(t, "no hint came")
		}
	}
}

// Anybody who can reach Redis can write to the channel.
func TestHostileMessages(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	b := start(t, s.URL()).connects(t)
	heard := b.listen(t)
	c := client(t, s)
	say := func(text string) {
		require.NoError(t, c.Publish(t.Context(), "sayso:{d1}:hints", text).Err())
	}
	hostile := []string{
		"", "\x00", "hello", "\n\n\n", strings.Repeat("x", 1<<20), "sayso2 AAAA 1 beat", "sayso1", "sayso1 AAAA 1",
		"sayso1 AAAA -1 beat", "sayso1 AAAA 1 boo", "sayso1 aaaa 1 beat", "sayso1 AAAA 1 beat\n", "sayso1 AAAA 1 beat\n1 2 x",
		"sayso1 AAAA 1 beat\n-1 0 x", "sayso1 AAAA 1 beat\n1 0 \xff", "sayso1 AAAA 1 beat\n1 0 " + strings.Repeat("x", 500),
		"sayso1 AAAA 1 beat" + strings.Repeat("\n1 0 x", 257), "sayso1 " + strings.Repeat("A", 33) + " 1 beat",
		"sayso1 AAAA 99999999999999999999999 beat",
	}
	for _, text := range hostile {
		say(text)
	}
	for i := range 600 { // Senders that are no replicas.
		say(fmt.Sprintf("sayso1 %s 1 beat", strings.Map(func(r rune) rune { return r - '0' + 'A' }, fmt.Sprint(1000+i))))
	}
	ours := core.Hint{ApprovalID: "still here", Revision: 1}
	b.Publish(t.Context(), ours)
	require.Equal(t, ours, nextTold(t, heard))
	require.Eventually(t, func() bool {
		return b.figure(t, "sayso_bus_messages_refused_total") >= float64(len(hostile))
	}, soon, time.Millisecond)
	b.connects(t)
}

func TestPassword(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, "--requirepass", "s3cret")
	with := func(userinfo string) string { return strings.Replace(s.URL(), "unix://", "unix://"+userinfo+"@", 1) }
	flows(t, start(t, with(":s3cret")).connects(t), start(t, with("default:s3cret")).connects(t))
	wrong := start(t, with(":wrong"))
	heard := wrong.listen(t)
	await(t, heard, everything)
	await(t, heard, everything)
	require.False(t, wrong.Connected())
}

// A user who may do what the package's story says, and nothing else.
func TestLeastRights(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	require.NoError(t, client(t, s).ACLSetUser(t.Context(), "least", "on", ">s3cret", "-@all", "resetchannels", "&sayso:{d1}:hints",
		"~sayso:{d1}:*", "+publish", "+subscribe", "+get", "+set", "+mget", "+time", "+evalsha", "+eval").Err())
	least := redis.Config{
		URL: strings.Replace(s.URL(), "unix://", "unix://least:s3cret@", 1), Deployment: "d1", BudgetTimeout: soon,
	}
	a, b := startAs(t, least).connects(t), startAs(t, least).connects(t)
	flows(t, a, b)
	require.True(t, take(t, a.Budgets(), call("x", 1)).Taken)
	b.Budgets().Hold(t.Context(), "gate of y", time.Minute)
	require.Positive(t, take(t, a.Budgets(), call("y", 1)).Wait)
}

func TestRunEndsWithItsContext(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	p := redistest.Before(t, s)
	p.Stall() // Not even a dead network keeps it.
	ctx, cancel := context.WithCancel(t.Context())
	b := newBus(t, redis.Config{URL: p.URL(), Deployment: "d1"})
	ended := make(chan error, 1)
	go func() { ended <- b.Run(ctx) }()
	cancel()
	select {
	case err := <-ended:
		require.ErrorIs(t, err, context.Canceled)
	case <-time.After(soon):
		require.FailNow(t, "Run did not return")
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	good := redis.Config{URL: "redis://user:s3cret@redis.example:6379/3", Deployment: "d1"}
	tests := map[string]struct {
		change func(*redis.Config)
		field  string
	}{
		"no url":          {func(c *redis.Config) { c.URL = "" }, "redis.url"},
		"another scheme":  {func(c *redis.Config) { c.URL = "http://user:s3cret@redis.example" }, "redis.url"},
		"no url at all":   {func(c *redis.Config) { c.URL = "redis://user:s3cret@redis.example:port" }, "redis.url"},
		"no database":     {func(c *redis.Config) { c.URL = "redis://user:s3cret@redis.example/s3cret" }, "redis.url"},
		"a parameter":     {func(c *redis.Config) { c.URL = "rediss://redis.example?skip_verify=true" }, "redis.url"},
		"prefix":          {func(c *redis.Config) { c.Prefix = "s3cret {" }, "redis.prefix"},
		"no deployment":   {func(c *redis.Config) { c.Deployment = "" }, "deployment"},
		"deployment":      {func(c *redis.Config) { c.Deployment = "s3cret}" }, "deployment"},
		"negative number": {func(c *redis.Config) { c.Replicas = -1 }, "redis.replicas"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := good
			test.change(&cfg)
			_, err := redis.New(cfg, redis.Deps{})
			require.ErrorIs(t, err, core.ErrInvalid)
			var field *core.FieldError
			require.ErrorAs(t, err, &field)
			require.Equal(t, test.field, field.Field)
			require.NotContains(t, err.Error(), "s3cret")
		})
	}
	newBus(t, good) // It starts nothing: the check for left goroutines would see it.
}
