package core

import "slices"

// Role is what a person may do at all.
type Role string

// The roles.
const (
	RoleAdmin    Role = "admin"    // Sees and decides everything; administers.
	RoleReviewer Role = "reviewer" // Decides what the record says they may.
	RoleViewer   Role = "viewer"   // Reads; is refused at resolve.
)

// Valid reports whether r is one of the closed set.
func (r Role) Valid() bool {
	switch r {
	case RoleAdmin, RoleReviewer, RoleViewer:
		return true
	}
	return false
}

// Principal is a person.
type Principal struct {
	ID        string
	Name      string // Display name, safe text, 1-64 code points. Never an identity.
	Role      Role
	Disabled  bool
	Revision  int64 // Rises with any change of role, enabling, identities or ownership.
	CreatedAt Millis
	UpdatedAt Millis
}

// Identity ties a platform's own user id to a person. (Realm, ExternalID) is unique.
type Identity struct {
	Realm       string // "telegram", "slack:<team id>", "discord".
	ExternalID  string // The platform's stable user id.
	PrincipalID string
	Label       string // What the platform showed when it was linked; for eyes only.
	Channel     Surface
	Account     string // The bot through which it was linked.
	DirectChat  string // Address of the person's direct chat with that bot; "" when there is none.
	LinkedAt    Millis
	Broken      FailureClass // Last permanent failure of the direct chat; FailureNone when it works.
}

// SessionKind tells where a session lives.
type SessionKind string

// The kinds of session.
const (
	SessionBrowser SessionKind = "browser"
	SessionCLI     SessionKind = "cli"
)

// Valid reports whether k is one of the closed set.
func (k SessionKind) Valid() bool {
	switch k {
	case SessionBrowser, SessionCLI:
		return true
	}
	return false
}

// Session is a signed-in device of a person. Only the SHA-256 of its secret is kept.
type Session struct {
	ID          string
	Hash        string // Hex SHA-256 of the bearer secret.
	PrincipalID string
	Kind        SessionKind
	Label       string // User agent or host, safe text, at most 64 code points.
	CreatedAt   Millis
	ExpiresAt   Millis
	EndedAt     Millis // 0 while it lasts.
}

// Live reports whether the session holds at now.
func (s *Session) Live(now Millis) bool { return s.EndedAt == 0 && !s.ExpiresAt.Reached(now) }

// Scope is a right of a machine's token.
type Scope string

// The scopes. No scope ever allows an approval or widens who may allow.
const (
	ScopeRequest Scope = "request" // Ask, wait, claim, report, cancel: its own rows.
	ScopeRead    Scope = "read"    // Read its own rows.
	ScopeAdmin   Scope = "admin"   // Deliveries, accounts, health, tightening.
)

// Valid reports whether s is one of the closed set.
func (s Scope) Valid() bool {
	switch s {
	case ScopeRequest, ScopeRead, ScopeAdmin:
		return true
	}
	return false
}

// Token is a machine's hashed bearer token.
type Token struct {
	ID        string
	Hash      string // Hex SHA-256 of the bearer secret.
	Runtime   string
	Scopes    []Scope
	ActsFor   string // Principal recorded as requested_by; "" for nobody.
	Label     string
	CreatedAt Millis
	ExpiresAt Millis // 0 for never.
	RevokedAt Millis // 0 while it holds.
}

// Holds reports whether the token is good at now and has scope s.
func (t *Token) Holds(s Scope, now Millis) bool {
	return t.RevokedAt == 0 && !t.ExpiresAt.Reached(now) && slices.Contains(t.Scopes, s)
}

// CodePurpose says what a one-time code opens.
type CodePurpose string

// The purposes of one-time codes.
const (
	CodeBootstrap CodePurpose = "bootstrap" // Makes the first admin.
	CodePair      CodePurpose = "pair"      // Signs a browser or CLI in as a given person.
	CodeLink      CodePurpose = "link"      // Links a chat identity to a given person.
)

// Valid reports whether p is one of the closed set.
func (p CodePurpose) Valid() bool {
	switch p {
	case CodeBootstrap, CodePair, CodeLink:
		return true
	}
	return false
}

// Lifetimes of codes and sessions, in ms.
const (
	BootstrapLife = 15 * 60 * 1_000
	CodeLife      = 5 * 60 * 1_000
	SessionLife   = 30 * 24 * 60 * 60 * 1_000
)

// Code is a one-time code; only its SHA-256 is kept.
type Code struct {
	Hash        string
	Purpose     CodePurpose
	PrincipalID string // "" for bootstrap.
	ExpiresAt   Millis
}

// MaxCodeFailures is the number of wrong codes accepted in one CodeLife, over
// the whole deployment, before every redemption is refused for the rest of it.
const MaxCodeFailures = 20

// Prompt is a question of ours other than an approval: a note wanted, a link to
// be confirmed. It matches an answer on any replica and belongs to one person in
// one place until it expires.
type Prompt struct {
	Ref         string // ResolutionRef("prompt", ID)-shaped, 43 characters.
	ID          string
	Purpose     PromptPurpose
	Channel     Surface
	Account     string
	Chat        string // Address where the prompt stands.
	Message     string // Locator of the prompt itself; "" until it was sent.
	Realm       string // Who was asked.
	ExternalID  string
	Label       string   // What the platform called them; for eyes only.
	ApprovalID  string   // note: the approval to deny. again: the one to ask again about.
	DeliveryID  string   // note, again: the card that was clicked.
	CodeHash    string   // link: the code that was presented.
	PrincipalID string   // link: the person whose code it was. test: whom the card was sent to.
	Choices     []Choice // menu: what its buttons do, in their order; at most MaxChoices.
	ExpiresAt   Millis
	DoneAt      Millis // 0 until it was answered.
}

// MaxChoices is how many buttons a menu may have: a button carries one digit.
const MaxChoices = 10

// Choice is what one button of a menu does. The button says only which choice it is;
// what that means stands in the prompt's row, which nobody but us can write. It is no
// authority: whoever presses is checked then.
type Choice struct {
	Do       ChoiceDo `json:"do"`
	Runtime  string   `json:"runtime,omitempty"`  // The agent that it is about; "" for none.
	Agent    string   `json:"agent,omitempty"`    // Its name within the runtime; "" is the agent without a name.
	Mode     string   `json:"mode,omitempty"`     // set-mode.
	Revision int64    `json:"revision,omitempty"` // set-mode: the revision that the menu showed.
	RuleID   string   `json:"rule,omitempty"`     // ask-rule, remove-rule.
	Skip     int      `json:"skip,omitempty"`     // list-*, show-rules: how many entries come before those that it shows.
}

// ChoiceDo names what a choice does.
type ChoiceDo string

// What choices do.
const (
	ChoiceListModes ChoiceDo = "list-modes"  // Show the agents and their modes.
	ChoiceShowMode  ChoiceDo = "show-mode"   // Show one agent's mode.
	ChoiceSetMode   ChoiceDo = "set-mode"    // Give it another, if it still has the one that was shown.
	ChoiceListRules ChoiceDo = "list-rules"  // Show the agents and how many rules they have.
	ChoiceShowRules ChoiceDo = "show-rules"  // Show one agent's rules.
	ChoiceAskRule   ChoiceDo = "ask-rule"    // Ask whether to remove one.
	ChoiceRemove    ChoiceDo = "remove-rule" // Remove it.
	ChoiceClose     ChoiceDo = "close"       // End the menu.
)

// Valid reports whether d is one of the closed set.
func (d ChoiceDo) Valid() bool {
	switch d {
	case ChoiceListModes, ChoiceShowMode, ChoiceSetMode, ChoiceListRules, ChoiceShowRules, ChoiceAskRule, ChoiceRemove, ChoiceClose:
		return true
	}
	return false
}

// PromptPurpose says what an answered prompt does.
type PromptPurpose string

// The purposes of prompts.
const (
	PromptNote PromptPurpose = "note" // The answer denies with a note.
	PromptLink PromptPurpose = "link" // The answer links an identity.
	PromptTest PromptPurpose = "test" // The answer proves that clicks come back.
	PromptMenu PromptPurpose = "menu" // The answer is one of its choices.
	// PromptAgain is a yes to asking again about what may have happened.
	PromptAgain PromptPurpose = "again"
)

// Valid reports whether p is one of the closed set.
func (p PromptPurpose) Valid() bool {
	switch p {
	case PromptNote, PromptLink, PromptTest, PromptMenu, PromptAgain:
		return true
	}
	return false
}

// PromptLife is how long a prompt can be answered, in ms.
const PromptLife = 10 * 60 * 1_000

// MaySee is the one rule of who may read an approval, given the owners of its
// agent. Admins see everything. An explicit list of reviewers is authoritative:
// nobody outside it sees the record, the requester included. Without a list the
// agent's owners do, and an agent without owners belongs to the admins. Disabled
// people see nothing; an empty list means nobody but admins (R150, conformance
// 47, 48, 58).
func MaySee(p *Principal, a *Approval, owners []string) bool {
	if p == nil || p.ID == "" || p.Disabled {
		return false
	}
	switch p.Role {
	case RoleAdmin:
		return true
	case RoleReviewer, RoleViewer:
		if a.Reviewers != nil {
			return slices.Contains(a.Reviewers, p.ID)
		}
		return slices.Contains(owners, p.ID)
	}
	return false
}

// MayDecide is the one rule of who may decide an approval: whoever may see it,
// viewers aside, and aside from the requester where four eyes are required.
func MayDecide(p *Principal, a *Approval, owners []string) bool {
	if !MaySee(p, a, owners) || p.Role == RoleViewer {
		return false
	}
	return !a.ExcludeRequester || a.RequestedBy != p.ID
}

// Caller is who makes a call of the service, as an edge has authenticated them:
// a machine by its token, or a person by a session or a platform's user id.
// Exactly one of Token, Person and Operator is set; the zero Caller is nobody.
type Caller struct {
	Token   *Token
	Person  *Principal
	Surface Surface // Where a person is.
	Session string  // Id of a person's session; "" on the messengers.
	// Operator is whoever runs this machine's service, as the peer-checked admin
	// socket proved: they manage people and devices, and never see or decide an
	// approval.
	Operator bool
}

// Admin reports whether the caller is a person who administers.
func (c *Caller) Admin() bool {
	return c.Person != nil && c.Person.Role == RoleAdmin && !c.Person.Disabled
}
