package callbacks_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/callbacks"
	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/approvals"
	"github.com/saysohq/sayso/core/policy"
	"github.com/saysohq/sayso/core/settings"
)

// What menus ask for is what the rest of the service has.
var (
	_ callbacks.Settings = (*settings.Service)(nil)
	_ callbacks.Rules    = (*settings.Service)(nil)
	_ callbacks.Outcomes = (*approvals.Service)(nil)
)

// desk is what people set for agents, in memory. Alice and Bob own all agents but those
// of "others"; Vera sees them.
type desk struct {
	agents   []core.Agent
	ruled    []core.Rule
	reopened map[string]core.Reopened
	w        *world

	sets    int
	onAct   func(n int) error // Before a change; n counts from 1.
	lost    func(n int) error // After it: the answer is lost.
	acts    int
	offline error // Of every read.
}

// newDesk is a world with a desk.
func newDesk(t *testing.T, agents ...core.Agent) (*world, *desk) {
	t.Helper()
	w := newWorld(t)
	d := &desk{agents: agents, w: w, reopened: map[string]core.Reopened{}}
	deps := w.with(w)
	deps.Settings, deps.Rules, deps.Outcomes = d, d, d
	w.pipeline = callbacks.New(callbacks.Config{}, deps)
	return w, d
}

func (d *desk) act() error {
	d.acts++
	if d.onAct != nil {
		return d.onAct(d.acts)
	}
	return nil
}

func (d *desk) answer() error {
	if d.lost != nil {
		return d.lost(d.acts)
	}
	return nil
}

func (d *desk) sees(c core.Caller, runtime string) bool {
	return runtime != "others" && slices.Contains([]string{"alice", "bob", "vera"}, c.Person.ID)
}

func (d *desk) view(a core.Agent) settings.AgentView {
	v := settings.AgentView{Agent: a, InForce: policy.Mode(a.Mode), Default: a.Mode == ""}
	if v.Default {
		v.InForce = policy.ModeOutside
	}
	for i := range d.ruled {
		if d.ruled[i].Runtime == a.Runtime && d.ruled[i].Agent == a.Name && d.ruled[i].Live(asked) {
			v.Rules++
		}
	}
	return v
}

func (d *desk) Agents(_ context.Context, c core.Caller) (list []settings.AgentView, err error) {
	for _, a := range d.agents {
		if d.sees(c, a.Runtime) {
			list = append(list, d.view(a))
		}
	}
	return list, d.offline
}

func (d *desk) Agent(_ context.Context, c core.Caller, runtime, agent string) (settings.AgentView, error) {
	if d.offline != nil || !d.sees(c, runtime) {
		return settings.AgentView{}, cmpOr(d.offline, core.ErrNotFound)
	}
	for _, a := range d.agents {
		if a.Runtime == runtime && a.Name == agent {
			return d.view(a), nil
		}
	}
	return d.view(core.Agent{Runtime: runtime, Name: agent}), nil
}

func cmpOr(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

func (d *desk) SetMode(_ context.Context, c core.Caller, in settings.ModeChange) (settings.AgentView, error) {
	if err := d.act(); err != nil {
		return settings.AgentView{}, err
	}
	switch {
	case !d.sees(c, in.Runtime):
		return settings.AgentView{}, core.ErrNotFound
	case c.Person.Role == core.RoleViewer:
		return settings.AgentView{}, core.ErrForbidden
	}
	i := slices.IndexFunc(d.agents, func(a core.Agent) bool { return a.Runtime == in.Runtime && a.Name == in.Agent })
	if i < 0 {
		d.agents = append(d.agents, core.Agent{Runtime: in.Runtime, Name: in.Agent})
		i = len(d.agents) - 1
	}
	a := &d.agents[i]
	switch {
	case a.Mode == in.Mode:
	case a.ModeRevision != in.Revision:
		return d.view(*a), core.ErrConflict
	default:
		a.Mode = in.Mode
		a.ModeRevision++
		d.sets++
	}
	return d.view(*a), d.answer()
}

func (d *desk) Reopen(_ context.Context, c core.Caller, id string) (core.Reopened, error) {
	if err := d.act(); err != nil {
		return core.Reopened{}, err
	}
	if a := d.w.record(id); a.Status != core.StatusDenied || a.Reason != core.ReasonUser {
		return core.Reopened{}, core.ErrConflict
	}
	if _, done := d.reopened[id]; !done {
		d.reopened[id] = core.Reopened{ApprovalID: id, Name: c.Person.Name, At: asked + 240_000}
	}
	return d.reopened[id], d.answer()
}

func (d *desk) rule(r core.Rule) settings.RuleView {
	return settings.RuleView{Rule: r, Live: r.Live(asked)}
}

func (d *desk) Rules(_ context.Context, c core.Caller, q core.RuleQuery) (list []settings.RuleView, err error) {
	for i := range d.ruled {
		r := d.ruled[i]
		if d.sees(c, r.Runtime) && r.Runtime == q.Runtime && r.Agent == *q.Agent && (!q.Live || r.Live(asked)) {
			list = append(list, d.rule(r))
		}
	}
	return list, d.offline
}

func (d *desk) find(c core.Caller, id string) (int, error) {
	i := slices.IndexFunc(d.ruled, func(r core.Rule) bool { return r.ID == id && d.sees(c, r.Runtime) })
	if i < 0 {
		return i, core.ErrNotFound
	}
	return i, nil
}

func (d *desk) Rule(_ context.Context, c core.Caller, id string) (settings.RuleView, error) {
	i, err := d.find(c, id)
	if err != nil {
		return settings.RuleView{}, err
	}
	return d.rule(d.ruled[i]), nil
}

func (d *desk) RemoveRule(_ context.Context, c core.Caller, id string) (settings.RuleView, error) {
	if err := d.act(); err != nil {
		return settings.RuleView{}, err
	}
	i, err := d.find(c, id)
	switch {
	case err != nil:
		return settings.RuleView{}, err
	case c.Person.Role == core.RoleViewer:
		return settings.RuleView{}, core.ErrForbidden
	}
	if r := &d.ruled[i]; r.RemovedAt == 0 {
		r.RemovedAt, r.RemovedName = asked, c.Person.Name
	}
	return d.rule(d.ruled[i]), d.answer()
}

// aftermath does an act on an outcome once, as the store does.
func (d *desk) aftermath(c core.Caller, l core.Lookup, may func(*core.Approval) error, of func(*core.Aftermath) **core.Act) (core.Approval, error) {
	if err := d.act(); err != nil {
		return core.Approval{}, err
	}
	a, err := d.w.find(c, l)
	switch {
	case err != nil:
		return a, err
	case !core.MayDecide(c.Person, &a, nil):
		return a, core.ErrForbidden
	}
	after := core.Aftermath{}
	if a.Aftermath != nil {
		after = *a.Aftermath
	}
	if at := of(&after); *at == nil {
		if err := may(&a); err != nil {
			return a, err
		}
		*at = &core.Act{By: c.Person.ID, Name: c.Person.Name, At: asked + 300_000}
		a.Aftermath = &after
		d.w.change(a.ID, func(is *core.Approval) { *is = a })
	}
	return a, d.answer()
}

func (d *desk) Dismiss(_ context.Context, c core.Caller, l core.Lookup) (core.Approval, error) {
	return d.aftermath(c, l, func(a *core.Approval) error {
		if !a.Dismissable() {
			return core.ErrConflict
		}
		return nil
	}, func(f *core.Aftermath) **core.Act { return &f.Dismissed })
}

func (d *desk) AskAgain(_ context.Context, c core.Caller, l core.Lookup) (core.Approval, error) {
	return d.aftermath(c, l, func(a *core.Approval) error {
		switch {
		case !a.AskableAgain():
			return core.ErrConflict
		case a.CallbackURL == "":
			return core.ErrNotOffered
		}
		return nil
	}, func(f *core.Aftermath) **core.Act { return &f.AskedAgain })
}

// pick presses the button with a label below an answer of ours.
func (w *world) pick(t *testing.T, user string, shown channels.Answer, label string) channels.Answer {
	t.Helper()
	var labels []string
	for _, a := range shown.Actions {
		labels = append(labels, a.Label)
		if a.Label == label {
			c := w.press(t, user, `{"chat":4711,"message":70}`, a)
			return w.pipeline.Click(t.Context(), c)
		}
	}
	require.Fail(t, "there is no such button", "%q among %s", label, strings.Join(labels, ", "))
	return channels.Answer{}
}

// labels are the buttons of an answer.
func labels(a channels.Answer) []string {
	list := []string{}
	for _, action := range a.Actions {
		list = append(list, action.Label)
	}
	return list
}
