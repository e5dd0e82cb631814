package slack

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/slack-go/slack"

	"github.com/saysohq/sayso/channels"
)

// What is known of people lasts this long, and no longer than it takes an admin to
// turn somebody into a guest and look for the effect.
const (
	peopleLast = 5 * time.Minute
	maxPeople  = 4_096
	lookupTime = 2 * time.Second // Of the 3 s that the platform waits.
)

// people remembers for a moment what kind of account somebody has. A process that
// dies loses nothing but the next look-up.
type people struct {
	c     *Channel
	mu    sync.Mutex
	known map[string]standing
}

// standing is the kind of an account.
type standing struct {
	refused string // As channels.Actor has it.
	name    string
}

func newPeople(c *Channel) *people { return &people{c: c, known: map[string]standing{}} }

// forget makes the next click of everybody a look-up.
func (p *people) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.known)
}

// keepFresh forgets at intervals until ctx ends.
func (p *people) keepFresh(ctx context.Context) {
	tick := time.NewTicker(peopleLast)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			p.forget()
		case <-ctx.Done():
			return
		}
	}
}

// of finds out what kind of account somebody has. An error means that the platform
// could not be asked: then nothing may be decided.
func (p *people) of(ctx context.Context, id string) (standing, error) {
	p.mu.Lock()
	s, ok := p.known[id]
	p.mu.Unlock()
	if ok {
		return s, nil
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTime)
	defer cancel()
	var u *slack.User
	a, failed := p.c.call(ctx, opLookup, func(ctx context.Context) (err error) {
		u, err = p.c.api.GetUserInfoContext(ctx, id)
		return err
	})
	switch {
	case failed != nil && slices.Contains([]string{"user_not_found", "user_not_visible", "users_not_found"}, a.code()):
		s = standing{refused: "an account that the workspace does not know"}
	case failed != nil:
		return standing{}, failed
	case u.ID != id:
		s = standing{refused: "an account that the workspace does not know"}
	default:
		s = standing{refused: p.c.refuses(u), name: nameOf(u)}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.known) >= maxPeople {
		clear(p.known)
	}
	p.known[id] = s
	return s, nil
}

// refuses words why an account of this kind may never decide, "" for a full member.
func (c *Channel) refuses(u *slack.User) string {
	switch {
	case u.Deleted:
		return "a deactivated account"
	case u.IsBot, u.IsAppUser, u.IsWorkflowBot, u.IsConnectorBot, u.ID == "USLACKBOT":
		return "a bot"
	case u.IsStranger, u.TeamID != "" && u.TeamID != c.cfg.Team && !slices.Contains(u.Enterprise.Teams, c.cfg.Team):
		return otherWorkspace
	case u.IsRestricted, u.IsUltraRestricted:
		return "a guest of the workspace"
	case u.IsInvitedUser:
		return "somebody who has not joined the workspace yet"
	}
	return ""
}

const otherWorkspace = "a member of another workspace"

func nameOf(u *slack.User) string {
	name := strings.TrimSpace(firstOf(u.Profile.DisplayName, u.RealName))
	switch {
	case u.Name == "":
		return name
	case name == "", name == u.Name:
		return "@" + u.Name
	}
	return name + " (@" + u.Name + ")"
}

// actor is who did something, as the platform authenticated them. The same user id in
// two workspaces is two people, so the workspace is part of the realm. An error means
// that the platform could not be asked.
func (c *Channel) actor(ctx context.Context, who account) (channels.Actor, error) {
	a := channels.Actor{Realm: "slack:" + who.team, ID: who.id, Label: "@" + who.name}
	if who.team != c.cfg.Team {
		a.Refused = otherWorkspace
		return a, nil
	}
	s, err := c.people.of(ctx, who.id)
	if err != nil {
		return a, err
	}
	a.Refused = s.refused
	a.Label = firstOf(s.name, a.Label)
	return a, nil
}
