package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/cmd/internal/config"
)

// Every example in the guides is a configuration that starts.
func TestDocumentedConfigurationIsValid(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for name, secret := range map[string]string{
		"bot": token, "slack-bot": "xoxb-1-A", "slack-app": "xapp-1-A0123-1-x", "slack-signing": strings.Repeat("5e", 16), "discord": discordToken,
		"postgres": dsn, "redis": redisURL, "callbacks": callbackSecret,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(secret+"\n"), 0o600))
	}
	for guide, examples := range map[string]int{"routing.md": 3, "configuration.md": 1, "agents.md": 1, "slack.md": 3, "discord.md": 3} {
		text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", guide))
		require.NoError(t, err)
		blocks := strings.Split(string(text), "```yaml\n")[1:]
		require.Len(t, blocks, examples, guide)
		for i, block := range blocks {
			block, _, _ = strings.Cut(block, "```")
			block = strings.ReplaceAll(block, "/run/secrets", folder)
			_, err := config.Load(write(t, block), []string{"HOME=/h"}, nil)
			require.NoError(t, err, "%s, example %d", guide, i+1)
		}
	}
}
