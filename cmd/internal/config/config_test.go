package config_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/cmd/internal/config"
	"github.com/saysohq/sayso/core"
)

const token = "123456789:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sayso.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestDefaultsNeedNothing(t *testing.T) {
	t.Parallel()
	cfg, err := config.Load("", []string{"HOME=/home/somebody"}, nil)
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1:7788", cfg.Listen)
	require.Equal(t, "/home/somebody/.local/state/sayso", cfg.Data)
}

func TestFileEnvironmentFlagInThisOrder(t *testing.T) {
	t.Parallel()
	path := write(t, "listen: 127.0.0.1:1111\ntimezone: Europe/Berlin\nlog: {level: warn}\n")
	cfg, err := config.Load(path, []string{"HOME=/h", "SAYSO_LISTEN=127.0.0.1:2222", "SAYSO_LOG__FORMAT=text"},
		func(c *config.Config) { c.Data = "/flag" })
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1:2222", cfg.Listen)
	require.Equal(t, "Europe/Berlin", cfg.Timezone)
	require.Equal(t, config.Log{Level: "warn", Format: "text"}, cfg.Log)
	require.Equal(t, "/flag", cfg.Data)
}

func TestSecretsNeverPrint(t *testing.T) {
	t.Parallel()
	cfg, err := config.Load("", []string{"HOME=/h", "SAYSO_TELEGRAM_TOKEN=" + token}, nil)
	require.NoError(t, err)
	require.Equal(t, token, cfg.Telegram[0].Token.Reveal())
	b, err := json.Marshal(cfg)
	require.NoError(t, err)
	for _, text := range []string{fmt.Sprint(cfg), fmt.Sprintf("%+v", cfg), fmt.Sprintf("%#v", cfg), string(b), cfg.Telegram[0].Token.LogValue().String()} {
		require.NotContains(t, text, "AAAA")
	}
}

func TestSecretFileTwin(t *testing.T) {
	t.Parallel()
	secret := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(secret, []byte(token+"\n"), 0o600))
	cfg, err := config.Load(write(t, "telegram: [{token_file: "+secret+", chats: ['-100123', '-100123/5']}]"), []string{"HOME=/h"}, nil)
	require.NoError(t, err)
	require.Equal(t, token, cfg.Telegram[0].Token.Reveal())

	_, err = config.Load(write(t, "telegram: [{token: '"+token+"', token_file: "+secret+"}]"), []string{"HOME=/h"}, nil)
	require.ErrorContains(t, err, "give only one of the two")
}

func TestFaults(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"nonsense: 1":                                       "unknown keys",
		"log: {colour: red}":                                "unknown keys",
		"listen: nowhere":                                   "listen: must be host:port",
		"listen: 0.0.0.0:80":                                "needs insecure_http",
		"public_url: example.com":                           "public_url: must be an absolute",
		"public_url: http://example.com":                    "plain HTTP off loopback",
		"public_url: https://u:p@example.com":               "no user",
		"timezone: Mars":                                    "timezone: must be an IANA name",
		"log: {level: loud}":                                "log.level",
		"limits: {pending: 0}":                              "limits: must be above zero",
		"limits: {pending: many}":                           "wrong type",
		"telegram: [{}]":                                    "telegram[0].token: is required",
		"telegram: [{token: xyz}]":                          "is not a bot token",
		"telegram: [{token: '" + token + "', chats: [me]}]": "chats[0]",
		"telegram: [{token: '" + token + "'}, {token: '" + token + "'}]": "listed already",
		"telegram: [{token: '" + token + "', webhook_secret: s}]":        "https public_url",
		"telegram: [{token_file: /does/not/exist}]":                      "cannot be read",
		"{": "not valid YAML",
	} {
		_, err := config.Load(write(t, text), []string{"HOME=/h"}, nil)
		require.ErrorContains(t, err, want, text)
		require.NotContains(t, err.Error(), "AAAA", text)
	}
}

func TestAllFaultsAtOnce(t *testing.T) {
	t.Parallel()
	_, err := config.Load(write(t, "listen: nowhere\ntimezone: Mars\nlog: {level: loud}"), []string{"HOME=/h"}, nil)
	for _, want := range []string{"listen", "timezone", "log.level"} {
		require.ErrorContains(t, err, want)
	}
}

const (
	slackEntry   = "slack: [{bot_token: xoxb-1-A, app_token: xapp-1-A0123-1-x, team: T0123, chats: [C0123, C0123/1700000000.000100]}]"
	discordToken = "MTAwMjAwMzAwNDAwNTAwNjAw.AAAAAA.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
)

// TestMessengers: each entry is held to its channel's own rules, faults name the
// entry and the field, and no fault holds a secret.
// K19: each bot can be told to take no plain reply for an answer.
func TestButtonsOnly(t *testing.T) {
	t.Parallel()
	for _, on := range []bool{true, false} {
		text := fmt.Sprintf("telegram: [{token: %q, buttons_only: %t}]\n", token, on) +
			strings.Replace(slackEntry, "team:", fmt.Sprintf("buttons_only: %t, team:", on), 1) +
			fmt.Sprintf("\ndiscord: [{token: %s, buttons_only: %t}]", discordToken, on)
		cfg, err := config.Load(write(t, text), []string{"HOME=/h"}, nil)
		require.NoError(t, err)
		var want []core.AccountRef
		if accounts := cfg.Accounts(); on {
			for i := range accounts {
				want = append(want, accounts[i].Ref)
			}
			require.Len(t, want, 3)
		}
		require.Equal(t, want, cfg.ButtonsOnly())
	}
}

func TestMessengers(t *testing.T) {
	t.Parallel()
	cfg, err := config.Load(write(t, slackEntry+"\ndiscord: [{token: "+discordToken+", chats: ['100200300400500600']}]"), []string{"HOME=/h"}, nil)
	require.NoError(t, err)
	require.Len(t, cfg.Accounts(), 2)
	require.NotContains(t, fmt.Sprintf("%+v", cfg), "xoxb")
	require.NotContains(t, fmt.Sprintf("%+v", cfg), "AAAAA")

	for text, want := range map[string]string{
		"slack: [{team: T1}]":                                                                       "slack[0].bot_token",
		"slack: [{bot_token: xoxb-1-A, team: T0123}]":                                               "slack[0].app_token",
		"slack: [{bot_token: xoxb-1-A, app_token: xapp-1-A0123-1-x}]":                               "slack[0].team",
		"slack: [{bot_token: xoxb-1-A, signing_secret: 0123456789abcdef, team: T0123, app: A0123}]": "https public_url",
		"slack: [{bot_token: xoxb-1-A, app_token: xapp-1-A0123-1-x, team: T0123, chats: [U0123]}]":  "slack[0].chats[0]",
		"slack: [{bot_token: xoxb-1-A, bot_token_file: x}]":                                         "give only one",
		"discord: [{token: nonsense}]":                                                              "discord[0].token",
		"discord: [{token: " + discordToken + ", chats: ['@100200300400500600']}]":                  "discord[0].chats[0]",
		"discord: [{token: " + discordToken + ", public_key: abc}]":                                 "discord[0].public_key",
		"discord: [{token: " + discordToken + "}, {token: " + discordToken + "}]":                   "discord[1]: is listed already",
	} {
		_, err := config.Load(write(t, text), []string{"HOME=/h"}, nil)
		require.ErrorContains(t, err, want, text)
		require.NotContains(t, err.Error(), "xoxb-1", text)
	}
}
