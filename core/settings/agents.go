package settings

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/policy"
)

// AgentView is an agent with what is in force for it.
type AgentView struct {
	core.Agent
	InForce policy.Mode // The mode that its next call is evaluated under, as far as it is the agent's.
	Default bool        // Nobody chose a mode for it: it has that of the tables (R53).
	Rules   int         // Rules that cover something now, switches for money included.
}

// Agents lists the agents that the caller may see, by runtime and name: a machine those
// of its runtime, an admin all, other people their own. An agent is known by what was set
// for it, by its owners, or by what it asked lately. Errors: core.ErrForbidden,
// core.ErrUnauthenticated.
func (s *Service) Agents(ctx context.Context, c core.Caller) ([]AgentView, error) {
	if err := s.lists(ctx, c); err != nil {
		return nil, err
	}
	q := core.AgentQuery{Viewer: c.Person}
	if c.Token != nil {
		q.Runtime, q.Viewer = c.Token.Runtime, nil
	}
	all, err := s.deps.Agents.ListAgents(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("list agents: %w", err)
	}
	views := make([]AgentView, 0, len(all))
	for i := range all {
		views = append(views, s.viewed(c, all[i].Agent, all[i].Rules))
	}
	return views, nil
}

// lists finds the caller entitled to lists at all: what is in them is cut to what they
// may see.
func (s *Service) lists(ctx context.Context, c core.Caller) error {
	switch {
	case c.Token != nil:
		return s.machine(ctx, c.Token, c.Token.Runtime, see)
	case c.Person != nil:
		return nil
	case c.Operator:
		return core.ErrForbidden
	}
	return core.ErrUnauthenticated
}

// Agent reads the settings of one agent; one that nobody ever set anything for has the
// defaults. Errors: core.ErrNotFound (also for an agent of others), core.ErrForbidden,
// core.ErrUnauthenticated, core.ErrInvalid.
func (s *Service) Agent(ctx context.Context, c core.Caller, runtime, agent string) (AgentView, error) {
	agent = s.recorded(agent)
	if err := s.authorise(ctx, c, runtime, agent, see); err != nil {
		return AgentView{}, err
	}
	a, err := s.deps.Agents.ReadAgent(ctx, runtime, agent)
	if err != nil {
		return AgentView{}, fmt.Errorf("read agent: %w", err)
	}
	return s.view(ctx, c, a)
}

func (s *Service) view(ctx context.Context, c core.Caller, a core.Agent) (AgentView, error) {
	rules, _, err := s.deps.Rules.LiveRules(ctx, a.Runtime, a.Name)
	if err != nil {
		return AgentView{}, fmt.Errorf("read rules: %w", err)
	}
	return s.viewed(c, a, len(rules)), nil
}

func (s *Service) viewed(c core.Caller, a core.Agent, rules int) AgentView {
	if !c.Admin() {
		a.PausedBy = ""
	}
	return AgentView{Agent: a, InForce: s.inForce(a.Mode), Default: a.Mode == "", Rules: rules}
}

// inForce is what a stored mode means now.
func (s *Service) inForce(mode string) policy.Mode {
	if mode == "" {
		return s.deps.DefaultMode()
	}
	return policy.Mode(mode)
}

// ModeDefault gives an agent the default mode of the tables again, as does the empty
// text.
const ModeDefault = "default"

// ModeChange is a person's choice of a mode.
type ModeChange struct {
	Runtime  string
	Agent    string // "" for calls that name none.
	Mode     string // A mode, a control level of another system (K14), or ModeDefault.
	Revision int64  // The ModeRevision that the person saw; 0 where no mode was ever chosen.
}

// SetMode changes the mode of an agent, from its next call on (R52): what the mode
// before had allowed and nobody has claimed is not handed out any more. Choosing what is
// chosen already changes nothing, whatever the revision.
//
// Errors: core.ErrConflict with the settings as they are now (somebody was faster);
// core.ErrNotFound (also for an agent of others), core.ErrForbidden (a viewer; a looser
// mode from a terminal; a machine), core.ErrUnauthenticated, core.ErrInvalid.
func (s *Service) SetMode(ctx context.Context, c core.Caller, in ModeChange) (AgentView, error) {
	in.Agent = s.recorded(in.Agent)
	if err := s.authorise(ctx, c, in.Runtime, in.Agent, tighten); err != nil {
		return AgentView{}, err
	}
	mode, err := parseMode(in.Mode)
	if err != nil {
		return AgentView{}, err
	}
	before, err := s.deps.Agents.ReadAgent(ctx, in.Runtime, in.Agent)
	if err != nil {
		return AgentView{}, fmt.Errorf("read agent: %w", err)
	}
	if in.Revision != before.ModeRevision && mode != before.Mode {
		return s.outcome(ctx, c, before, "set mode", core.ErrConflict)
	}
	in.Revision = before.ModeRevision // Whatever comes between this look and the write makes it a conflict.
	if asksLess(s.inForce(mode), s.inForce(before.Mode)) {
		if err := s.permit(c, loosen); err != nil {
			return AgentView{}, err
		}
	}
	a, err := s.deps.Agents.SetMode(ctx, core.SetMode{
		Runtime: in.Runtime, Agent: in.Agent, Mode: mode, Revision: in.Revision,
		By: c.Person.ID, Name: c.Person.Name, Guard: guardOf(c),
	})
	if err == nil && a.ModeRevision != before.ModeRevision {
		s.changed(ctx, c, "mode of an agent changed", &a, slog.String("mode", a.Mode), slog.Int64("generation", a.Generation))
	}
	return s.outcome(ctx, c, a, "set mode", err)
}

// outcome is the answer to a change of an agent: its settings, also for whoever was
// second.
func (s *Service) outcome(ctx context.Context, c core.Caller, a core.Agent, what string, err error) (AgentView, error) {
	if err != nil {
		err = fmt.Errorf("%s: %w", what, err)
		if !errors.Is(err, core.ErrConflict) {
			return AgentView{}, err
		}
	}
	v, unread := s.view(ctx, c, a)
	if unread != nil {
		return v, unread
	}
	return v, err
}

// parseMode reads a mode as it is stored: "" for the default of the tables.
func parseMode(given string) (string, error) {
	if given == "" || given == ModeDefault {
		return "", nil
	}
	m, err := policy.ParseMode(given)
	return string(m), err
}

// asksLess reports whether a asks for a class that b asks for, the other way round.
func asksLess(a, b policy.Mode) bool {
	for _, c := range []core.Class{core.ClassWrite, core.ClassSend, core.ClassMoney} {
		if b.Asks(c) && !a.Asks(c) {
			return true
		}
	}
	return false
}
