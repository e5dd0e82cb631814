package gateway

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/approvals"
	"github.com/saysohq/sayso/core/settings"
	"github.com/saysohq/sayso/presentation"
	"github.com/saysohq/sayso/presentation/web"
)

// PageAgents is what the page shows and changes of agents; core/settings satisfies it.
type PageAgents interface {
	Agents(ctx context.Context, c core.Caller) ([]settings.AgentView, error)
	Agent(ctx context.Context, c core.Caller, runtime, agent string) (settings.AgentView, error)
	SetMode(ctx context.Context, c core.Caller, in settings.ModeChange) (settings.AgentView, error)
	History(ctx context.Context, c core.Caller, runtime, agent string, limit int) ([]core.PolicyChange, error)
}

// PagePauses stops an agent for a while; core/settings satisfies it.
type PagePauses interface {
	Pause(ctx context.Context, c core.Caller, runtime, agent string, revision int64) (settings.AgentView, error)
	Resume(ctx context.Context, c core.Caller, runtime, agent string, revision int64) (settings.AgentView, error)
}

// PageRules is what the page shows and changes of what is allowed without asking;
// core/settings satisfies it.
type PageRules interface {
	Rules(ctx context.Context, c core.Caller, q core.RuleQuery) ([]settings.RuleView, error)
	Rule(ctx context.Context, c core.Caller, id string) (settings.RuleView, error)
	RemoveRule(ctx context.Context, c core.Caller, id string) (settings.RuleView, error)
	SwitchMoney(ctx context.Context, c core.Caller, in settings.MoneySwitch) (settings.RuleView, error)
}

// PageDeclines is what the page shows and changes of a person's no (K34);
// core/settings satisfies it.
type PageDeclines interface {
	Reopen(ctx context.Context, c core.Caller, approvalID string) (core.Reopened, error)
	// Reopened reads who re-opened a decline; false where nobody did.
	Reopened(ctx context.Context, approvalID string) (core.Reopened, bool, error)
}

// PageOutcomes is what people do about outcomes; core/approvals satisfies it.
type PageOutcomes interface {
	// Aftermath says what may still be done about an outcome, by anybody who may decide it.
	Aftermath(ctx context.Context, a *core.Approval) (approvals.AftermathOffer, error)
	Dismiss(ctx context.Context, c core.Caller, l core.Lookup) (core.Approval, error)
	AskAgain(ctx context.Context, c core.Caller, l core.Lookup) (core.Approval, error)
}

// What the forms of these pages are for. A token holds for one purpose, one subject
// and one revision; no approval's id begins with a zero byte.
const (
	formMode    = "\x00mode\x00"
	formPause   = "\x00pause\x00"
	formMoney   = "\x00money\x00"
	formRemove  = "\x00remove-rule\x00"
	formReopen  = "\x00reopen\x00"
	formDismiss = "\x00dismiss\x00"
	formAgain   = "\x00ask-again\x00"
)

// noticeOutdated is said where a form's token does not hold.
const noticeOutdated = "This form was out of date. Nothing was changed by this press."

// agentRef names an agent in an address. Its name is any safe text, so it is a value
// and never a part of the path.
type agentRef struct {
	runtime string
	name    string // "" for the calls of a runtime that name no agent.
}

func agentOf(v url.Values) agentRef { return agentRef{runtime: v.Get("runtime"), name: v.Get("name")} }

func (a agentRef) query() string {
	return url.Values{"runtime": {a.runtime}, "name": {a.name}}.Encode()
}

// subject is the agent in the purpose of a form's token: a runtime's name has no zero
// byte, so no two agents share one.
func (a agentRef) subject() string { return a.runtime + "\x00" + a.name }

// listPlace is which part of a list an address names.
type listPlace struct {
	agent  agentRef
	one    bool             // Only of that agent.
	before *core.ListCursor // Where the page begins; nil for the newest, and for anything that is no such place.
}

func listOf(v url.Values) listPlace {
	l := listPlace{agent: agentOf(v), one: v.Has("runtime")}
	if at, err := strconv.ParseInt(v.Get("before"), 10, 64); err == nil && v.Get("id") != "" {
		l.before = &core.ListCursor{CreatedAt: core.Millis(at), ID: v.Get("id")}
	}
	return l
}

// query names the list, from its newest entry on.
func (l listPlace) query() string {
	if !l.one {
		return ""
	}
	return "?" + l.agent.query()
}

// after names the page of the list that follows an entry.
func (l listPlace) after(at core.Millis, id string) string {
	v := url.Values{"before": {strconv.FormatInt(int64(at), 10)}, "id": {id}}
	if l.one {
		v.Set("runtime", l.agent.runtime)
		v.Set("name", l.agent.name)
	}
	return "?" + v.Encode()
}

func (p *Pages) agentPath(a agentRef) string { return p.cfg.Links.Base() + "/agent?" + a.query() }

// says is a moment as a settled page words it: in the deployment's zone, with its date
// where that is not today's. The script puts the reader's own in its place.
func (p *Pages) says(at, now core.Millis) string { return presentation.Clock(at, now, p.cfg.Zone) }

// pressed reads a posted form of these pages and its token: for this session, this
// purpose and the revision that the form names ("" is 0). It answers and reports
// false where anything of that fails, after nothing was changed.
func (p *Pages) pressed(w http.ResponseWriter, r *http.Request, purpose func(url.Values) string) (core.Caller, int64, bool) {
	c, ok := p.signedIn(w, r)
	if !ok || !p.readForm(w, r) {
		return core.Caller{}, 0, false
	}
	revision := int64(0)
	if at := r.PostForm.Get("revision"); at != "" {
		var err error
		if revision, err = strconv.ParseInt(at, 10, 64); err != nil {
			p.unreadable(w, r)
			return core.Caller{}, 0, false
		}
	}
	if !p.deps.Forms.Verify(r.PostForm.Get("token"), c.Session, purpose(r.PostForm), revision) {
		p.say(w, r, http.StatusForbidden, web.Message{
			Frame: p.frame(r.Context(), c, "Not changed", web.StateRefused), Heading: "Not changed", Text: noticeOutdated, Retry: false,
		})
		return core.Caller{}, 0, false
	}
	return c, revision, true
}

// after leads on from a press that was recorded: a reload then reads again instead of
// pressing again.
func (p *Pages) after(w http.ResponseWriter, r *http.Request, path string) {
	http.Redirect(w, r, next(path, p.cfg.Links.Base()), http.StatusSeeOther) //nolint:gosec // next kept it on this service.
}
