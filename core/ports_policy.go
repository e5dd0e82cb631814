package core

import "context"

// The ports of policy: what people set, and what an evaluation reads. Every change of
// an agent's rules or mode raises the agent's generation in the same write and leaves
// a PolicyChange; an insert that was evaluated under another generation is refused
// (PolicyGuard). What an organisation says, and which tool servers are exempt, is
// configuration and stands in no store.

// Rules are the always-allow rules. Those from cards are made by Decide, in the
// transaction of the decision.
type Rules interface {
	// ListRules lists rules, newest first, removed ones until they are pruned.
	ListRules(ctx context.Context, q RuleQuery) ([]Rule, error)
	// ReadRule reads one, removed or not. Errors: ErrNotFound.
	ReadRule(ctx context.Context, id string) (Rule, error)
	// LiveRules lists what may cover a call of the agent now, in id order, together
	// with the generation that they are of, or an older one: an insert under that is
	// refused and evaluated again.
	LiveRules(ctx context.Context, runtime, agent string) (rules []Rule, generation int64, err error)
	// SwitchMoney makes a rule from the list: a switch for a whole tool, and nothing
	// else (R73). Errors: ErrInvalid, ErrIDTaken, ErrConflict with the switch that the tool
	// has already, ErrNotFound (the guarded person lost the right).
	SwitchMoney(ctx context.Context, c NewRule, g Guard) (Rule, error)
	// RemoveRule ends a rule for good: no call that is inserted or claimed afterwards is
	// allowed by it, on any replica (R75). One that was removed stays as it is, and comes
	// back with whoever was first. Errors: ErrNotFound (also of the guarded person).
	RemoveRule(ctx context.Context, c RemoveRule) (Rule, error)
}

// RuleQuery filters a list of rules; empty fields do not filter.
type RuleQuery struct {
	Runtime string
	Agent   *string // Nil for all agents; "" is the agent without a name.
	Live    bool    // Only those that cover something now.
	// ApprovalID finds the rule that was made from this card.
	ApprovalID string
	// Viewer restricts the list to rules of agents that this person may see, applied
	// before the limit: admins see all, others those of the agents that they own.
	Viewer *Principal
	Limit  int // 1 to MaxPage; 0 means MaxPage.
	// Before continues after the last rule of the page before: rules strictly older
	// than (CreatedAt, ID).
	Before *ListCursor
}

// NewRule is the command that makes a rule. The store stamps its times, its
// generation and, from a card, nothing else: what it covers was derived by the
// service (K7).
type NewRule struct {
	Rule Rule
	Life Millis // ms until it expires; 0: never.
}

// RemoveRule is the command of the same name.
type RemoveRule struct {
	ID    string
	By    string // The person.
	Name  string // Their name, for the list.
	Guard Guard
}

// AgentSettings are what people set of an agent.
type AgentSettings interface {
	// ReadAgent reads an agent's settings; one that nobody ever set anything for has
	// those of its zero value.
	ReadAgent(ctx context.Context, runtime, agent string) (Agent, error)
	// ListAgents lists the agents that something was set for, that have owners, or that
	// asked one of the newest MaxPage questions, by runtime and name. One that was deleted
	// is left out until it asks again or something is set for it.
	ListAgents(ctx context.Context, q AgentQuery) ([]ListedAgent, error)
	// SetMode changes the mode by compare-and-set, from the next call on (R52). Setting
	// what it is already changes nothing, whatever the revision. Errors: ErrConflict with
	// the current settings, ErrInvalid (no such mode), ErrNotFound (the guarded person
	// lost the right).
	SetMode(ctx context.Context, c SetMode) (Agent, error)
	// PolicyChanges lists what was changed of an agent, newest first, at most limit
	// (0 means MaxPage).
	PolicyChanges(ctx context.Context, runtime, agent string, limit int) ([]PolicyChange, error)
}

// Agent are the settings of one agent of a runtime.
type Agent struct {
	Runtime string
	Name    string
	Mode    string // "" for the default of the tables.
	// ModeRevision is what a change of the mode is compared with; 0 before the first.
	ModeRevision int64
	// Generation rises with every change of the agent's mode and rules.
	Generation int64
	UpdatedAt  Millis

	PausedAt      Millis // 0 while it is not paused.
	PausedBy      string // The person; never shown to reviewers (R156).
	PausedName    string // Their name when it happened.
	PauseRevision int64  // What pausing and resuming is compared with; 0 before the first.
	ResetAt       Millis // When its life began that goes on now; 0 for the first.
}

// Paused reports whether claims of the agent's grants are refused.
func (a *Agent) Paused() bool { return a.PausedAt != 0 }

// SetMode is the command of the same name.
type SetMode struct {
	Runtime  string
	Agent    string
	Mode     string // "" gives the agent the default of the tables again.
	Revision int64  // The ModeRevision that the change was made from.
	By       string // The person.
	Name     string // Their name, for the history.
	Guard    Guard
}

// ChangeKind is what happened to an agent's policy.
type ChangeKind string

// The kinds of change.
const (
	ChangeMode        ChangeKind = "mode-set"
	ChangeRuleMade    ChangeKind = "rule-made"
	ChangeRuleRemoved ChangeKind = "rule-removed"
	ChangeRuleSpent   ChangeKind = "rule-spent" // Its last use was counted.
	ChangePaused      ChangeKind = "paused"
	ChangeResumed     ChangeKind = "resumed"
	ChangeReset       ChangeKind = "reset"
	ChangeDeleted     ChangeKind = "deleted"
	ChangeRestored    ChangeKind = "restored" // A restoration ended the rules and set the mode to before-everything.
)

// PolicyChange is one change of an agent's policy: the history that says who let what
// run unasked, and since when (R76).
type PolicyChange struct {
	Runtime    string
	Agent      string
	Generation int64 // The one that it made; unique per agent.
	Kind       ChangeKind
	RuleID     string
	Before     string // The mode before, where it changed.
	After      string
	By         string // The person; "" for none.
	Name       string
	At         Millis
}

// Policies is what an evaluation reads.
type Policies interface {
	// PolicyState reads all that an evaluation depends on, the rules themselves apart,
	// in one read.
	PolicyState(ctx context.Context, q PolicyQuery) (PolicyStanding, error)
}

// PolicyQuery names the call that is evaluated.
type PolicyQuery struct {
	Runtime    string
	Agent      string
	Instance   string // "" for a call without one: nothing is attested for it.
	Epoch      int64
	ActionHash string // "" asks for no decline.
}

// PolicyStanding is what an evaluation depends on, at one moment.
type PolicyStanding struct {
	Now        Millis
	Generation int64 // 0 before the first change.
	Mode       string
	Facts      map[string]string // Attested by the instance's current boot; nil for an older one.
	// TablesDigest is that of the tables in force in the whole deployment; "" where
	// nobody has ever put any. A process that holds others asks.
	TablesDigest string
	// Declined is the newest approval of this action that a person denied with the
	// button; "" for none, and where that one was re-opened (K34).
	Declined   string
	DeclinedAt Millis
}

// PolicyTables is how replicas agree on the policy files that are in force. The store
// keeps their digest, and nothing of what they say.
type PolicyTables interface {
	// TablesInForce reads which tables are in force; one with the number 0 where nobody
	// has ever put any.
	TablesInForce(ctx context.Context) (TablesInForce, error)
	// PutTables puts a replica's tables in force, in one guarded write, and returns what
	// is in force then. It changes nothing where they are in force already, and nothing
	// where they were in force before, after PutTables.Since: whoever comes with what
	// others have left behind does not lead them back, unless a person says so (Forced).
	// Errors: ErrInvalid (no digest).
	PutTables(ctx context.Context, c PutTables) (TablesInForce, error)
}

// TablesInForce are the policy tables by which the whole deployment judges.
type TablesInForce struct {
	Digest string // "sha256:" and 64 hex digits; "" for none.
	Number int64  // Rises with every change; 0 before the first.
	By     string // Which replica put them.
	At     Millis
}

// PutTables is the command of the same name.
type PutTables struct {
	Digest string
	// Since is the newest TablesInForce.Number that the replica agreed with; 0 for one
	// that has just started, and knows of none.
	Since  int64
	Forced bool   // A person says that these are the ones.
	By     string // Which replica this is, for people to read; at most MaxShortText bytes.
}

// MaxTablesKept is how many tables of the past are known, the ones in force among
// them. Older ones count as never seen.
const MaxTablesKept = 100

// PolicyGuard is what an evaluation relied on and must still hold inside the insert;
// the insert fails with ErrPolicyChanged otherwise, and the call is evaluated again.
// A denial for a sticky decline is refused once that decline was re-opened.
type PolicyGuard struct {
	Generation int64  // Of the agent's rules and mode.
	RuleID     string // The rule that allowed it: its use is counted by this very insert. "" for none.
}

// Declines are a person's second thoughts about a no.
type Declines interface {
	// ReopenDecline lets an action that a person declined be asked again. Whoever is
	// first is recorded; doing it again changes nothing. Errors: ErrNotFound (no such
	// approval, or the guarded person lost the right), ErrConflict (it is no person's
	// decline).
	ReopenDecline(ctx context.Context, c ReopenDecline) (Reopened, error)
	// ReadReopened reads who re-opened a decline. Errors: ErrNotFound (nobody did).
	ReadReopened(ctx context.Context, approvalID string) (Reopened, error)
}

// ReopenDecline is the command of the same name.
type ReopenDecline struct {
	ApprovalID string
	By         string // The person.
	Name       string // Their name, for the record.
	Guard      Guard
}

// Reopened says who let a declined action be asked again.
type Reopened struct {
	ApprovalID string
	By         string
	Name       string
	At         Millis
}
