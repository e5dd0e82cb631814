package sqlite

import (
	"fmt"
	"log/slog"

	"github.com/saysohq/sayso/core"
)

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

// draft is a request of an ordinary size with three cards.
func draft(n int) core.NewApproval {
	id := fmt.Sprintf("01890000-0000-7000-8000-%012x", n)
	action := core.HashOf(fmt.Appendf(nil, "action %d", n))
	a := core.Approval{
		ID: id, Ref: core.ResolutionRef(core.KindPlugin, id), Kind: core.KindPlugin, Origin: core.OriginAsk, Runtime: "builder",
		RequestHash:   core.HashOf(fmt.Appendf(nil, "request %d", n)),
		Operation:     core.Operation{ID: fmt.Sprintf("call-%d", n), Type: "tool.call", Tool: "mail", Name: "send"},
		ArgumentsHash: action, ActionHash: action, Fingerprint: core.Fingerprint(action),
		Class: core.ClassSend, ClassSource: "table", Presentation: core.Presentation{
			Kind: core.KindPlugin, Title: "Builder wants to send a message", Description: "To the whole team.",
			Lines: []core.Line{{Label: "To", Value: "team@example.com"}, {Label: "Subject", Value: "Release notes"}},
		},
		Offered: []core.Decision{core.DecisionAllowOnce, core.DecisionDeny}, Continuation: core.ContinuationLive,
		Agent: "agent-1", SessionKey: "session-1", Status: core.StatusPending,
	}
	c := core.NewApproval{Approval: a, Detail: core.Detail{Text: "the whole action"}, ExpiresIn: core.LiveExpiry}
	for i := range 3 {
		c.Deliveries = append(c.Deliveries, core.PlannedDelivery{
			ID: fmt.Sprintf("%s-%d", id, i), Channel: core.SurfaceTelegram, Account: "bot-1",
			Destination: fmt.Sprintf("chat:%d", i), Address: fmt.Sprint(i),
		})
	}
	return c
}
