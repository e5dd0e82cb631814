package people_test

import (
	"context"
	"maps"
	"strings"

	"github.com/saysohq/sayso/core"
)

func (m *memory) IssueCode(_ context.Context, c core.Code, life core.Millis) (core.Code, error) {
	unlock, err := m.open()
	defer unlock()
	if err != nil {
		return core.Code{}, err
	}
	if c.Purpose == core.CodeBootstrap {
		if m.admin() {
			return core.Code{}, core.ErrForbidden
		}
		maps.DeleteFunc(m.codes, func(_ string, c core.Code) bool { return c.Purpose == core.CodeBootstrap })
	} else if _, err := m.enabled(c.PrincipalID); err != nil {
		return core.Code{}, err
	}
	c.ExpiresAt = m.now + life
	m.codes[c.Hash] = c
	return c, nil
}

func (m *memory) admin() bool {
	for _, p := range m.people {
		if p.Role == core.RoleAdmin {
			return true
		}
	}
	return false
}

// good finds a code; a miss is counted.
func (m *memory) good(hash string, p core.CodePurpose) (core.Code, error) {
	c, ok := m.codes[hash]
	if !ok {
		m.failures++
	}
	if !ok || c.Purpose != p || c.ExpiresAt.Reached(m.now) {
		return core.Code{}, core.ErrCodeInvalid
	}
	return c, nil
}

func (m *memory) PeekCode(_ context.Context, hash string, p core.CodePurpose) (core.Code, error) {
	unlock, err := m.open()
	defer unlock()
	if err != nil {
		return core.Code{}, err
	}
	return m.good(hash, p)
}

func (m *memory) RedeemBootstrap(_ context.Context, hash string, first core.Principal, s core.Session, life core.Millis) (core.Principal, core.Session, error) {
	unlock, err := m.open()
	defer unlock()
	if err != nil {
		return core.Principal{}, core.Session{}, err
	}
	c, err := m.good(hash, core.CodeBootstrap)
	if err != nil || m.admin() {
		return core.Principal{}, core.Session{}, core.ErrCodeInvalid
	}
	delete(m.codes, c.Hash)
	first.Revision, first.CreatedAt, first.UpdatedAt = 1, m.now, m.now
	m.people[first.ID] = first
	s.PrincipalID = first.ID
	s, err = m.start(s, life)
	return first, s, err
}

func (m *memory) RedeemPair(_ context.Context, hash string, s core.Session, life core.Millis) (core.Principal, core.Session, error) {
	unlock, err := m.open()
	defer unlock()
	if err != nil {
		return core.Principal{}, core.Session{}, err
	}
	c, err := m.good(hash, core.CodePair)
	if err != nil {
		return core.Principal{}, core.Session{}, err
	}
	p, err := m.enabled(c.PrincipalID)
	if err != nil {
		return core.Principal{}, core.Session{}, core.ErrCodeInvalid
	}
	delete(m.codes, c.Hash)
	s.PrincipalID = p.ID
	s, err = m.start(s, life)
	return p, s, err
}

func (m *memory) RedeemLink(_ context.Context, hash string, i core.Identity) (core.Principal, error) {
	unlock, err := m.open()
	defer unlock()
	if err != nil {
		return core.Principal{}, err
	}
	c, err := m.good(hash, core.CodeLink)
	if err != nil {
		return core.Principal{}, err
	}
	i.PrincipalID = c.PrincipalID
	if err := m.link(i); err != nil {
		return core.Principal{}, err
	}
	delete(m.codes, c.Hash)
	return m.principal(c.PrincipalID)
}

func (m *memory) BurnCode(_ context.Context, hash string) error {
	unlock, err := m.open()
	defer unlock()
	delete(m.codes, hash)
	return err
}

func (m *memory) BootstrapOpen(context.Context) (bool, error) {
	unlock, err := m.open()
	defer unlock()
	for _, c := range m.codes {
		if c.Purpose == core.CodeBootstrap && !c.ExpiresAt.Reached(m.now) {
			return true, err
		}
	}
	return false, err
}

// plainText stands for the redactor: it shows one hidden character and cuts.
type plainText struct{}

func (plainText) Text(s string, max int) string {
	s = strings.ReplaceAll(s, "\u202e", `\u{202E}`)
	if r := []rune(s); len(r) > max {
		return string(r[:max-1]) + "…"
	}
	return s
}
