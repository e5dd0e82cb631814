package deliveries

import (
	"slices"
	"strings"

	"github.com/saysohq/sayso/core"
)

// Why a request has no origin chat, as logs say it.
const (
	originForeign   = "no-chat-of-ours" // The session key does not have the form, or names another bot.
	originMalformed = "malformed-address"
	originNotListed = "not-listed"
)

// origin reads the chat that a request came from out of its session key:
//
//	<channel>:<account>:<address>    telegram:123456789:-1001234567890/5
//
// The key is a machine's claim and no authority: the chat is used only where the
// operator listed it for the account. The second result says why it is not.
func (p *Planner) origin(sessionKey string) (Chat, string) {
	channel, rest, _ := strings.Cut(sessionKey, ":")
	name, address, _ := strings.Cut(rest, ":")
	account := p.account(core.AccountRef{Channel: core.Surface(channel), Account: name})
	if account == nil || address == "" {
		return Chat{}, originForeign
	}
	address, ok := account.canonical(address)
	switch {
	case !ok:
		return Chat{}, originMalformed
	case !account.allows(address):
		return Chat{}, originNotListed
	}
	return Chat{Ref: account.Ref, Address: address}, ""
}

func (p *Planner) account(ref core.AccountRef) *Account {
	i := slices.IndexFunc(p.cfg.Accounts, func(a Account) bool { return a.Ref == ref })
	if i < 0 {
		return nil
	}
	return &p.cfg.Accounts[i]
}

// canonical is the one spelling of an address; false when it is none.
func (a *Account) canonical(address string) (string, bool) {
	if a.Canonical != nil {
		return a.Canonical(address)
	}
	return address, address != "" && !strings.ContainsFunc(address, func(r rune) bool { return r <= ' ' || r == 0x7f })
}

// allows reports whether the account lists the address as an origin. A listed chat
// stands for its topics and threads too: the same people read them.
func (a *Account) allows(address string) bool {
	return slices.ContainsFunc(a.Origins, func(o string) bool {
		listed, ok := a.canonical(o)
		return ok && (address == listed || strings.HasPrefix(address, listed+"/"))
	})
}
