package config

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/deliveries"
)

// Accounts lists the configured bots with their chats, as the routing table names
// them. Bots whose token names no bot are left out.
func (c *Config) Accounts() []deliveries.Account {
	var accounts []deliveries.Account
	for i := range c.Telegram {
		t := &c.Telegram[i]
		id, _, ok := strings.Cut(t.Token.Reveal(), ":")
		if !ok || id == "" {
			continue
		}
		accounts = append(accounts, deliveries.Account{
			Ref:   core.AccountRef{Channel: core.SurfaceTelegram, Account: id},
			Chats: t.Chats, Origins: t.Origins, Canonical: canonicalTelegram,
		})
	}
	return accounts
}

// allAccounts reports whether Accounts left none out.
func (c *Config) allAccounts(accounts []deliveries.Account) bool {
	return len(accounts) == len(c.Telegram)
}

// canonicalTelegram is the one spelling of a chat or topic. Topic 1 is the General
// topic, which is the chat itself.
func canonicalTelegram(address string) (string, bool) {
	if !telegramChat.MatchString(address) {
		return "", false
	}
	chatText, topicText, hasTopic := strings.Cut(address, "/")
	chat, err := strconv.ParseInt(chatText, 10, 64)
	if err != nil || chat == 0 {
		return "", false
	}
	canonical := strconv.FormatInt(chat, 10)
	if !hasTopic {
		return canonical, true
	}
	topic, err := strconv.ParseInt(topicText, 10, 64)
	if err != nil || topic < 1 {
		return "", false
	}
	if topic > 1 {
		canonical += "/" + strconv.FormatInt(topic, 10)
	}
	return canonical, true
}

// validateOrigins checks the chats that requests may name as theirs.
func validateOrigins(origins []string, name string) error {
	var faults []error
	var seen []string
	for i, origin := range origins {
		origins[i] = strings.TrimSpace(origin)
		address, ok := canonicalTelegram(origins[i])
		switch {
		case !ok:
			faults = append(faults, fmt.Errorf("%s[%d]: must be a chat id, or chat id/topic id", name, i))
		case slices.Contains(seen, address):
			faults = append(faults, fmt.Errorf("%s[%d]: is listed already", name, i))
		}
		seen = append(seen, address)
	}
	return errors.Join(faults...)
}
