package core

import "context"

// Principals is the book of people.
type Principals interface {
	// Principal reads one person. Errors: ErrNotFound.
	Principal(ctx context.Context, id string) (Principal, error)
	// PrincipalByIdentity reads the person behind a platform's user id. Errors: ErrNotFound.
	PrincipalByIdentity(ctx context.Context, realm, externalID string) (Principal, error)
	// ListPrincipals lists everybody in id order.
	ListPrincipals(ctx context.Context) ([]Principal, error)
	// AddPrincipal adds a person. Errors: ErrIDTaken.
	AddPrincipal(ctx context.Context, p Principal) (Principal, error)
	// ChangePrincipal changes name, role or enabling in one guarded write; nil
	// fields stay. Disabling ends the person's sessions. Errors: ErrNotFound,
	// ErrConflict with the current row, ErrLastAdmin.
	ChangePrincipal(ctx context.Context, c ChangePrincipal) (Principal, error)
}

// ChangePrincipal is the command of the same name.
type ChangePrincipal struct {
	ID       string
	Revision int64 // 0 for whatever it is now.
	Name     *string
	Role     *Role
	Disabled *bool
}

// Identities ties people to their accounts on the platforms, and agents to owners.
type Identities interface {
	// LinkIdentity links or re-links to the same person. Errors: ErrIdentityTaken,
	// ErrNotFound (no such person).
	LinkIdentity(ctx context.Context, i Identity) error
	// UnlinkIdentity removes a link. Errors: ErrNotFound.
	UnlinkIdentity(ctx context.Context, realm, externalID string) error
	// IdentitiesOf lists the links of the given people, or of everybody when none
	// are given.
	IdentitiesOf(ctx context.Context, principalIDs ...string) ([]Identity, error)
	// Owners lists the principals that own an agent of a runtime.
	Owners(ctx context.Context, runtime, agent string) ([]string, error)
	// SetOwners replaces them; everybody gained or lost gets a new revision. Errors:
	// ErrNotFound (one of them is unknown; nothing is changed).
	SetOwners(ctx context.Context, runtime, agent string, principalIDs []string) error
}

// Sessions are the signed-in devices.
type Sessions interface {
	// StartSession stores a session; the store stamps its times from Life ms. Errors:
	// ErrNotFound (unknown or disabled person), ErrIDTaken (id or secret used before).
	StartSession(ctx context.Context, s Session, life Millis) (Session, error)
	// SessionByHash finds a live session and its enabled person. Errors: ErrNotFound.
	SessionByHash(ctx context.Context, hash string) (Session, Principal, error)
	// EndSession ends one; one that has ended stays as it is. Errors: ErrNotFound.
	EndSession(ctx context.Context, id string) error
	// SessionsOf lists a person's sessions, newest first; ended ones until they are
	// pruned.
	SessionsOf(ctx context.Context, principalID string) ([]Session, error)
}

// Tokens are the machines' bearers.
type Tokens interface {
	// IssueToken stores a token; life 0 never expires. Errors: ErrNotFound when the
	// principal that it acts for is unknown, ErrIDTaken when the id or the secret
	// was used before, revoked or not.
	IssueToken(ctx context.Context, t Token, life Millis) (Token, error)
	// TokenByHash finds a token that holds. Errors: ErrNotFound.
	TokenByHash(ctx context.Context, hash string) (Token, error)
	// RenewToken lets a token that was not revoked live for so long from now on, and
	// one that has run out live again; life 0 never expires. Errors: ErrNotFound.
	RenewToken(ctx context.Context, hash string, life Millis) (Token, error)
	// RevokeToken ends one; one that was revoked stays as it is. Errors: ErrNotFound.
	RevokeToken(ctx context.Context, id string) error
	// ListTokens lists all, newest first, without hashes.
	ListTokens(ctx context.Context) ([]Token, error)
}

// Codes are one-time and count their failures over the whole deployment.
type Codes interface {
	// IssueCode stores a code; a bootstrap code replaces the one before it and is
	// refused with ErrForbidden once an admin exists. Errors: ErrNotFound (unknown or
	// disabled person), ErrIDTaken (secret used before).
	IssueCode(ctx context.Context, c Code, life Millis) (Code, error)
	// PeekCode reads a good code without using it. Here and below, a code that was
	// never issued counts as a failure (MaxCodeFailures); one that is used, burned,
	// expired or of another purpose is no guess and does not.
	// Errors: ErrCodeInvalid.
	PeekCode(ctx context.Context, hash string, p CodePurpose) (Code, error)
	// RedeemBootstrap uses the code, adds the first admin and starts their session
	// in one transaction. Errors: ErrCodeInvalid.
	RedeemBootstrap(ctx context.Context, hash string, first Principal, s Session, life Millis) (Principal, Session, error)
	// RedeemPair uses the code and starts a session of its person. Errors:
	// ErrCodeInvalid.
	RedeemPair(ctx context.Context, hash string, s Session, life Millis) (Principal, Session, error)
	// RedeemLink uses the code and links the identity to its person. Errors:
	// ErrCodeInvalid, ErrIdentityTaken.
	RedeemLink(ctx context.Context, hash string, i Identity) (Principal, error)
}

// CodeBurner ends codes that were seen where they do not belong.
type CodeBurner interface {
	// BurnCode makes a code useless; an unknown one changes nothing.
	BurnCode(ctx context.Context, hash string) error
	// BootstrapOpen reports whether a bootstrap code is good now.
	BootstrapOpen(ctx context.Context) (bool, error)
}

// Prompts hold what our own questions in chats are about.
type Prompts interface {
	// OpenPrompt stores a prompt; life in ms. Errors: ErrIDTaken, ErrInvalid (its choices).
	OpenPrompt(ctx context.Context, p Prompt, life Millis) (Prompt, error)
	// PlacePrompt records the locator of the message that asks. Errors: ErrNotFound.
	PlacePrompt(ctx context.Context, id, locator string) error
	// PromptByRef finds an open prompt. Errors: ErrNotFound.
	PromptByRef(ctx context.Context, ref string) (Prompt, error)
	// PromptAt finds the open prompt that a message answers. Errors: ErrNotFound.
	PromptAt(ctx context.Context, ref AccountRef, locator string) (Prompt, error)
	// FinishPrompt marks it answered, once. Errors: ErrNotFound when it was
	// answered before or has expired.
	FinishPrompt(ctx context.Context, id string) error
}

// Deployment is the singleton row.
type Deployment struct {
	ID          string // Random, made once.
	Incarnation int64  // Raised by restore.
	Sealed      bool   // It does not serve.
	Seal        Seal   // Why not; SealNone also where nobody said.
	CreatedAt   Millis
}

// Keys is where sealed key material lives.
type Keys interface {
	// Deployment reads the singleton row.
	Deployment(ctx context.Context) (Deployment, error)
	// SealedKeys lists the keys of a purpose, newest first.
	SealedKeys(ctx context.Context, purpose string) ([]SealedKey, error)
	// AddSealedKey stores a key; an id that exists is left alone and returned by
	// the next SealedKeys.
	AddSealedKey(ctx context.Context, k SealedKey) error
}

// SealedKey is a key encrypted under the secret key file.
type SealedKey struct {
	ID        string // One character of the base64url alphabet for codec keys.
	Purpose   string
	Sealed    []byte
	CreatedAt Millis
}
