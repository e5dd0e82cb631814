package settings

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/saysohq/sayso/core"
)

// Pause refuses all claims of an agent's grants until Resume (R139), on every replica
// from the moment at which this returns. Nothing else changes: questions are recorded,
// shown and answered, and the deadline of what was allowed stands still (10 min for a live
// question, 24 h for others). revision is the PauseRevision that the person saw. Pausing
// what is paused changes nothing, whatever the revision.
//
// Errors: core.ErrConflict with the settings as they are now (somebody paused and resumed
// meanwhile); core.ErrNotFound (also for an agent of others), core.ErrForbidden (a viewer,
// a machine), core.ErrUnauthenticated, core.ErrInvalid.
func (s *Service) Pause(ctx context.Context, c core.Caller, runtime, agent string, revision int64) (AgentView, error) {
	return s.setPaused(ctx, c, core.SetPaused{Runtime: runtime, Agent: agent, Paused: true, Revision: revision}, tighten)
}

// Resume lets an agent claim its grants again. Errors: those of Pause, and
// core.ErrForbidden for a terminal's session.
func (s *Service) Resume(ctx context.Context, c core.Caller, runtime, agent string, revision int64) (AgentView, error) {
	return s.setPaused(ctx, c, core.SetPaused{Runtime: runtime, Agent: agent, Revision: revision}, loosen)
}

func (s *Service) setPaused(ctx context.Context, c core.Caller, cmd core.SetPaused, what act) (AgentView, error) {
	cmd.Agent = s.recorded(cmd.Agent)
	if err := s.authorise(ctx, c, cmd.Runtime, cmd.Agent, what); err != nil {
		return AgentView{}, err
	}
	before, err := s.deps.Agents.ReadAgent(ctx, cmd.Runtime, cmd.Agent)
	if err != nil {
		return AgentView{}, fmt.Errorf("read agent: %w", err)
	}
	cmd.By, cmd.Name, cmd.Guard = c.Person.ID, c.Person.Name, guardOf(c)
	a, err := s.deps.Lives.SetPaused(ctx, cmd)
	if err == nil && a.PauseRevision != before.PauseRevision {
		s.changed(ctx, c, "agent paused or resumed", &a, slog.Bool("paused", a.Paused()))
	}
	return s.outcome(ctx, c, a, "pause agent", err)
}

// Reset ends the life of an agent (R141, R143): the runs in which something of it is open
// are aborted, what it asked is cancelled, and what was allowed and not claimed is taken
// back. Its mode, rules, pause and owners stay. Errors: core.ErrNotFound (also for an
// agent of others), core.ErrForbidden (a viewer, a machine), core.ErrUnauthenticated,
// core.ErrInvalid.
func (s *Service) Reset(ctx context.Context, c core.Caller, runtime, agent string) (AgentView, error) {
	agent = s.recorded(agent)
	if err := s.authorise(ctx, c, runtime, agent, tighten); err != nil {
		return AgentView{}, err
	}
	a, hints, err := s.deps.Lives.ResetAgent(ctx, endOf(c, runtime, agent))
	return s.endedLife(ctx, c, "agent reset", a, hints, err)
}

// Delete resets an agent and forgets what was set for it: its rules are removed for good
// (R75), its mode is the default, it is not paused, and it is not listed until it asks
// again or something is set for it. For admins. Errors: those of Reset, and
// core.ErrForbidden for an owner and for a terminal's session.
func (s *Service) Delete(ctx context.Context, c core.Caller, runtime, agent string) (AgentView, error) {
	agent = s.recorded(agent)
	if err := s.authorise(ctx, c, runtime, agent, loosen); err != nil { // A strict mode goes too.
		return AgentView{}, err
	}
	if !c.Admin() {
		return AgentView{}, core.ErrForbidden
	}
	a, hints, err := s.deps.Lives.DeleteAgent(ctx, endOf(c, runtime, agent))
	return s.endedLife(ctx, c, "agent deleted", a, hints, err)
}

func endOf(c core.Caller, runtime, agent string) core.EndAgent {
	return core.EndAgent{
		Runtime: runtime, Agent: agent, By: c.Person.ID, Name: c.Person.Name, Surface: c.Surface, Guard: guardOf(c),
	}
}

// endedLife tells of all that a reset took back, and answers with what is left.
func (s *Service) endedLife(ctx context.Context, c core.Caller, action string, a core.Agent, hints []core.Hint, err error) (AgentView, error) {
	if err != nil {
		return AgentView{}, fmt.Errorf("%s: %w", action, err)
	}
	s.deps.Publisher.Publish(context.WithoutCancel(ctx), hints...)
	s.changed(ctx, c, action, &a, slog.Int("taken_back", len(hints)))
	return s.view(ctx, c, a)
}
