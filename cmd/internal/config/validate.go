package config

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"time"
)

// telegramToken is the published form of a bot token: the bot's id, a colon and
// 35 characters or more.
var telegramToken = regexp.MustCompile(`^[0-9]{5,16}:[A-Za-z0-9_-]{30,64}$`)

// telegramChat is a chat id, optionally with a topic id.
var telegramChat = regexp.MustCompile(`^-?[0-9]{1,16}(/[0-9]{1,16})?$`)

// webhookSecret is what Telegram accepts as a secret token: 1-256 characters.
var webhookSecret = regexp.MustCompile(`^[A-Za-z0-9_-]{1,256}$`)

func (c *Config) resolveSecrets() error {
	faults := []error{
		resolveSecret("postgres.dsn", &c.Postgres.DSN, c.Postgres.DSNFile),
		resolveSecret("postgres.migrate_dsn", &c.Postgres.MigrateDSN, c.Postgres.MigrateDSNFile),
		resolveSecret("redis.url", &c.Redis.URL, c.Redis.URLFile),
	}
	for i := range c.Telegram {
		t := &c.Telegram[i]
		name := fmt.Sprintf("telegram[%d]", i)
		faults = append(faults,
			resolveSecret(name+".token", &t.Token, t.TokenFile),
			resolveSecret(name+".webhook_secret", &t.WebhookSecret, t.WebhookSecretFile))
	}
	for i := range c.Slack {
		s := &c.Slack[i]
		name := fmt.Sprintf("slack[%d]", i)
		faults = append(faults,
			resolveSecret(name+".bot_token", &s.BotToken, s.BotTokenFile),
			resolveSecret(name+".app_token", &s.AppToken, s.AppTokenFile),
			resolveSecret(name+".signing_secret", &s.SigningSecret, s.SigningSecretFile))
	}
	for i := range c.Callbacks {
		faults = append(faults, resolveSecret(fmt.Sprintf("callbacks[%d].secret", i), &c.Callbacks[i].Secret, c.Callbacks[i].SecretFile))
	}
	for i := range c.Discord {
		faults = append(faults, resolveSecret(fmt.Sprintf("discord[%d].token", i), &c.Discord[i].Token, c.Discord[i].TokenFile))
	}
	return errors.Join(faults...)
}

// Validate returns every fault, joined.
func (c *Config) Validate() error {
	return errors.Join(c.validateAddress(), c.validatePublicURL(), c.validateRest(), c.validateFleet(), c.validatePolicy(), c.validateCallbacks(), c.validateTelegram(), c.validateSlack(), c.validateDiscord(), c.validateRoutes())
}

func (c *Config) validateAddress() error {
	host, _, err := net.SplitHostPort(c.Listen)
	if err != nil {
		return errors.New("listen: must be host:port")
	}
	if loopback(host) || c.InsecureHTTP {
		return nil
	}
	return errors.New("listen: plain HTTP off loopback needs insecure_http: true (put a TLS proxy in front)")
}

func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}

func (c *Config) validatePublicURL() error {
	if c.PublicURL == "" {
		return nil
	}
	u, err := url.Parse(c.PublicURL)
	switch {
	case err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http"):
		return errors.New("public_url: must be an absolute http or https address")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.Opaque != "":
		return errors.New("public_url: must have no user, query or fragment")
	case u.Scheme == "http" && !loopback(u.Hostname()) && !c.InsecureHTTP:
		return errors.New("public_url: plain HTTP off loopback needs insecure_http: true")
	}
	c.PublicURL = strings.TrimRight(c.PublicURL, "/")
	return nil
}

func (c *Config) validateRest() error {
	var faults []error
	if _, err := time.LoadLocation(c.Timezone); err != nil || c.Timezone == "" {
		faults = append(faults, errors.New("timezone: must be an IANA name such as Europe/Berlin"))
	}
	switch c.Log.Level {
	case "debug", "info", "warn", "error":
	default:
		faults = append(faults, errors.New("log.level: must be debug, info, warn or error"))
	}
	switch c.Log.Format {
	case "", "json", "text":
	default:
		faults = append(faults, errors.New("log.format: must be json or text"))
	}
	if c.Limits.Pending < 1 || c.Limits.RequestsPerS <= 0 || c.Limits.RequestsBurst < 1 {
		faults = append(faults, errors.New("limits: must be above zero"))
	}
	return errors.Join(faults...)
}

// validatePolicy looks at the names of the files; what is in them is the policy's.
func (c *Config) validatePolicy() error {
	var faults []error
	if len(c.Policy.Tables) > maxTables {
		faults = append(faults, fmt.Errorf("policy.tables: must be at most %d files", maxTables))
	}
	seen := map[string]bool{c.Policy.Organisation: true}
	for i, path := range c.Policy.Tables {
		switch {
		case path == "":
			faults = append(faults, fmt.Errorf("policy.tables[%d]: must be the path of a file", i))
		case seen[path]:
			faults = append(faults, fmt.Errorf("policy.tables[%d]: is listed already", i))
		}
		seen[path] = true
	}
	return errors.Join(faults...)
}

func (c *Config) validateTelegram() error {
	var faults []error
	seen := map[string]bool{}
	for i := range c.Telegram {
		t := &c.Telegram[i]
		fault := func(field, rule string) {
			faults = append(faults, fmt.Errorf("telegram[%d].%s: %s", i, field, rule))
		}
		if t.Token == "" {
			if t.TokenFile == "" { // An unreadable file was reported already.
				fault("token", "is required (or token_file)")
			}
			continue
		}
		if !telegramToken.MatchString(t.Token.Reveal()) {
			fault("token", "is not a bot token (digits, a colon, 35 characters)")
		}
		id, _, _ := strings.Cut(t.Token.Reveal(), ":")
		if seen[id] {
			fault("token", "belongs to a bot that is listed already")
		}
		seen[id] = true
		const rule = "must be a chat id, or chat id/topic id"
		faults = append(faults,
			chats(t.Chats, fmt.Sprintf("telegram[%d].chats", i), canonicalTelegram, rule),
			chats(t.Origins, fmt.Sprintf("telegram[%d].origins", i), canonicalTelegram, rule))
		if t.WebhookSecret != "" && !webhookSecret.MatchString(t.WebhookSecret.Reveal()) {
			fault("webhook_secret", "must be 1-256 of A-Z a-z 0-9 _ -")
		}
		if t.WebhookSecret != "" && !strings.HasPrefix(c.PublicURL, "https://") {
			fault("webhook_secret", "needs an https public_url")
		}
	}
	return errors.Join(faults...)
}
