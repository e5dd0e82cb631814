package slack_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// manifest is the part of the app's manifest that the channel depends on.
type manifest struct {
	Features struct {
		AppHome struct {
			Messages bool `yaml:"messages_tab_enabled"`
			ReadOnly bool `yaml:"messages_tab_read_only_enabled"`
		} `yaml:"app_home"`
		Commands []struct {
			Command string `yaml:"command"`
		} `yaml:"slash_commands"`
	} `yaml:"features"`
	OAuth struct {
		Scopes map[string][]string `yaml:"scopes"`
	} `yaml:"oauth_config"`
	Settings struct {
		Events struct {
			Bot []string `yaml:"bot_events"`
		} `yaml:"event_subscriptions"`
		Interactivity struct {
			On bool `yaml:"is_enabled"`
		} `yaml:"interactivity"`
		SocketMode bool `yaml:"socket_mode_enabled"`
	} `yaml:"settings"`
}

func readManifest(t *testing.T) []byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "..", "docs", "slack-manifest.yaml"))
	require.NoError(t, err)
	return raw
}

// The manifest asks for what the channel uses and nothing else: in particular it reads
// no messages of shared channels (K19).
func TestManifestAsksForWhatIsNeeded(t *testing.T) {
	t.Parallel()
	var m manifest
	require.NoError(t, yaml.Unmarshal(readManifest(t), &m))
	require.Empty(t, cmp.Diff(map[string][]string{"bot": {"chat:write", "commands", "im:history", "im:write", "users:read"}}, m.OAuth.Scopes))
	require.Equal(t, []string{"message.im"}, m.Settings.Events.Bot)
	require.True(t, m.Settings.Interactivity.On)
	require.True(t, m.Settings.SocketMode)
	require.True(t, m.Features.AppHome.Messages)
	require.False(t, m.Features.AppHome.ReadOnly)
	require.Len(t, m.Features.Commands, 1)
	require.Equal(t, "/sayso", m.Features.Commands[0].Command)
}

// lenient is a pattern that Go's engine cannot read, which holds for everything.
type lenient string

func (l lenient) MatchString(string) bool { return true }
func (l lenient) String() string          { return string(l) }

// The manifest is one that the platform takes: by its own schema where that is at
// hand, and by being a map of the sections that it knows otherwise.
func TestManifestFitsTheSchema(t *testing.T) {
	t.Parallel()
	var v map[string]any
	require.NoError(t, yaml.Unmarshal(readManifest(t), &v))
	for section := range v {
		require.Contains(t, []string{"display_information", "features", "oauth_config", "settings"}, section)
	}
	folder := os.Getenv("SAYSO_SPECS")
	if folder == "" {
		return
	}
	c := jsonschema.NewCompiler()
	c.UseRegexpEngine(func(s string) (jsonschema.Regexp, error) {
		r, err := regexp.Compile(s)
		if err != nil {
			return lenient(s), nil // Two patterns look ahead.
		}
		return r, nil
	})
	schema, err := c.Compile(filepath.Join(folder, "slack", "app-manifest.schema.2.0.0.json"))
	require.NoError(t, err)
	require.NoError(t, schema.Validate(v))
}
