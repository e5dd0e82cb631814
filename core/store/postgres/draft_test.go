package postgres

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
)

// draft is a request that can be made; n tells it from others.
func draft(n int, addresses ...string) core.NewApproval {
	id := fmt.Sprintf("01890000-0000-7000-8000-%012x", n)
	action := core.HashOf(fmt.Appendf(nil, "action %d", n))
	c := core.NewApproval{
		Approval: core.Approval{
			ID: id, Ref: core.ResolutionRef(core.KindPlugin, id), Kind: core.KindPlugin, Origin: core.OriginAsk, Runtime: "builder",
			RequestHash:   core.HashOf(fmt.Appendf(nil, "request %d", n)),
			ArgumentsHash: core.HashOf(nil), ActionHash: action, Fingerprint: core.Fingerprint(action), Class: core.ClassSend,
			Presentation: core.Presentation{Kind: core.KindPlugin, Title: "Send a message"},
			Offered:      []core.Decision{core.DecisionAllowOnce, core.DecisionDeny},
			Continuation: core.ContinuationLive, Agent: "agent", Status: core.StatusPending,
			Grant: core.Grant{Execution: core.ExecutionNone},
		},
		ExpiresIn: core.LiveExpiry,
	}
	for i, address := range addresses {
		c.Deliveries = append(c.Deliveries, core.PlannedDelivery{
			ID: fmt.Sprintf("%s-%d", id, i), Channel: core.SurfaceTelegram, Account: "bot", Destination: "chat:" + address, Address: address,
		})
	}
	return c
}

// denial is a person's answer under an attempt of its own.
func denial(id, attempt string) core.Decide {
	return core.Decide{ID: id, AttemptID: attempt, To: core.Terminal{
		Status: core.StatusDenied, Decision: core.DecisionDeny, Reason: core.ReasonUser,
		ResolverKind: core.ResolverHuman, ResolverID: attempt, ResolverName: attempt, Surface: core.SurfacePage,
	}}
}

// opened is a store over a database of its own, on the server's real clock.
func opened(t *testing.T, changes ...func(*Config)) *Store {
	t.Helper()
	cfg := config(server.Database(t))
	for _, change := range changes {
		change(&cfg)
	}
	s, err := Open(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// Polling where a real server is involved.
const (
	waitLimit = 30 * time.Second
	pollPause = 10 * time.Millisecond
)
