package webhooks_test

import (
	"encoding/base64"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/approvals"
	"github.com/saysohq/sayso/core/events/webhooks"
)

var _ approvals.Callbacks = (*webhooks.Runtimes)(nil)

// A callback has a host of its runtime's list, in whatever spelling, and no other.
func TestAllowed(t *testing.T) {
	t.Parallel()
	r := runtimes(t, nil, "hooks.example.com", "https://Other.example.com.:8443/", "http://plain.example.com")
	for _, address := range []string{
		"https://hooks.example.com", "https://hooks.example.com/any/path?and=query", "https://HOOKS.example.com.:443/x",
		"https://other.example.com:8443/", "http://plain.example.com/", "http://plain.example.com:80",
	} {
		require.NoError(t, r.Allowed("bot", address), address)
	}
	for _, address := range []string{
		"", "hooks.example.com", "//hooks.example.com/", "http://hooks.example.com/", "https://hooks.example.com:8443/", "https://plain.example.com/",
		"https://hooks.example.com.evil.example/", "https://evil.example/hooks.example.com", "https://hooks.example.com@evil.example/",
		"https://user:pass@hooks.example.com/", "https://hooks.example.com/#fragment", "https://hooks.example.com:/", "ftp://hooks.example.com/",
		"https:hooks.example.com", "https://hооks.example.com/", "https://hooks.example.com\t/", "https://hooks.example.com%2fx/", "https://127.0.0.1/",
		"https://[::1]/", "https://0x7f000001/", "https://xn--hks-example.com/",
	} {
		err := r.Allowed("bot", address)
		require.ErrorIs(t, err, core.ErrInvalid, address)
		var field *core.FieldError
		require.ErrorAs(t, err, &field)
		require.Equal(t, "callback_url", field.Field)
		if address != "" {
			require.NotContains(t, err.Error(), address)
		}
	}
	require.ErrorIs(t, r.Allowed("stranger", "https://hooks.example.com"), core.ErrInvalid)
	none, err := webhooks.NewRuntimes(nil)
	require.NoError(t, err)
	require.ErrorIs(t, none.Allowed("bot", "https://hooks.example.com"), core.ErrInvalid)
}

// Mistakes are found at the start, all at once, and no secret is repeated.
func TestRuntimesRefused(t *testing.T) {
	t.Parallel()
	good := webhooks.Runtime{Hosts: []string{"hooks.example.com"}, Secret: secret()}
	of := func(n int) string { return "whsec_" + base64.StdEncoding.EncodeToString(make([]byte, n)) }
	for what, change := range map[string]func(*webhooks.Runtime){
		"hosts":    func(r *webhooks.Runtime) { r.Hosts = nil },
		"hosts[0]": func(r *webhooks.Runtime) { r.Hosts = []string{"hooks.example.com/path"} },
		"hosts[1]": func(r *webhooks.Runtime) { r.Hosts = []string{"a.example", "u@b.example"} },
		"secret":   func(r *webhooks.Runtime) { r.Secret = "" },
		"secret: ": func(r *webhooks.Runtime) { r.Secret = "whsec_not base64 but of a length that would do" },
		"secret:":  func(r *webhooks.Runtime) { r.Secret = strings.TrimPrefix(secret(), "whsec_") },
		"bytes":    func(r *webhooks.Runtime) { r.Secret = of(23) },
		"of 24 to": func(r *webhooks.Runtime) { r.Secret = of(80) },
	} {
		c := good
		change(&c)
		_, err := webhooks.NewRuntimes(map[string]webhooks.Runtime{"bot": c})
		require.ErrorContains(t, err, what)
		require.ErrorContains(t, err, "runtime bot")
		if c.Secret != "" {
			require.NotContains(t, err.Error(), strings.TrimPrefix(c.Secret, "whsec_"))
		}
	}
	for _, n := range []int{24, 32, 64} {
		good.Secret = of(n)
		_, err := webhooks.NewRuntimes(map[string]webhooks.Runtime{"bot": good})
		require.NoError(t, err)
	}
}

// Which addresses are public, in every disguise.
func TestGuard(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"1.1.1.1", "93.184.216.34", "172.15.255.255", "172.32.0.0", "100.63.255.255", "2606:4700::1111", "::ffff:8.8.8.8"} {
		require.True(t, webhooks.Reachable(netip.MustParseAddr(address)), address)
	}
	for _, address := range []string{
		"0.0.0.0", "10.1.2.3", "100.64.0.1", "127.0.0.1", "127.255.255.255", "169.254.169.254", "172.16.0.1", "172.31.255.255", "192.168.1.1",
		"192.0.2.1", "198.18.0.1", "203.0.113.9", "224.0.0.1", "240.0.0.1", "255.255.255.255", "::", "::1", "fe80::1", "fe80::1%eth0", "fc00::1",
		"fd12::1", "ff02::1", "::ffff:10.0.0.1", "::ffff:127.0.0.1", "::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b:1::1", "2001::1", "2001:db8::1",
		"2002:7f00:1::", "3fff::1", "fec0::1", "100::1", "5f00::1",
	} {
		require.False(t, webhooks.Reachable(netip.MustParseAddr(address)), address)
		require.True(t, webhooks.Reachable(netip.MustParseAddr(address), netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")), address)
	}
	require.False(t, webhooks.Reachable(netip.Addr{}))
}
