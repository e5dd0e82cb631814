package config_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/cmd/internal/config"
)

var callbackSecret = "whsec_" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat("s", 32)))

func TestCallbacks(t *testing.T) {
	t.Parallel()
	cfg, err := config.Load(write(t, `
callbacks:
  - runtime: agents
    hosts: [hooks.example.com, "http://10.1.2.3:9000"]
    secret: `+callbackSecret+`
    networks: [10.1.0.0/16]
`), []string{"HOME=/h"}, nil)
	require.NoError(t, err)
	require.NotContains(t, fmt.Sprint(cfg), callbackSecret)
	list, err := cfg.Webhooks()
	require.NoError(t, err)
	require.NoError(t, list.Allowed("agents", "https://hooks.example.com/x"))
	require.Error(t, list.Allowed("agents", "https://elsewhere.example.com/x"))
	require.Error(t, list.Allowed("others", "https://hooks.example.com/x"))

	_, err = config.Load(write(t, `
callbacks:
  - {runtime: Agents, hosts: [hooks.example.com], secret: `+callbackSecret+`}
  - {runtime: a, hosts: [], secret: `+callbackSecret+`}
  - {runtime: a, hosts: [hooks.example.com/x], secret: whsec_c2hvcnQ=, networks: [10.1.2.3/16]}
  - {runtime: b, hosts: [hooks.example.com]}
`), []string{"HOME=/h"}, nil)
	for _, fault := range []string{
		"callbacks[0]: runtime: must be the name", "callbacks[1]: runtime a: hosts: must name", "callbacks[2]: runtime: has its callbacks already",
		"callbacks[2]: networks[0]", "hosts[0]: must be a host", "callbacks[3]: runtime b: secret",
	} {
		require.ErrorContains(t, err, fault)
	}
	require.NotContains(t, err.Error(), "c2hvcnQ")
}
