package config

import (
	"strconv"
	"strings"
	"time"

	"github.com/saysohq/sayso/channels/discord"
	"github.com/saysohq/sayso/channels/slack"
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
	for i := range c.Slack {
		if ref, ok := c.Slack[i].ref(); ok {
			accounts = append(accounts, deliveries.Account{
				Ref: ref, Chats: c.Slack[i].Chats, Origins: c.Slack[i].Origins, Canonical: slack.Canonical,
			})
		}
	}
	for i := range c.Discord {
		if ref, ok := c.Discord[i].ref(); ok {
			accounts = append(accounts, deliveries.Account{
				Ref: ref, Chats: c.Discord[i].Chats, Origins: c.Discord[i].Origins, Canonical: discord.Canonical,
			})
		}
	}
	return accounts
}

// ButtonsOnly lists the bots in whose direct chats a plain reply to a card decides
// nothing (K19).
func (c *Config) ButtonsOnly() []core.AccountRef {
	var bots []core.AccountRef
	for i := range c.Telegram {
		if id, _, ok := strings.Cut(c.Telegram[i].Token.Reveal(), ":"); ok && c.Telegram[i].ButtonsOnly {
			bots = append(bots, core.AccountRef{Channel: core.SurfaceTelegram, Account: id})
		}
	}
	for i := range c.Slack {
		if ref, ok := c.Slack[i].ref(); ok && c.Slack[i].ButtonsOnly {
			bots = append(bots, ref)
		}
	}
	for i := range c.Discord {
		if ref, ok := c.Discord[i].ref(); ok && c.Discord[i].ButtonsOnly {
			bots = append(bots, ref)
		}
	}
	return bots
}

// allAccounts reports whether Accounts left none out.
func (c *Config) allAccounts(accounts []deliveries.Account) bool {
	return len(accounts) == len(c.Telegram)+len(c.Slack)+len(c.Discord)
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

// zeroClock stands in for the clock of a channel that is made to be checked only.
func zeroClock() time.Time { return time.Time{} }
