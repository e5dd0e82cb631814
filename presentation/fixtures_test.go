package presentation_test

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/presentation"
)

const (
	approvalID = "0193a6f0-0000-7000-8000-000000000001"
	alice      = "person-alice"
	aliceCard  = "delivery-alice"
	otherCard  = "delivery-other"
)

// asked is 30 November 2026, 14:00 UTC.
var asked = core.MillisOf(time.Date(2026, 11, 30, 14, 0, 0, 0, time.UTC))

func execApproval() core.Approval {
	hash := core.HashOf([]byte("action"))
	return core.Approval{
		ID: approvalID, Ref: core.ResolutionRef(core.KindExec, approvalID), Kind: core.KindExec,
		Origin: core.OriginAsk, Runtime: "laptop",
		ArgumentsHash: core.HashOf([]byte("arguments")), ActionHash: hash, Fingerprint: core.Fingerprint(hash),
		Class: core.ClassSend, Risk: "Reaches a production host.",
		Presentation: core.Presentation{
			Kind: core.KindExec, Title: "Claude wants to run a command", Command: "ssh prod 'systemctl restart api'",
			Folder: "/srv/api", Executable: "/usr/bin/ssh",
		},
		Offered:      []core.Decision{core.DecisionAllowOnce, core.DecisionDeny},
		Continuation: core.ContinuationLive, Agent: "Claude", RequestedBy: "person-bob",
		CreatedAt: asked, UpdatedAt: asked, ExpiresAt: asked.Add(30 * time.Minute),
		Status: core.StatusPending, Grant: core.Grant{Execution: core.ExecutionNone},
		Revision: 1, CardRevision: 1,
	}
}

func pluginApproval() core.Approval {
	a := execApproval()
	a.Kind = core.KindPlugin
	a.Ref = core.ResolutionRef(a.Kind, a.ID)
	a.Risk = ""
	a.Operation = core.Operation{Tool: "mail", Name: "send"}
	a.Presentation = core.Presentation{
		Kind: core.KindPlugin, Title: "Claude wants to use Mail", Description: "Sends one message to a customer.",
		Arguments: json.RawMessage(`{"to":"dora@example.com","subject":"Your order"}`),
		Lines: []core.Line{
			{Label: "to", Value: "dora@example.com"},
			{Label: "subject", Value: "Your order"},
		},
	}
	a.Offered = append(a.Offered, core.DecisionAllowAlways)
	a.AlwaysOffer = &core.AlwaysOffer{Label: "mail to dora@example.com", Scope: "recipient", Value: "dora@example.com"}
	return a
}

// decided ends a gate by Alice's click on her own card, three minutes later.
func decided(a core.Approval, d core.Decision) core.Approval {
	a.Status = d.Status()
	a.Resolution = core.Resolution{
		Decision: d, Reason: core.ReasonUser, AttemptID: "attempt", ResolvedAt: asked.Add(3 * time.Minute),
		ResolverKind: core.ResolverHuman, ResolverID: alice, ResolverName: "Alice",
		Surface: core.SurfaceSlack, DeliveryID: aliceCard,
	}
	if d.Allows() {
		a.Grant = core.Grant{Execution: core.ExecutionUnclaimed, ClaimBy: a.ResolvedAt.Add(10 * time.Minute)}
	}
	a.Revision, a.CardRevision = 2, 2
	return a
}

// ended ends a gate without a person.
func ended(a core.Approval, s core.Status, r core.Reason) core.Approval {
	a.Status = s
	a.Resolution = core.Resolution{Reason: r, AttemptID: "attempt", ResolvedAt: asked.Add(3 * time.Minute), ResolverKind: core.ResolverSystem}
	if s == core.StatusDenied {
		a.Decision = core.DecisionDeny
	}
	if s == core.StatusExpired {
		a.ResolvedAt = a.ExpiresAt
	}
	a.Revision, a.CardRevision = 2, 2
	return a
}

func detailOf(text string) core.Detail { return core.Detail{Text: text} }

func at(delivery string) presentation.Place {
	return presentation.Place{Now: asked.Add(5 * time.Minute), PublicURL: "https://ok.example.com/base/", Delivery: delivery, Requester: "Bob"}
}

func local(delivery string) presentation.Place {
	p := at(delivery)
	p.PublicURL = ""
	return p
}

func repeated(s string, bytes int) string { return strings.Repeat(s, bytes/len(s)) }
