package policy

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// Scope is what an always-allow rule is limited to (R70).
type Scope string

// The scopes, from narrow to wide.
const (
	ScopeRecipient Scope = "recipient" // One person or channel that is reached, and nobody beside it.
	ScopeHost      Scope = "host"      // One host.
	ScopeOperation Scope = "operation" // One operation of a tool; of an interpreter, one exact command.
	ScopeTool      Scope = "tool"      // The whole tool.
)

// Valid reports whether s is one of the closed set.
func (s Scope) Valid() bool {
	switch s {
	case ScopeRecipient, ScopeHost, ScopeOperation, ScopeTool:
		return true
	}
	return false
}

// Form is how recipients are spelled.
type Form string

// The forms.
const (
	FormEmail Form = "email" // Addresses; display names are dropped, plus-addresses kept.
	FormPhone Form = "phone" // International numbers: "+" and digits.
	FormName  Form = "name"  // Channel names, chat ids and the like, taken literally.
)

// Valid reports whether f is one of the closed set.
func (f Form) Valid() bool {
	switch f {
	case FormEmail, FormPhone, FormName:
		return true
	}
	return false
}

// Bounds of what is normalised, in bytes.
const (
	maxRecipient = 254 // The longest address that SMTP carries.
	maxHost      = 253 // The longest name in the DNS.
	maxURL       = 8 << 10
)

// NormalHost reduces the address that a call fetches to its host, and the port
// where it is not the scheme's own. Every disguise of one host gives the same
// value, or none: case, a trailing dot and the default port are dropped, IP
// addresses are written canonically; refused are user information, percent
// signs, names outside ASCII (their xn-- form is taken as it is), the many other
// spellings of an IPv4 address, zones, and schemes other than http and https.
func NormalHost(address string) (string, bool) {
	if len(address) > maxURL || strings.ContainsFunc(address, func(r rune) bool {
		return r <= ' ' || r == '\\' || r == 0x7f || r == 0xfffd
	}) {
		return "", false
	}
	u, err := url.Parse(address)
	if err != nil || u.User != nil || u.Opaque != "" || u.Host == "" || strings.Contains(authority(address), "%") {
		return "", false
	}
	own := ""
	switch u.Scheme { // url.Parse lower-cases it.
	case "http":
		own = "80"
	case "https":
		own = "443"
	default:
		return "", false
	}
	host, ok := normalName(u.Hostname())
	if !ok || !wellFormed(u.Host, u.Hostname(), u.Port()) {
		return "", false
	}
	if port := u.Port(); port != "" && port != own {
		n, err := strconv.ParseUint(port, 10, 16) // No other port exists.
		if err != nil || n == 0 {
			return "", false
		}
		port = strconv.FormatUint(n, 10)
		if port != own {
			if strings.Contains(host, ":") {
				host = "[" + host + "]"
			}
			return host + ":" + port, true
		}
	}
	return host, true
}

// authority is what stands between the slashes: url.Parse decodes what is in it.
func authority(address string) string {
	_, rest, _ := strings.Cut(address, "//")
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		return rest[:end]
	}
	return rest
}

// wellFormed reports whether host:port is spelled with nothing beside its parts.
func wellFormed(whole, host, port string) bool {
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return whole == host || whole == host+":"+port
}

// normalName is the one spelling of a host's name or IP address.
func normalName(host string) (string, bool) {
	if strings.Contains(host, ":") {
		ip, err := netip.ParseAddr(host)
		if err != nil || ip.Zone() != "" {
			return "", false
		}
		return ip.Unmap().String(), true
	}
	host = strings.TrimSuffix(host, ".")
	if host == "" || len(host) > maxHost {
		return "", false
	}
	host = strings.ToLower(host)
	last := host
	for label := range strings.SplitSeq(host, ".") {
		if !hostLabel(label) {
			return "", false
		}
		last = label
	}
	if last[0] < '0' || last[0] > '9' {
		return host, true
	}
	// A name that ends in a number is an IPv4 address, in one of many spellings; the
	// plain one is the only one whose meaning all programs agree about.
	ip, err := netip.ParseAddr(host)
	if err != nil || !ip.Is4() {
		return "", false
	}
	return ip.String(), true
}

func hostLabel(label string) bool {
	if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
		return false
	}
	for i := range len(label) {
		if c := label[i]; !isDigit(c) && (c < 'a' || c > 'z') && c != '-' && c != '_' {
			return false
		}
	}
	return true
}

// NormalRecipient reduces a recipient to the one spelling that rules compare:
// addresses lose their display name and are lower-cased, numbers lose blanks and
// punctuation. It refuses what two programs could read in two ways.
func NormalRecipient(s string, form Form) (string, bool) {
	s = strings.TrimSpace(s)
	if s == "" || len(s) > maxURL {
		return "", false
	}
	switch form {
	case FormEmail:
		return normalEmail(s)
	case FormPhone:
		return normalPhone(s)
	case FormName:
		return s, len(s) <= maxRecipient && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' || r == ',' || r == ';' })
	}
	return "", false
}

func normalEmail(s string) (string, bool) {
	if strings.HasSuffix(s, ">") { // Name <address>: the name is for eyes.
		name, address, ok := strings.Cut(s[:len(s)-1], "<")
		if !ok || strings.ContainsAny(name, `@<>,;"\()`) {
			return "", false
		}
		s = strings.TrimSpace(address)
	}
	local, domain, ok := strings.Cut(s, "@")
	if !ok || len(s) > maxRecipient || local == "" || len(local) > 64 ||
		local[0] == '.' || local[len(local)-1] == '.' || strings.Contains(local, "..") {
		return "", false
	}
	for i := range len(local) {
		if c := local[i] | 0x20; !isDigit(local[i]) && (c < 'a' || c > 'z') && !strings.ContainsRune(".#$&'*+/=?^_`{|}~-", rune(local[i])) {
			return "", false // Percent and exclamation marks are among them: they once routed mail.
		}
	}
	domain, ok = normalName(domain)
	if !ok || isDigit(domain[len(domain)-1]) && !strings.ContainsFunc(domain, func(r rune) bool { return r >= 'a' && r <= 'z' }) || strings.Contains(domain, ":") {
		return "", false
	}
	return strings.ToLower(local) + "@" + domain, true
}

func normalPhone(s string) (string, bool) {
	if s[0] != '+' {
		return "", false
	}
	out := make([]byte, 1, 16)
	out[0] = '+'
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case isDigit(c):
			out = append(out, c)
		case !strings.ContainsRune(" -.()/", rune(c)):
			return "", false
		}
	}
	return string(out), len(out) >= 8 && len(out) <= 16 // E.164: at most 15 digits.
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
