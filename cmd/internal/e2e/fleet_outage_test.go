//go:build unix

package e2e_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
)

// Without its database a replica takes no requests that it could not keep: it says so,
// stays alive, and is back by itself. The others go on meanwhile.
func TestFleetReplicaWithoutPostgres(t *testing.T) {
	t.Parallel()
	f := newFleet(t, setup{noBots: true})
	page := f.a.alice()
	waits := f.b.launch(f.outside(), "ask", secretWord)
	id := f.b.idOfSoon(secretWord)

	f.a.database.sever()
	f.a.becomesReady(false)
	require.Equal(t, http.StatusOK, f.a.probe("/healthz"))
	f.b.becomesReady(true)
	f.front.prefer(f.b)
	page.at(f.b).decide(id, "deny")
	waits.ends(10)

	f.a.database.mend()
	f.a.becomesReady(true)
	require.Equal(t, core.StatusDenied, f.a.record(id).Status)
}

// A replica whose database is gone still ends in good order, and at once.
func TestFleetStopsWithoutPostgres(t *testing.T) {
	t.Parallel()
	f := newFleet(t, setup{noBots: true})
	f.a.database.sever()
	f.a.becomesReady(false)
	f.a.stop()
}
