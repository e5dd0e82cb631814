package settings

import (
	"context"
	"fmt"
	"log/slog"
	"slices"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/policy"
)

// Approvals reads the record.
type Approvals interface {
	// Approval reads one row, after applying its deadline. Errors: core.ErrNotFound.
	Approval(ctx context.Context, l core.Lookup) (core.Approval, error)
}

// Owners reads who owns an agent.
type Owners interface {
	// Owners lists the principals that own an agent of a runtime.
	Owners(ctx context.Context, runtime, agent string) ([]string, error)
}

// Sanitizer makes free text safe to show; core.Describer has it.
type Sanitizer interface {
	// Text redacts, makes hidden characters visible, and cuts visibly at max code points.
	Text(s string, max int) string
}

// Deps is what the service works on. All of it is required, unless it says otherwise.
type Deps struct {
	Agents    core.AgentSettings
	Lives     core.AgentLives
	Rules     core.Rules
	Declines  core.Declines
	Approvals Approvals
	Owners    Owners
	Clock     core.Clock
	Publisher core.Publisher
	Text      Sanitizer
	NewID     func() string // UUIDv7.
	Logger    *slog.Logger
	// DefaultMode is the mode of agents that have none of their own, from the tables in
	// force (R53). Nil means policy.ModeOutside.
	DefaultMode func() policy.Mode
	// Switchable reports whether the tables in force would let a switch for money of a
	// tool cover any call. Nil means that they would.
	Switchable func(runtime, tool string) bool
	// TerminalLoosens lets a terminal's session do what lets more run unasked; off, it may
	// only make things stricter.
	TerminalLoosens bool
}

// Service is the settings of agents. It keeps no state and is safe for concurrent use
// on any number of replicas.
type Service struct {
	deps Deps
}

// New wires the service; it starts nothing. It panics when a dependency is missing,
// which is a mistake of the wiring and not of the operator.
func New(d Deps) *Service {
	if d.Agents == nil || d.Lives == nil || d.Rules == nil || d.Declines == nil || d.Approvals == nil || d.Owners == nil ||
		d.Clock == nil || d.Publisher == nil || d.Text == nil || d.NewID == nil || d.Logger == nil {
		panic("settings: a dependency is missing")
	}
	if d.DefaultMode == nil {
		d.DefaultMode = func() policy.Mode { return policy.ModeOutside }
	}
	if d.Switchable == nil {
		d.Switchable = func(string, string) bool { return true }
	}
	return &Service{deps: d}
}

// act is what a call does to safety.
type act int

const (
	see     act = iota
	tighten     // Fewer calls run unasked, or the same.
	loosen      // More calls may run.
)

// recorded is the name of an agent as its approvals have it: settings of any other name
// would hold for nobody.
func (s *Service) recorded(agent string) string {
	return core.RecordedAgent(s.deps.Text.Text, agent)
}

// authorise finds the caller entitled to this act on the agent. Errors: core.ErrNotFound
// (also for an agent of others), core.ErrForbidden, core.ErrUnauthenticated,
// core.ErrInvalid (names that no agent can have).
func (s *Service) authorise(ctx context.Context, c core.Caller, runtime, agent string, a act) error {
	if err := named(runtime, agent); err != nil {
		return err
	}
	switch {
	case c.Token != nil:
		return s.machine(ctx, c.Token, runtime, a)
	case c.Person == nil && c.Operator: // Operators manage people, and see nothing of what agents do.
		return core.ErrForbidden
	case c.Person == nil:
		return core.ErrUnauthenticated
	}
	may, err := s.sees(ctx, c.Person, runtime, agent)
	switch {
	case err != nil:
		return err
	case !may:
		return core.ErrNotFound
	}
	return s.permit(c, a)
}

// sees reports whether the agent is the person's to look at: an admin's, or an owner's.
func (s *Service) sees(ctx context.Context, p *core.Principal, runtime, agent string) (bool, error) {
	if p.Disabled || !p.Role.Valid() {
		return false, nil
	}
	if p.Role == core.RoleAdmin {
		return true, nil
	}
	owners, err := s.deps.Owners.Owners(ctx, runtime, agent)
	if err != nil {
		return false, fmt.Errorf("read owners: %w", err)
	}
	return slices.Contains(owners, p.ID), nil
}

// permit refuses what a person who sees the agent may still not do.
func (s *Service) permit(c core.Caller, a act) error {
	switch {
	case a == see:
		return nil
	case c.Person.Role == core.RoleViewer:
		return core.ErrForbidden
	case a == loosen && c.Surface == core.SurfaceCLI && !s.deps.TerminalLoosens:
		return core.ErrOnlyTightens
	}
	return nil
}

// machine lets a runtime read the settings of its own agents, and nothing else.
func (s *Service) machine(ctx context.Context, t *core.Token, runtime string, a act) error {
	now, err := s.deps.Clock.Now(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("read clock: %w", err)
	case a != see, !t.Holds(core.ScopeRequest, now) && !t.Holds(core.ScopeRead, now):
		return core.ErrForbidden
	case t.Runtime != runtime:
		return core.ErrNotFound
	}
	return nil
}

// named refuses names that no agent can have.
func named(runtime, agent string) error {
	switch {
	case !core.ValidRuntimeName(runtime):
		return core.Invalid("runtime", "must be the name of a runtime")
	case !core.ValidAgentName(agent):
		return core.Invalid("agent", "must be at most %d characters of UTF-8", core.MaxShortText)
	}
	return nil
}

// guardOf is the authority that must still hold inside the write.
func guardOf(c core.Caller) core.Guard {
	return core.Guard{PersonID: c.Person.ID, PersonRevision: c.Person.Revision}
}

// changed tells those who look at the agent to look again, and writes the one line that
// says who changed what: ids only. It happens after the commit and never fails a change.
func (s *Service) changed(ctx context.Context, c core.Caller, action string, a *core.Agent, attrs ...slog.Attr) {
	s.deps.Publisher.Publish(context.WithoutCancel(ctx), core.Hint{
		ApprovalID: core.AgentHint(a.Runtime, a.Name), Revision: a.Generation,
	})
	attrs = append([]slog.Attr{slog.String("runtime", a.Runtime)}, attrs...)
	s.deps.Logger.LogAttrs(ctx, slog.LevelInfo, action, append(attrs, slog.String("by", c.Person.ID))...)
}
