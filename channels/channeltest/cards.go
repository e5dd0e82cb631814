package channeltest

import (
	"strings"
	"time"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/presentation"
)

// contentMark stands in the text of every card, so that logs and errors can be
// searched for content.
const contentMark = "XMARKX"

var asked = core.MillisOf(time.Date(2026, 11, 30, 14, 0, 0, 0, time.UTC))

// Exec is a pending command; Detail of it is DetailOf(command).
func execOf(title string) core.Approval {
	id := "0193a6f0-0000-7000-8000-000000000001"
	hash := core.HashOf([]byte("action"))
	return core.Approval{
		ID: id, Ref: core.ResolutionRef(core.KindExec, id), Kind: core.KindExec, Origin: core.OriginAsk,
		Runtime: "laptop", ArgumentsHash: core.HashOf([]byte("arguments")), ActionHash: hash,
		Fingerprint: core.Fingerprint(hash), Class: core.ClassSend,
		Presentation: core.Presentation{Kind: core.KindExec, Title: title, Folder: "/srv/api", Executable: "/usr/bin/ssh"},
		Offered:      []core.Decision{core.DecisionAllowOnce, core.DecisionAllowAlways, core.DecisionDeny},
		AlwaysOffer:  &core.AlwaysOffer{Label: "ssh to prod", Scope: "host", Value: "prod"},
		Continuation: core.ContinuationLive, Agent: "Claude", CreatedAt: asked, UpdatedAt: asked,
		ExpiresAt: asked.Add(30 * time.Minute), Status: core.StatusPending, Revision: 1, CardRevision: 1,
		Grant: core.Grant{Execution: core.ExecutionNone},
	}
}

func pluginOf(title string) core.Approval {
	a := execOf(title)
	a.Kind = core.KindPlugin
	a.Ref = core.ResolutionRef(a.Kind, a.ID)
	a.Presentation = core.Presentation{Kind: core.KindPlugin, Title: title, Description: "Sends one message."}
	return a
}

const publicURL = "https://ok.example.com/base"

func cardOf(a core.Approval, detail string) presentation.Card {
	return presentation.For(a, core.Detail{Text: detail}, presentation.Place{Now: asked, PublicURL: publicURL})
}

// pending is the ordinary card.
func pending() presentation.Card {
	return cardOf(execOf("Claude wants to run a command"), "ssh prod 'systemctl restart api' # "+contentMark)
}

// resolved is the same card after Alice allowed it.
func resolved() presentation.Card {
	return cardOf(allowed(), "ssh prod 'systemctl restart api' # "+contentMark)
}

// allowed is its record.
func allowed() core.Approval {
	a := execOf("Claude wants to run a command")
	a.Status = core.StatusAllowed
	a.Resolution = core.Resolution{
		Decision: core.DecisionAllowOnce, Reason: core.ReasonUser, ResolvedAt: asked.Add(3 * time.Minute), AttemptID: "attempt",
		ResolverKind: core.ResolverHuman, ResolverID: "p1", ResolverName: "Alice", Surface: core.SurfaceSlack, DeliveryID: "d2",
	}
	a.Grant = core.Grant{Execution: core.ExecutionUnclaimed, ClaimBy: a.ResolvedAt.Add(10 * time.Minute)}
	a.Revision, a.CardRevision = 2, 2
	return a
}

// declined is the same question after Alice declined it, where a decline answers the
// same action for ten minutes.
func declined() presentation.Card {
	a := allowed()
	a.Status, a.Decision, a.Grant = core.StatusDenied, core.DecisionDeny, core.Grant{Execution: core.ExecutionNone}
	return presentation.For(a, core.Detail{Text: "ssh prod"}, presentation.Place{Now: asked, Sticky: 600_000})
}

// long is a card that no platform can show whole.
func long(kind core.Kind) presentation.Card {
	a := execOf("Claude wants to run a long command")
	if kind == core.KindPlugin {
		a = pluginOf("Claude wants to use a long argument")
	}
	return cardOf(a, longText())
}

func longText() string {
	var b strings.Builder
	for b.Len() < 60_000 {
		b.WriteString("echo 'one of many lines, " + contentMark + "' && \\\n")
	}
	return b.String() + "echo last"
}
