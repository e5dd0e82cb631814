package redis

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
)

// at is a moment of the tests, t seconds after their beginning.
func at(t float64) time.Time {
	return time.Unix(1_700_000_000, 0).Add(time.Duration(t * float64(time.Second)))
}

func TestLink(t *testing.T) {
	t.Parallel()
	var l link
	require.False(t, l.silent(at(0)), "nothing can fall silent that was never there")
	require.True(t, l.due(at(0)), "without a subscription everybody looks")
	require.False(t, l.due(at(0.5)))
	require.True(t, l.due(at(1)), "at polling speed")

	ended := 0
	l.began(at(1.1), func() { ended++ })
	require.True(t, l.due(at(1.1)), "what came before the subscription was not heard")
	require.False(t, l.up(), "nobody knows yet whether anything is heard")
	require.False(t, l.silent(at(4)))
	require.True(t, l.silent(at(4.2)), "the first beat never came")
	l.beat(at(1.2))
	require.True(t, l.up())
	require.False(t, l.due(at(10)), "hints are enough")
	require.False(t, l.silent(at(1.9)))
	require.True(t, l.silent(at(2.1)))

	l.suspicious = true
	require.True(t, l.due(at(10)))
	l.suspicious = true
	require.False(t, l.due(at(10.5)), "not more often than at polling speed")
	require.True(t, l.due(at(11)), "but not forgotten")

	l.cut()()
	require.Equal(t, 1, ended)
	require.Nil(t, l.cut())
	l.beat(at(12))
	require.False(t, l.up(), "a beat of the subscription before")
}

func TestPeers(t *testing.T) {
	t.Parallel()
	say := func(sender string, seq uint64) *message { return &message{sender: sender, seq: seq, word: wordBeat} }
	hear := func(p *peers, m *message, now time.Time) (lost bool) {
		lost, known := p.note(m, now)
		require.True(t, known)
		return lost
	}
	p := newPeers()
	require.False(t, hear(p, say("A", 1), at(0)))
	require.False(t, hear(p, say("A", 2), at(0)))
	require.True(t, hear(p, say("A", 4), at(0)), "a gap")
	require.False(t, hear(p, say("A", 5), at(0)), "is told once")
	require.True(t, hear(p, say("A", 5), at(0)), "what makes no sense is suspicious")
	require.True(t, hear(p, say("B", 7), at(0)), "what it said before was not heard")
	present, missed := p.look(at(0.5))
	require.Equal(t, 2, present)
	require.False(t, missed)

	hear(p, say("A", 6), at(1))
	_, missed = p.look(at(1))
	require.True(t, missed, "B fell silent without a word")
	hear(p, &message{sender: "B", seq: 8, word: wordBye}, at(1))
	present, missed = p.look(at(1))
	require.Equal(t, 1, present)
	require.False(t, missed, "B said goodbye")

	p.resubscribed(at(5))
	_, missed = p.look(at(5.5))
	require.False(t, missed, "A has time to be heard again")
	require.True(t, hear(p, say("A", 20), at(5.5)))
	present, missed = p.look(at(30))
	require.Equal(t, 0, present, "budgets are not divided by it any more")
	require.True(t, missed, "it may still decide")
	present, missed = p.look(at(70))
	require.Equal(t, 0, present)
	require.False(t, missed, "for ever would be too long")
	require.Empty(t, p.bySender)

	for i := range maxPeers {
		hear(p, say(fmt.Sprint("S", i), 1), at(70))
	}
	_, known := p.note(say("T", 1), at(70))
	require.False(t, known)
	require.Len(t, p.bySender, maxPeers)
}

func TestOutbox(t *testing.T) {
	t.Parallel()
	hint := core.Hint{ApprovalID: "x", Revision: 1}
	o := newOutbox()
	require.Equal(t, 1, o.add([]core.Hint{hint}), "nobody can be reached yet")
	hints, lost := o.take()
	require.Empty(t, hints)
	require.True(t, lost, "and the others have to hear of it")
	o.open()
	require.Zero(t, o.add([]core.Hint{hint, {}}))
	require.Len(t, o.wake, 1)
	hints, lost = o.take()
	require.Equal(t, []core.Hint{hint, {}}, hints)
	require.False(t, lost)

	require.Equal(t, 2, o.add([]core.Hint{{ApprovalID: "\n"}, {ApprovalID: "x", Revision: -1}, hint}), "what no replica would take")
	_, lost = o.take()
	require.True(t, lost)

	for range outboxSize {
		require.Zero(t, o.add([]core.Hint{hint}))
	}
	require.Equal(t, 1, o.add([]core.Hint{hint}), "never more than the bound")
	taken := 0
	for hints, _ = o.take(); len(hints) > 0; hints, _ = o.take() {
		require.LessOrEqual(t, len(hints), maxHints)
		taken += len(hints)
	}
	require.Equal(t, outboxSize, taken)

	require.Zero(t, o.add([]core.Hint{hint}))
	require.Equal(t, 1, o.close())
	require.Equal(t, 1, o.add([]core.Hint{hint}))
}

func TestTLSIsVerified(t *testing.T) {
	t.Parallel()
	cfg := Config{URL: "rediss://user:secret@redis.example:6380/2", Deployment: "d1"}
	o, err := cfg.options()
	require.NoError(t, err)
	require.NotNil(t, o.TLSConfig)
	require.Equal(t, "redis.example", o.TLSConfig.ServerName)
	require.False(t, o.TLSConfig.InsecureSkipVerify)
	require.GreaterOrEqual(t, o.TLSConfig.MinVersion, uint16(0x0303))
	require.Equal(t, []any{"user", "secret", "redis.example:6380", 2}, []any{o.Username, o.Password, o.Addr, o.DB})
	require.True(t, o.ContextTimeoutEnabled)
	require.Equal(t, -1, o.MaxRetries)

	cfg.URL = "redis://redis.example"
	o, err = cfg.options()
	require.NoError(t, err)
	require.Nil(t, o.TLSConfig)
}
