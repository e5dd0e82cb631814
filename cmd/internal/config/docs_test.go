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
	secret := filepath.Join(t.TempDir(), "bot")
	require.NoError(t, os.WriteFile(secret, []byte(token+"\n"), 0o600))
	// The guide says of this one that it needs an account that this test has not.
	const needsSlack = "order: [slack, telegram]"
	for guide, examples := range map[string]int{"routing.md": 3, "configuration.md": 1} {
		text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", guide))
		require.NoError(t, err)
		blocks := strings.Split(string(text), "```yaml\n")[1:]
		require.Len(t, blocks, examples, guide)
		for i, block := range blocks {
			block, _, _ = strings.Cut(block, "```")
			block = strings.ReplaceAll(block, "/run/secrets/bot", secret)
			block = strings.ReplaceAll(block, needsSlack, "order: [telegram]")
			_, err := config.Load(write(t, block), []string{"HOME=/h"}, nil)
			require.NoError(t, err, "%s, example %d", guide, i+1)
		}
	}
}
