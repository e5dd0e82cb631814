package settings

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/saysohq/sayso/core"
)

// RuleState says whether a rule still covers anything, and if not, why.
type RuleState string

// The states of a rule.
const (
	RuleLive    RuleState = "live"
	RuleRemoved RuleState = "removed" // By a person, or by a restoration where RemovedName is empty.
	RuleExpired RuleState = "expired"
	RuleUsedUp  RuleState = "used-up"
)

// RuleView is a rule as people read it. Who made and who removed it stands there by
// name; the ids are for admins (R156).
type RuleView struct {
	core.Rule // Its Label says what it covers, in words.
	State     RuleState
	Live      bool // State is RuleLive.
}

func viewRule(r core.Rule, now core.Millis, c core.Caller) RuleView {
	v := RuleView{Rule: r, State: stateOf(&r, now)}
	v.Live = v.State == RuleLive
	if v.Label == "" {
		v.Label = r.Scope + " " + r.Value + " of " + r.Tool
	}
	if !c.Admin() {
		v.CreatedBy, v.RemovedBy = "", ""
	}
	return v
}

func stateOf(r *core.Rule, now core.Millis) RuleState {
	switch {
	case r.RemovedAt != 0:
		return RuleRemoved
	case r.Live(now):
		return RuleLive
	case r.ExpiresAt != 0 && r.ExpiresAt.Reached(now):
		return RuleExpired
	}
	return RuleUsedUp
}

// Rules lists what runs unasked, newest first: always-allow rules and switches for
// money, of one agent or of all that the caller may see. Rules that ended are in it
// until they are pruned, unless the query is for live ones. Errors: core.ErrNotFound
// (an agent of others), core.ErrForbidden, core.ErrUnauthenticated, core.ErrInvalid.
func (s *Service) Rules(ctx context.Context, c core.Caller, q core.RuleQuery) ([]RuleView, error) {
	if c.Person == nil { // Rules name whom an agent may reach: nothing for machines.
		if c.Token == nil && !c.Operator {
			return nil, core.ErrUnauthenticated
		}
		return nil, core.ErrForbidden
	}
	if q.Agent != nil {
		agent := s.recorded(*q.Agent)
		q.Agent = &agent
		if err := s.authorise(ctx, c, q.Runtime, *q.Agent, see); err != nil {
			return nil, err
		}
	}
	q.Viewer = c.Person
	rules, err := s.deps.Rules.ListRules(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("list rules: %w", err)
	}
	now, err := s.deps.Clock.Now(ctx)
	if err != nil {
		return nil, fmt.Errorf("read clock: %w", err)
	}
	views := make([]RuleView, 0, len(rules))
	for i := range rules {
		views = append(views, viewRule(rules[i], now, c))
	}
	return views, nil
}

// Rule reads one rule, removed or not. Errors: those of Rules.
func (s *Service) Rule(ctx context.Context, c core.Caller, id string) (RuleView, error) {
	r, err := s.find(ctx, c, id, see)
	if err != nil {
		return RuleView{}, err
	}
	return s.ruleView(ctx, c, r)
}

func (s *Service) ruleView(ctx context.Context, c core.Caller, r core.Rule) (RuleView, error) {
	now, err := s.deps.Clock.Now(ctx)
	if err != nil {
		return RuleView{}, fmt.Errorf("read clock: %w", err)
	}
	return viewRule(r, now, c), nil
}

// find reads a rule for this act of the caller. A rule of others is one that does not
// exist.
func (s *Service) find(ctx context.Context, c core.Caller, id string, a act) (core.Rule, error) {
	if c.Person == nil {
		if c.Token == nil && !c.Operator {
			return core.Rule{}, core.ErrUnauthenticated
		}
		return core.Rule{}, core.ErrForbidden
	}
	r, err := s.deps.Rules.ReadRule(ctx, id)
	if err != nil {
		return core.Rule{}, fmt.Errorf("read rule: %w", err)
	}
	if err := s.authorise(ctx, c, r.Runtime, r.Agent, a); err != nil {
		return core.Rule{}, err
	}
	return r, nil
}

// RemoveRule ends a rule or a switch for good (R75): no call that is inserted or claimed
// afterwards is allowed by it, on any replica. Removing one that was removed changes
// nothing and tells who was first. Errors: core.ErrNotFound (also for a rule of others),
// core.ErrForbidden (a viewer, a machine), core.ErrUnauthenticated.
func (s *Service) RemoveRule(ctx context.Context, c core.Caller, id string) (RuleView, error) {
	before, err := s.find(ctx, c, id, tighten)
	if err != nil {
		return RuleView{}, err
	}
	r, err := s.deps.Rules.RemoveRule(ctx, core.RemoveRule{ID: id, By: c.Person.ID, Name: c.Person.Name, Guard: guardOf(c)})
	if err != nil {
		return RuleView{}, fmt.Errorf("remove rule: %w", err)
	}
	if before.RemovedAt == 0 {
		s.changedRule(ctx, c, "rule removed", &r)
	}
	return s.ruleView(ctx, c, r)
}

// changedRule tells that the rules of an agent changed.
func (s *Service) changedRule(ctx context.Context, c core.Caller, action string, r *core.Rule) {
	s.changed(ctx, c, action, &core.Agent{Runtime: r.Runtime, Name: r.Agent, Generation: r.PolicyGeneration},
		slog.String("rule", r.ID), slog.String("class", string(r.Class)))
}

// MaxTool bounds the name of a tool in a switch for money, in bytes: its label must fit
// core.MaxShortText.
const MaxTool = 200

// MoneySwitch is what a person lets spend or delete unasked: one tool of one agent, as
// a whole (R73).
type MoneySwitch struct {
	Runtime string
	Agent   string      // "" for calls that name none.
	Tool    string      // As the runtime spells it; 1 to MaxTool bytes.
	Life    core.Millis // ms until it ends by itself; 0: never.
	Uses    int64       // How many calls it covers; 0: any number.
}

// SwitchMoney lets a tool of an agent spend or delete unasked from its next call on,
// until RemoveRule. It is the only way to let money pass; no card and no mode does. What
// no switch lets through is refused (policy.Policy.Switchable): commands, whose rules
// are for exact ones, and tools that always ask.
//
// Errors: core.ErrConflict with the switch that the tool has already; core.ErrNotFound
// (also for an agent of others), core.ErrForbidden (a viewer, a machine, a terminal),
// core.ErrUnauthenticated, core.ErrInvalid.
func (s *Service) SwitchMoney(ctx context.Context, c core.Caller, in MoneySwitch) (RuleView, error) {
	in.Agent = s.recorded(in.Agent)
	if err := s.authorise(ctx, c, in.Runtime, in.Agent, loosen); err != nil {
		return RuleView{}, err
	}
	if err := s.checkSwitch(&in); err != nil {
		return RuleView{}, err
	}
	r, err := s.deps.Rules.SwitchMoney(ctx, core.NewRule{Life: in.Life, Rule: core.Rule{
		ID: s.deps.NewID(), Runtime: in.Runtime, Agent: in.Agent, Tool: in.Tool, Scope: core.RuleForTool,
		Class: core.ClassMoney, Label: "every use of " + in.Tool + ", money and deletes included", UsesAllowed: in.Uses,
		CreatedBy: c.Person.ID, CreatedName: c.Person.Name,
	}}, guardOf(c))
	if errors.Is(err, core.ErrConflict) {
		on, unread := s.ruleView(ctx, c, r)
		return on, errors.Join(fmt.Errorf("switch money: %w", err), unread)
	}
	if err != nil {
		return RuleView{}, fmt.Errorf("switch money: %w", err)
	}
	s.changedRule(ctx, c, "money switched on", &r)
	return s.ruleView(ctx, c, r)
}

// checkSwitch refuses a switch that could not be read as what it is: its label is made
// of the tool's name.
func (s *Service) checkSwitch(in *MoneySwitch) error {
	switch {
	case in.Tool == "", len(in.Tool) > MaxTool:
		return core.Invalid("tool", "must be 1 to %d bytes", MaxTool)
	case strings.TrimSpace(in.Tool) != in.Tool, s.deps.Text.Text(in.Tool, MaxTool) != in.Tool:
		return core.Invalid("tool", "must be plain text, without hidden characters and secrets")
	case !s.deps.Switchable(in.Runtime, in.Tool):
		return core.Invalid("tool", "is one that asks whatever is switched on")
	case in.Life < 0:
		return core.Invalid("life", "must not be negative")
	case in.Uses < 0:
		return core.Invalid("uses", "must not be negative")
	}
	return nil
}

// History lists what people changed of an agent, newest first, at most limit (0 means
// core.MaxPage): who let what run unasked, and since when (R76). The ids of people are
// for admins. Errors: core.ErrNotFound (also for an agent of others), core.ErrForbidden
// (a machine), core.ErrUnauthenticated, core.ErrInvalid.
func (s *Service) History(ctx context.Context, c core.Caller, runtime, agent string, limit int) ([]core.PolicyChange, error) {
	if c.Token != nil {
		return nil, core.ErrForbidden
	}
	agent = s.recorded(agent)
	if err := s.authorise(ctx, c, runtime, agent, see); err != nil {
		return nil, err
	}
	changes, err := s.deps.Agents.PolicyChanges(ctx, runtime, agent, limit)
	if err != nil {
		return nil, fmt.Errorf("list policy changes: %w", err)
	}
	if !c.Admin() {
		for i := range changes {
			changes[i].By = ""
		}
	}
	return changes, nil
}
