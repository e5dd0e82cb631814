package policy_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core/policy"
)

// R70: every disguise of a host is the host, or nothing.
func TestHostsInDisguise(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"https://example.com":                  "example.com",
		"https://EXAMPLE.com./a?b#c":           "example.com",
		"HTTPS://example.com:443/":             "example.com",
		"https://example.com:0443/":            "example.com",
		"https://example.com:/":                "example.com",
		"http://example.com:80":                "example.com",
		"http://example.com:443":               "example.com:443",
		"https://example.com:8443/":            "example.com:8443",
		"https://xn--bcher-kva.example/":       "xn--bcher-kva.example",
		"https://127.0.0.1/":                   "127.0.0.1",
		"https://127.0.0.1./":                  "127.0.0.1",
		"https://[::1]/":                       "::1",
		"https://[0:0::1]:8443/":               "[::1]:8443",
		"https://[::ffff:127.0.0.1]/":          "127.0.0.1",
		"https://example.com/@evil.example":    "example.com",
		"https://example.com?x=a@evil.example": "example.com",
		"https://example.com/%2e%2e":           "example.com",
		"https://a_b.example.com":              "a_b.example.com",

		"https://user@example.com/":                       "",
		"https://example.com:443@evil.example":            "",
		"https://example.com\\@evil.example":              "",
		"https://exa%6dple.com/":                          "",
		"https://example.com%2eevil.example":              "",
		"https://bücher.example/":                         "",
		"https://example。com/":                            "",
		"https://exam\u00adple.com/":                      "",
		"https://example.com ":                            "",
		"https://exam\tple.com":                           "",
		"https://0x7f.0.0.1/":                             "",
		"https://127.1/":                                  "",
		"https://2130706433/":                             "",
		"https://0177.0.0.1/":                             "",
		"https://127.0.0.01/":                             "",
		"https://1.2.3.4.5/":                              "",
		"https://[fe80::1%25eth0]/":                       "",
		"https://[::1/":                                   "",
		"https://-a.example/":                             "",
		"https://a..example/":                             "",
		"https://" + strings.Repeat("a", 64) + ".example": "",
		"https://example.com:0/":                          "",
		"https://example.com:99999999/":                   "",
		"https://example.com:65536/":                      "",
		"ftp://example.com/":                              "",
		"file:///etc/passwd":                              "",
		"javascript:alert(1)":                             "",
		"https:example.com":                               "",
		"//example.com/":                                  "",
		"example.com":                                     "",
		"https://":                                        "",
		"":                                                "",
	} {
		got, ok := policy.NormalHost(address)
		require.Equal(t, want, got, address)
		require.Equal(t, want != "", ok, address)
		if !ok {
			continue
		}
		scheme := "https://"
		if strings.HasSuffix(want, ":443") { // The port of one scheme is an odd one of the other.
			scheme = "http://"
		}
		if strings.Count(want, ":") > 1 && want[0] != '[' {
			want = "[" + want + "]"
		}
		again, ok := policy.NormalHost(scheme + want)
		require.True(t, ok, want)
		require.Equal(t, got, again, "normalising again changes nothing")
	}
}

// R70: recipients lose their display name and keep what tells mailboxes apart.
func TestRecipientsInDisguise(t *testing.T) {
	t.Parallel()
	for form, cases := range map[policy.Form]map[string]string{
		policy.FormEmail: {
			"ann@example.com":                          "ann@example.com",
			" Ann@Example.COM. ":                       "ann@example.com",
			"Ann Example <ann@example.com>":            "ann@example.com",
			"<ann@example.com>":                        "ann@example.com",
			"ann+sales@example.com":                    "ann+sales@example.com",
			"o'hara@example.com":                       "o'hara@example.com",
			`"Ann" <ann@example.com>`:                  "",
			`"ann"@example.com`:                        "",
			"ann@example.com@evil.example":             "",
			"ann@example.com <eve@evil.example>":       "",
			"Ann <eve@evil.example> <ann@example.com>": "",
			"ann%evil.example@example.com":             "",
			"evil.example!ann@example.com":             "",
			"ann@example.com\r\nBcc: eve@x.example":    "",
			"ann@example.com,eve@evil.example":         "",
			"ann(eve)@example.com":                     "",
			"ann@[127.0.0.1]":                          "",
			"ann@127.0.0.1":                            "",
			"änn@example.com":                          "",
			"ann@bücher.example":                       "",
			"ann\u200b@example.com":                    "",
			".ann@example.com":                         "",
			"a..n@example.com":                         "",
			"@example.com":                             "",
			"ann@":                                     "",
			"ann":                                      "",
			strings.Repeat("a", 65) + "@example.com":   "",
		},
		policy.FormPhone: {
			"+43 660 / 123-45.67": "+436601234567", "+1 (555) 000-1111": "+15550001111",
			"0660 1234567": "", "+43": "", "+1234567890123456": "", "+43660x12345": "", "+٤٣٦٦٠١٢٣٤٥": "",
		},
		policy.FormName: {
			"#ops": "#ops", " C0123ABC ": "C0123ABC", "-1001234567890": "-1001234567890",
			"a b": "", "a,b": "", "#öps": "", "a\u200b": "", "": "",
		},
		"other": {"ann@example.com": ""},
	} {
		for recipient, want := range cases {
			got, ok := policy.NormalRecipient(recipient, form)
			require.Equal(t, want != "", ok, "%s %q", form, recipient)
			if ok {
				require.Equal(t, want, got, "%s %q", form, recipient)
				again, ok := policy.NormalRecipient(got, form)
				require.True(t, ok)
				require.Equal(t, got, again)
			}
		}
	}
}
