package deliveries

import (
	"context"
	"fmt"

	"github.com/saysohq/sayso/core"
)

// Devices lists where people are signed in.
type Devices interface {
	// SessionsOf lists a person's sessions, newest first.
	SessionsOf(ctx context.Context, principalID string) ([]core.Session, error)
}

// Bootstrap knows whether the first admin is still to come.
type Bootstrap interface {
	// BootstrapOpen reports whether a bootstrap code is good now.
	BootstrapOpen(ctx context.Context) (bool, error)
}

// reachable reports whether the page is a route: somebody who may decide can open
// it, or the person whom the bootstrap code will make an admin.
func (p *Planner) reachable(ctx context.Context, q *asked) (bool, error) {
	open, err := p.deps.Codes.BootstrapOpen(ctx)
	if err != nil {
		return false, fmt.Errorf("read bootstrap code: %w", err)
	}
	if open {
		return true, nil
	}
	return p.pageReachable(ctx, q.people, q.links)
}

// pageReachable reports whether one of those who may decide can open the page: a
// linked identity where the page has a public address, or a session that lasts.
func (p *Planner) pageReachable(ctx context.Context, people []core.Principal, links []core.Identity) (bool, error) {
	if p.cfg.PublicURL != "" && len(links) > 0 {
		return true, nil
	}
	if len(people) == 0 {
		return false, nil
	}
	now, err := p.deps.Clock.Now(ctx)
	if err != nil {
		return false, fmt.Errorf("read clock: %w", err)
	}
	for i := range people {
		sessions, err := p.deps.Sessions.SessionsOf(ctx, people[i].ID)
		if err != nil {
			return false, fmt.Errorf("list sessions: %w", err)
		}
		for j := range sessions {
			if sessions[j].Live(now) {
				return true, nil
			}
		}
	}
	return false, nil
}

// hintFirst is told while the question waits for the first admin.
const hintFirst = "nobody has signed in yet: open the first sign-in link, or get another with: sayso pair"

// hint says what to do when nobody can be asked. It names no person: it goes to
// the program that asks.
func (p *Planner) hint(q *asked, noOrigin string) string {
	push := q.a.RequirePush
	switch {
	case len(q.people) == 0 && q.a.Reviewers != nil:
		return "None of the given reviewers may decide this, and there is no admin: name reviewers who are known and enabled, or add one with `sayso people add`."
	case len(q.people) == 0:
		return "Nobody may decide yet: sign in once with the link that `sayso serve` prints, or add a person with `sayso people add`."
	case push && len(p.cfg.Accounts) == 0:
		return "The request asks for a message in a chat, but no messenger is configured: configure one, or ask without require_push."
	case noOrigin != "" && !q.rule.To.Approvers && !q.rule.Fallback:
		return "The routing rule shows this in the chat that asked, and the session names none that is allowed: list it under origins of its account, or let the rule fall back to the approvers."
	case push && q.rule.pageOnly():
		return "The request asks for a message in a chat, but its routing rule shows it on the page alone: change the rule, or ask without require_push."
	case push:
		return "The request asks for a message in a chat, but nobody who may decide has one: link a chat with `sayso link`, or ask without require_push."
	case len(q.links) > 0:
		return "Those who may decide can be reached neither in a chat of a configured messenger nor on the page: link a chat with `sayso link`, set public_url, or sign in with `sayso pair`."
	}
	return "Nobody who may decide is signed in or has a linked chat: sign in with `sayso pair`, or link a chat with `sayso link`."
}
