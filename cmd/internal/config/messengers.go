package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/saysohq/sayso/channels/discord"
	"github.com/saysohq/sayso/channels/slack"
	"github.com/saysohq/sayso/core"
)

// Slack is one app in one workspace.
type Slack struct {
	BotToken     Secret `koanf:"bot_token"` // "xoxb-...".
	BotTokenFile string `koanf:"bot_token_file"`
	// AppToken ("xapp-...") receives by Socket Mode, which needs no public address.
	AppToken     Secret `koanf:"app_token"`
	AppTokenFile string `koanf:"app_token_file"`
	// SigningSecret receives signed pushes at {public_url}/webhooks/slack/{app}
	// instead. Exactly one of the two is given.
	SigningSecret     Secret `koanf:"signing_secret"`
	SigningSecretFile string `koanf:"signing_secret_file"`

	Team    string   `koanf:"team"`    // "T...": the workspace.
	App     string   `koanf:"app"`     // "A..."; default: the app of the app token.
	Chats   []string `koanf:"chats"`   // Channels told of everything: "C0123", or "C0123/<ts>" for a thread.
	Origins []string `koanf:"origins"` // Channels that a request may name as the one it came from.
	APIURL  string   `koanf:"api_url"` // Default https://slack.com/api/.
	Unpaced bool     `koanf:"unpaced"` // Never wait for the platform's budgets, for a fake server.
	// ButtonsOnly makes a plain reply to a card in a direct chat decide nothing (K19).
	ButtonsOnly bool `koanf:"buttons_only"`
}

// Channel is the configuration of the channel itself; the wiring adds the rest.
func (s *Slack) Channel() slack.Config {
	return slack.Config{
		BotToken: s.BotToken.Reveal(), AppToken: s.AppToken.Reveal(), SigningSecret: s.SigningSecret.Reveal(),
		Team: s.Team, App: s.App, APIBase: s.APIURL,
	}
}

// Discord is one application.
type Discord struct {
	Token         Secret `koanf:"token"` // The bot's token.
	TokenFile     string `koanf:"token_file"`
	ApplicationID string `koanf:"application_id"` // Default: read from the token.
	// PublicKey receives signed pushes at {public_url}/webhooks/discord/{application}
	// instead of connecting to the gateway; 64 hex digits.
	PublicKey string   `koanf:"public_key"`
	Chats     []string `koanf:"chats"`   // Channels or threads told of everything, by id.
	Origins   []string `koanf:"origins"` // Channels that a request may name as the one it came from.
	APIURL    string   `koanf:"api_url"` // Default https://discord.com/api/v10.
	Unpaced   bool     `koanf:"unpaced"` // Never wait for the platform's budgets, for a fake server.
	// ButtonsOnly makes a plain reply to a card in a direct chat decide nothing (K19).
	ButtonsOnly bool `koanf:"buttons_only"`
}

// Channel is the configuration of the channel itself; the wiring adds the rest.
func (d *Discord) Channel() discord.Config {
	return discord.Config{
		Token: d.Token.Reveal(), ApplicationID: d.ApplicationID, PublicKey: d.PublicKey, APIBase: d.APIURL,
	}
}

// ref is the account that a sound entry names; false for one that names none.
func (s *Slack) ref() (core.AccountRef, bool) {
	cfg := s.Channel()
	cfg.Now = zeroClock
	c, err := slack.New(cfg, nil)
	if err != nil {
		return core.AccountRef{}, false
	}
	return c.Ref(), true
}

func (d *Discord) ref() (core.AccountRef, bool) {
	c, err := discord.New(d.Channel(), nil)
	if err != nil {
		return core.AccountRef{}, false
	}
	return c.Ref(), true
}

// validateSlack holds each entry to the channel's own rules, so that there is one
// set of them.
func (c *Config) validateSlack() error {
	var faults []error
	var seen []core.AccountRef
	for i := range c.Slack {
		s := &c.Slack[i]
		at := fmt.Sprintf("slack[%d]", i)
		cfg := s.Channel()
		cfg.Now = zeroClock
		made, err := slack.New(cfg, nil)
		faults = append(faults, placed(at, err),
			chats(s.Chats, at+".chats", slack.Canonical, "must be a channel id, or channel id/ts of a thread"),
			chats(s.Origins, at+".origins", slack.Canonical, "must be a channel id, or channel id/ts of a thread"))
		if s.SigningSecret != "" && !strings.HasPrefix(c.PublicURL, "https://") {
			faults = append(faults, errors.New(at+".signing_secret: needs an https public_url"))
		}
		if err != nil {
			continue
		}
		if slices.Contains(seen, made.Ref()) {
			faults = append(faults, errors.New(at+": is listed already"))
		}
		seen = append(seen, made.Ref())
	}
	return errors.Join(faults...)
}

func (c *Config) validateDiscord() error {
	var faults []error
	var seen []core.AccountRef
	for i := range c.Discord {
		d := &c.Discord[i]
		at := fmt.Sprintf("discord[%d]", i)
		made, err := discord.New(d.Channel(), nil)
		faults = append(faults, placed(at, err),
			chats(d.Chats, at+".chats", discord.Canonical, "must be the id of a channel or thread"),
			chats(d.Origins, at+".origins", discord.Canonical, "must be the id of a channel or thread"))
		if d.PublicKey != "" && !strings.HasPrefix(c.PublicURL, "https://") {
			faults = append(faults, errors.New(at+".public_key: needs an https public_url"))
		}
		if err != nil {
			continue
		}
		if slices.Contains(seen, made.Ref()) {
			faults = append(faults, errors.New(at+": is listed already"))
		}
		seen = append(seen, made.Ref())
	}
	return errors.Join(faults...)
}

// placed names the entry that a channel's own check refused. Its errors never hold
// a value.
func placed(at string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s.%w", at, err)
}

// chats trims and checks a list of addresses.
func chats(list []string, name string, canonical func(string) (string, bool), rule string) error {
	var faults []error
	var seen []string
	for i := range list {
		list[i] = strings.TrimSpace(list[i])
		address, ok := canonical(list[i])
		switch {
		case !ok:
			faults = append(faults, fmt.Errorf("%s[%d]: %s", name, i, rule))
		case slices.Contains(seen, address):
			faults = append(faults, fmt.Errorf("%s[%d]: is listed already", name, i))
		}
		seen = append(seen, address)
	}
	return errors.Join(faults...)
}
