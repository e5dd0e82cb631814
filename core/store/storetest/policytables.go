package storetest

import (
	"fmt"
	"strings"
	"sync"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
)

func policyTablesSpecs() []spec {
	return []spec{
		{"nothing is in force before anybody put anything", tablesNone},
		{"the newest tables are in force, numbered without gaps", tablesNewest},
		{"whoever starts with tables of the past does not lead the others back", tablesPast},
		{"whoever agreed with the newest may go back to older ones", tablesBack},
		{"of many who put the same at once, one is first", tablesRace},
		{"tables without a digest, or with a name too long, are refused", tablesInvalid},
		{"the past is bounded", tablesBounded},
	}
}

// digest makes a valid one.
func digest(s string) string { return core.HashOf([]byte(s)) }

func (k *kit) put(c core.PutTables) core.TablesInForce {
	k.t.Helper()
	is, err := k.PutTables(k.ctx, c)
	require.NoError(k.t, err)
	return is
}

// inForce reads it the two ways that there are.
func (k *kit) inForce() core.TablesInForce {
	k.t.Helper()
	is, err := k.TablesInForce(k.ctx)
	require.NoError(k.t, err)
	s, err := k.PolicyState(k.ctx, core.PolicyQuery{Runtime: ownRuntime, Agent: "agent-1"})
	require.NoError(k.t, err)
	require.Equal(k.t, is.Digest, s.TablesDigest)
	return is
}

func tablesNone(k *kit) { require.Equal(k.t, core.TablesInForce{}, k.inForce()) }

func tablesNewest(k *kit) {
	one := k.put(core.PutTables{Digest: digest("one"), By: "a"})
	require.Equal(k.t, core.TablesInForce{Digest: digest("one"), Number: 1, By: "a", At: k.now()}, one)
	require.Equal(k.t, one, k.put(core.PutTables{Digest: digest("one"), By: "b"}), "it is so already")
	two := k.put(core.PutTables{Digest: digest("two"), By: "b"})
	require.Equal(k.t, int64(2), two.Number)
	k.reopen()
	require.Equal(k.t, two, k.inForce())
}

func tablesPast(k *kit) {
	k.put(core.PutTables{Digest: digest("one"), By: "a"})
	two := k.put(core.PutTables{Digest: digest("two"), By: "b"})
	require.Equal(k.t, two, k.put(core.PutTables{Digest: digest("one"), By: "a"}))
	require.Equal(k.t, two, k.inForce())
	forced := k.put(core.PutTables{Digest: digest("one"), By: "a", Forced: true})
	require.Equal(k.t, int64(3), forced.Number)
	require.Equal(k.t, digest("one"), k.inForce().Digest)
}

func tablesBack(k *kit) {
	k.put(core.PutTables{Digest: digest("one"), By: "a"})
	k.put(core.PutTables{Digest: digest("two"), By: "a", Since: 1})
	three := k.put(core.PutTables{Digest: digest("three"), By: "a", Since: 2})
	// Whoever agreed with one alone, and passes two on its way, does not lead back.
	require.Equal(k.t, three, k.put(core.PutTables{Digest: digest("two"), By: "b", Since: 1}))
	back := k.put(core.PutTables{Digest: digest("two"), By: "a", Since: 3})
	require.Equal(k.t, int64(4), back.Number)
	require.Equal(k.t, back, k.inForce())
}

func tablesRace(k *kit) {
	const replicas = 8
	got := make([]core.TablesInForce, replicas)
	errs := make([]error, replicas)
	var wg sync.WaitGroup
	for i := range replicas {
		wg.Go(func() {
			got[i], errs[i] = k.PutTables(k.ctx, core.PutTables{Digest: digest("same"), By: fmt.Sprint(i)})
		})
	}
	wg.Wait()
	for i := range replicas {
		require.NoError(k.t, errs[i])
		require.Equal(k.t, got[0], got[i])
	}
	require.Equal(k.t, int64(1), k.inForce().Number)
}

func tablesInvalid(k *kit) {
	for _, c := range []core.PutTables{{}, {Digest: "sha256:x"}, {Digest: digest("x"), By: strings.Repeat("x", core.MaxShortText+1)}} {
		_, err := k.PutTables(k.ctx, c)
		require.ErrorIs(k.t, err, core.ErrInvalid)
	}
	require.Equal(k.t, core.TablesInForce{}, k.inForce())
}

func tablesBounded(k *kit) {
	for i := range core.MaxTablesKept + 1 {
		k.put(core.PutTables{Digest: digest(fmt.Sprint(i))})
	}
	last := k.inForce()
	require.Equal(k.t, int64(core.MaxTablesKept+1), last.Number)
	require.Equal(k.t, last, k.put(core.PutTables{Digest: digest("1")}), "it is still known")
	require.Equal(k.t, last.Number+1, k.put(core.PutTables{Digest: digest("0")}).Number, "it is forgotten")
}
