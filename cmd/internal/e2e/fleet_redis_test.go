//go:build unix

package e2e_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core/bus/redis/redistest"
)

// beforeAnyReread is sooner than a waiter looks again that nobody tells anything, and
// than the programs that wait ask anew.
const beforeAnyReread = 12 * time.Second

// connect lets a fleet tell its replicas by Redis.
func (f *fleet) connect() redistest.Server {
	f.t.Helper()
	s := redistest.Start(f.t)
	for _, r := range []*replica{f.a, f.b} {
		r.env = append(r.env, "SAYSO_REDIS__URL="+s.URL())
	}
	return s
}

// An answer at one replica wakes who waits at the other, by Redis and, when that is
// gone, by looking: nobody is stuck, nobody is unready, and all is as before when it
// comes back empty.
func TestFleetTellsByRedis(t *testing.T) {
	t.Parallel()
	f := unstarted(t, setup{noBots: true})
	redis := f.connect()
	f.a.start()
	f.b.start()
	page := f.a.alice()
	answered := func(title string) {
		t.Helper()
		waits := f.a.cli("ask", title)
		id := f.b.idOfSoon(title)
		began := time.Now()
		page.at(f.b).decide(id, "deny")
		waits.ends(10)
		require.Less(t, time.Since(began), beforeAnyReread, title)
		f.a.becomesReady(true)
		f.b.becomesReady(true)
	}
	answered(secretWord + " connected")
	redis.Kill(t)
	answered(secretWord + " killed")
	redis.Again(t)
	answered(secretWord + " empty")
}
