package api

import "github.com/saysohq/sayso/core"

// Person is somebody who may be asked.
type Person struct {
	ID         string      `json:"id"`
	Name       string      `json:"name"`
	Role       core.Role   `json:"role"`
	Disabled   bool        `json:"disabled"`
	Revision   int64       `json:"revision"`
	CreatedAt  core.Millis `json:"created_at"`
	UpdatedAt  core.Millis `json:"updated_at"`
	Identities []Identity  `json:"identities,omitempty" nullable:"false"`
}

// PersonOf is the document of a principal, without identities.
func PersonOf(p *core.Principal) Person {
	return Person{
		ID: p.ID, Name: p.Name, Role: p.Role, Disabled: p.Disabled,
		Revision: p.Revision, CreatedAt: p.CreatedAt, UpdatedAt: p.UpdatedAt,
	}
}

// Identity is a chat account of a person.
type Identity struct {
	Realm    string            `json:"realm" doc:"telegram, discord, or slack:<team id>."`
	ID       string            `json:"id" doc:"The platform's user id."`
	Label    string            `json:"label,omitempty" doc:"What the platform showed; never an identity."`
	Direct   bool              `json:"direct" doc:"There is a direct chat to send cards to."`
	LinkedAt core.Millis       `json:"linked_at,omitempty"`
	Broken   core.FailureClass `json:"broken,omitempty" doc:"Why cards do not reach the direct chat."`
}

// People is the answer to GET /v1/people.
type People struct {
	People []Person `json:"people" nullable:"false"`
}

// AddPerson is the body of POST /v1/people.
type AddPerson struct {
	ID   string    `json:"id,omitempty" doc:"Left out, the service chooses."`
	Name string    `json:"name" doc:"Display name, 1 to 64 characters."`
	Role core.Role `json:"role" enum:"admin,reviewer,viewer"`
}

// ChangePerson is the body of PATCH /v1/people/{person}; what is left out stays.
type ChangePerson struct {
	Revision int64      `json:"revision,omitempty" minimum:"0" doc:"Change only if the person is still at this revision."`
	Name     *string    `json:"name,omitempty"`
	Role     *core.Role `json:"role,omitempty" enum:"admin,reviewer,viewer"`
	Disabled *bool      `json:"disabled,omitempty"`
}

// Roster is the body of POST /v1/people/apply: the wished-for state of people.
type Roster struct {
	People     []RosterPerson `json:"people" nullable:"false"`
	Agents     []RosterAgent  `json:"agents,omitempty" nullable:"false"`
	Exhaustive bool           `json:"exhaustive,omitempty" doc:"Disable everybody who is not in the list."`
}

// RosterPerson is one person of a Roster.
type RosterPerson struct {
	ID       string    `json:"id"`
	Name     string    `json:"name"`
	Role     core.Role `json:"role" enum:"admin,reviewer,viewer"`
	Disabled bool      `json:"disabled,omitempty"`
	// Identities is nil to leave them as they are, and empty to unlink all.
	Identities []RosterIdentity `json:"identities,omitzero" nullable:"false" doc:"All links of the person; left out, they stay."`
}

// RosterIdentity is one chat account of a RosterPerson.
type RosterIdentity struct {
	Realm string `json:"realm"`
	ID    string `json:"id"`
}

// RosterAgent names the owners of an agent.
type RosterAgent struct {
	Runtime string   `json:"runtime"`
	Agent   string   `json:"agent"`
	Owners  []string `json:"owners" nullable:"false"`
}

// Changes lists what an apply changed, or would change.
type Changes struct {
	Changes []Change `json:"changes" nullable:"false"`
}

// Change is one step.
type Change struct {
	Kind     string          `json:"kind"`
	PersonID string          `json:"person,omitempty"`
	Identity *RosterIdentity `json:"identity,omitempty"`
	Agent    *RosterAgent    `json:"agent,omitempty"`
}

// LinkIdentity is the body of POST /v1/people/{person}/identities.
type LinkIdentity struct {
	Realm string `json:"realm"`
	ID    string `json:"id"`
	Label string `json:"label,omitempty"`
}

// Owners is the body and the answer of /v1/runtimes/{runtime}/agents/{agent}/owners.
type Owners struct {
	Owners []string `json:"owners" nullable:"false" doc:"Ids of people; an empty list leaves the agent to the admins."`
}

// Sessions is the answer to GET /v1/people/{person}/sessions.
type Sessions struct {
	Sessions []Session `json:"sessions" nullable:"false"`
}

// Session is a signed-in device.
type Session struct {
	ID        string           `json:"id"`
	Kind      core.SessionKind `json:"kind"`
	Label     string           `json:"label,omitempty"`
	CreatedAt core.Millis      `json:"created_at"`
	ExpiresAt core.Millis      `json:"expires_at"`
	EndedAt   core.Millis      `json:"ended_at,omitempty"`
}

// SessionOf is the document of a session.
func SessionOf(s *core.Session) Session {
	return Session{
		ID: s.ID, Kind: s.Kind, Label: s.Label,
		CreatedAt: s.CreatedAt, ExpiresAt: s.ExpiresAt, EndedAt: s.EndedAt,
	}
}

// IssueCode is the body of POST /v1/people/{person}/codes.
type IssueCode struct {
	Purpose core.CodePurpose `json:"purpose" enum:"pair,link" doc:"pair: sign a browser or CLI in. link: connect a chat account."`
	Form    string           `json:"form" enum:"typed,link" doc:"typed: short, for typing. link: long, for a link or QR code."`
}

// IssueFirstCode is the body of POST /v1/first-code.
type IssueFirstCode struct {
	Form string `json:"form" enum:"typed,link" doc:"typed: short, for typing. link: long, for a link or QR code."`
}

// Code is a one-time code, which is told once.
type Code struct {
	Code      string      `json:"code"`
	ExpiresAt core.Millis `json:"expires_at"`
	Links     []string    `json:"links,omitempty" nullable:"false" doc:"For a chat account: where to press Start, one per bot that has such links."`
	// Messengers are those whose bots take the code of a link.
	Messengers []core.Surface `json:"messengers,omitempty" nullable:"false" doc:"For a chat account: the messengers whose bots take the code; without one, nobody does."`
}

// SignIn is the body of POST /v1/signin.
type SignIn struct {
	Code    string           `json:"code"`
	Purpose core.CodePurpose `json:"purpose" enum:"bootstrap,pair" doc:"bootstrap: become the first admin. pair: sign in as the person of the code."`
	Name    string           `json:"name,omitempty" doc:"Display name of the first admin."`
	Kind    core.SessionKind `json:"kind" enum:"browser,cli"`
	Label   string           `json:"label,omitempty" doc:"What to call this device."`
}

// SignedIn is a fresh session with its bearer, which is told once.
type SignedIn struct {
	Bearer  string  `json:"bearer"`
	Person  Person  `json:"person"`
	Session Session `json:"session"`
}

// Me is the answer to GET /v1/me: who the bearer stands for. One member is set.
type Me struct {
	Person   *Person `json:"person,omitempty"`
	Token    *Token  `json:"token,omitempty"`
	Operator bool    `json:"operator,omitempty" doc:"This machine's operator, through the admin socket."`
}

// Tokens is the answer to GET /v1/tokens.
type Tokens struct {
	Tokens []Token `json:"tokens" nullable:"false"`
}

// Token is a machine's token, without its bearer.
type Token struct {
	ID        string       `json:"id"`
	Runtime   string       `json:"runtime"`
	Scopes    []core.Scope `json:"scopes" nullable:"false"`
	ActsFor   string       `json:"acts_for,omitempty"`
	Label     string       `json:"label,omitempty"`
	CreatedAt core.Millis  `json:"created_at"`
	ExpiresAt core.Millis  `json:"expires_at,omitempty"`
	RevokedAt core.Millis  `json:"revoked_at,omitempty"`
}

// TokenOf is the document of a token.
func TokenOf(t *core.Token) Token {
	return Token{
		ID: t.ID, Runtime: t.Runtime, Scopes: t.Scopes, ActsFor: t.ActsFor, Label: t.Label,
		CreatedAt: t.CreatedAt, ExpiresAt: t.ExpiresAt, RevokedAt: t.RevokedAt,
	}
}

// IssueToken is the body of POST /v1/tokens.
type IssueToken struct {
	Runtime   string       `json:"runtime"`
	Scopes    []core.Scope `json:"scopes" nullable:"false" enum:"request,read,admin"`
	ActsFor   string       `json:"acts_for,omitempty" doc:"The person recorded as the requester."`
	Label     string       `json:"label,omitempty"`
	ExpiresIn string       `json:"expires_in,omitempty" doc:"A Go duration; left out, it does not expire."`
}

// IssuedToken is a token with its bearer, which is told once.
type IssuedToken struct {
	Bearer string `json:"bearer"`
	Token  Token  `json:"token"`
}
