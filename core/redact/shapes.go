package redact

import (
	"encoding/base64"
	"strings"
)

// charset says which bytes belong to the body of a token.
type charset uint8

const (
	alnum      charset = iota // A-Z a-z 0-9
	word                      // alnum _
	urlish                    // word -
	dotted                    // urlish .
	base                      // dotted + / =
	base64only                // alnum + / =
	hexLow                    // 0-9 a-f
	upper                     // A-Z 0-9
)

func (c charset) has(b byte) bool {
	switch {
	case isDigit(b):
		return true
	case b >= 'a' && b <= 'z':
		return c != upper && (c != hexLow || b <= 'f')
	case b >= 'A' && b <= 'Z':
		return c != hexLow
	case b == '_':
		return c == word || c == urlish || c == dotted || c == base
	case b == '-':
		return c == urlish || c == dotted || c == base
	case b == '.':
		return c == dotted || c == base
	case b == '+', b == '/', b == '=':
		return c == base || c == base64only
	}
	return false
}

// shape is a published form of a token: a prefix and at least min bytes of body.
type shape struct {
	prefix string
	body   charset
	min    int
	// loose shapes have a prefix that nothing else has, so they need no boundary
	// before them; the others start at the beginning of a word.
	loose bool
}

// shapes are the published forms by the first byte of their prefix. They are those
// that the issuers give to secret scanners; minimum lengths are below the
// published ones, because half a token is worth hiding too.
var shapes = [128][]shape{
	'g': {
		{"ghp_", word, 16, true},
		{"gho_", word, 16, true},
		{"ghu_", word, 16, true},
		{"ghs_", dotted, 16, true},
		{"ghr_", word, 16, true},
		{"github_pat_", word, 16, true},
		{"glpat-", dotted, 16, true},
		{"gldt-", dotted, 16, true},
		{"glrt-", dotted, 16, true},
		{"glcbt-", dotted, 16, true},
		{"glptt-", dotted, 16, true},
		{"gloas-", dotted, 16, true},
		{"glsoat-", dotted, 16, true},
		{"glagent-", dotted, 16, true},
		{"gsk_", alnum, 20, false},
		{"glsa_", word, 20, true},
		{"glc_", base, 20, false},
	},
	'x': {
		{"xoxb-", urlish, 8, true},
		{"xoxp-", urlish, 8, true},
		{"xoxa-", urlish, 8, true},
		{"xoxr-", urlish, 8, true},
		{"xoxs-", urlish, 8, true},
		{"xoxe-", urlish, 8, true},
		{"xoxe.xox", urlish, 8, true},
		{"xoxc-", urlish, 8, true},
		{"xoxd-", base, 8, true},
		{"xapp-", urlish, 8, true},
		{"xai-", alnum, 20, false},
	},
	's': {
		{"sk_live_", word, 8, true},
		{"sk_test_", word, 8, true},
		{"sk-ant-", urlish, 8, true},
		{"sk-", urlish, 20, false},
		{"shpat_", alnum, 16, true},
		{"shpss_", alnum, 16, true},
		{"shpca_", alnum, 16, true},
		{"shppa_", alnum, 16, true},
		{"sbp_", alnum, 20, false},
		{"sntrys_", base, 16, true},
		{"sayso_rt_", urlish, 8, true},
		{"sayso_ss_", urlish, 8, true},
		{"sq0atp-", urlish, 16, true},
		{"sq0csp-", urlish, 16, true},
	},
	'A': {
		{"AKIA", upper, 16, false},
		{"ASIA", upper, 16, false},
		{"ABIA", upper, 16, false},
		{"AIza", urlish, 30, true},
		{"AGE-SECRET-KEY-1", upper, 16, true},
		{"ATATT3x", base, 16, true},
	},
	'G': {
		{"GOCSPX-", urlish, 16, true},
	},
	'S': {
		{"SG.", dotted, 32, false},
	},
	'F': {
		{"FlyV1 fm2_", base, 16, true},
	},
	'N': {
		{"NRAK-", alnum, 16, false},
	},
	'P': {
		{"PMAK-", urlish, 20, false},
	},
	'a': {
		{"atlasv1.", dotted, 20, false},
	},
	'd': {
		{"dckr_pat_", urlish, 16, true},
		{"dckr_oat_", urlish, 16, true},
		{"dop_v1_", alnum, 16, true},
		{"doo_v1_", alnum, 16, true},
		{"dor_v1_", alnum, 16, true},
		{"dapi", hexLow, 32, false},
		{"dp.pt.", alnum, 16, false},
		{"dp.st.", dotted, 16, false},
	},
	'f': {
		{"figd_", urlish, 16, true},
	},
	'h': {
		{"hf_", alnum, 20, false}, {"hvs.", urlish, 16, false}, {"hvb.", urlish, 16, false},
	},
	'l': {
		{"lin_api_", alnum, 16, true},
	},
	'n': {
		{"npm_", alnum, 16, true}, {"ntn_", alnum, 20, false},
	},
	'p': {
		{"pypi-", urlish, 16, true},
		{"pplx-", alnum, 20, false},
		{"phx_", alnum, 20, false},
		{"pul-", hexLow, 32, false},
	},
	'r': {
		{"rk_live_", word, 8, true},
		{"rk_test_", word, 8, true},
		{"rubygems_", alnum, 16, true},
		{"r8_", alnum, 20, false},
	},
	't': {
		{"tskey-", urlish, 16, true},
	},
	'w': {
		{"whsec_", base, 16, true},
	},
	'y': {
		{"ya29.", urlish, 16, false},
	},
}

// shapeAt returns the end of the token that starts at i, or 0.
func shapeAt(s string, i int) int {
	c := s[i]
	if c >= 128 {
		return 0
	}
	start := i == 0 || !alnum.has(s[i-1])
	for _, sh := range shapes[c] {
		if end := sh.match(s, i, start); end > 0 {
			return end
		}
	}
	end := 0
	switch {
	case c == 'e':
		end = jwtAt(s, i)
	case c == '-':
		end = pemAt(s, i)
	case isDigit(c):
		end = telegramAt(s, i)
	}
	if end == 0 && (i == 0 || !base.has(s[i-1])) {
		end = randomAt(s, i)
	}
	return end
}

func (sh shape) match(s string, i int, start bool) int {
	if !sh.loose && !start || !strings.HasPrefix(s[i:], sh.prefix) {
		return 0
	}
	end := run(s, i+len(sh.prefix), sh.body)
	if end-i-len(sh.prefix) < sh.min {
		return 0
	}
	if sh.prefix == "sk-" && !strings.ContainsAny(s[i:end], "0123456789") {
		return 0 // Kebab-case words.
	}
	return end
}

// run is the end of the bytes from i on that are in set.
func run(s string, i int, set charset) int {
	for i < len(s) && set.has(s[i]) {
		i++
	}
	return i
}

// jwtAt finds a JSON web token: a header that starts `{"`, a payload and a
// signature, which may be empty or missing at a cut.
func jwtAt(s string, i int) int {
	if !strings.HasPrefix(s[i:], "eyJ") || i > 0 && urlish.has(s[i-1]) {
		return 0
	}
	header := run(s, i, urlish)
	if header-i < 10 || header == len(s) || s[header] != '.' {
		return 0
	}
	end := run(s, header+1, dotted)
	if end-header < 8 {
		return 0
	}
	return end
}

// telegramAt finds a bot token: the id of the bot, a colon, 35 characters.
func telegramAt(s string, i int) int {
	if i > 0 && isDigit(s[i-1]) {
		return 0
	}
	id := i
	for id < len(s) && isDigit(s[id]) {
		id++
	}
	if id-i < 6 || id-i > 14 || id == len(s) || s[id] != ':' {
		return 0
	}
	if end := run(s, id+1, urlish); end-id-1 == 35 {
		return end
	}
	return 0
}

// randomAt finds what AWS uses as secret keys: 40 characters of base64 that change
// class so often that neither a path, an identifier nor a hex digest does, and
// Discord's bot tokens, three parts of fixed length.
func randomAt(s string, i int) int {
	end := run(s, i, base)
	if end-i < 40 {
		return 0
	}
	if strings.ContainsRune("MNO", rune(s[i])) {
		if p := strings.Split(s[i:end], "."); len(p) == 3 && len(p[0]) >= 23 && len(p[1]) == 6 && len(p[2]) >= 27 {
			return end
		}
	}
	if end-i != 40 || strings.ContainsAny(s[i:end], "-_.") {
		return 0
	}
	changes, capitals, seen := 0, 0, 0
	for k := i; k < end; k++ {
		class := classOf(s[k])
		seen |= 1 << class
		if k > i && class != classOf(s[k-1]) {
			changes++
		}
		if k > i && class == 1 && classOf(s[k-1]) == 1 {
			capitals++ // Names in camel case have no capitals side by side.
		}
	}
	const lowerUpperDigit, often = 0b111, 16
	if seen&lowerUpperDigit == lowerUpperDigit && changes >= often && capitals >= 2 {
		return end
	}
	return 0
}

func classOf(c byte) int {
	switch {
	case c >= 'a' && c <= 'z':
		return 0
	case c >= 'A' && c <= 'Z':
		return 1
	case isDigit(c):
		return 2
	}
	return 3
}

// pemAt finds a private key block. The body must look like one, chunk by chunk:
// nobody can hide commands between two marker lines. A block without an end is
// hidden as far as it looks like a key.
func pemAt(s string, i int) int {
	const begin, shortest = "-----BEGIN ", 16
	if !strings.HasPrefix(s[i:], begin) {
		return 0
	}
	label, _, ok := strings.Cut(s[i+len(begin):min(len(s), i+100)], "-----")
	if !ok || !strings.Contains(label, "PRIVATE KEY") || strings.ContainsAny(label, "\n\r\\") {
		return 0
	}
	end := "-----END " + label + "-----"
	at := i + len(begin) + len(label) + len("-----")
	kept := 0 // Where the last chunk began, when only an end may follow it.
	for {
		gap := pemGap(s, at)
		if strings.HasPrefix(s[gap:], end) {
			return gap + len(end)
		}
		next := pemHeader(s, gap)
		header := next > gap
		if !header {
			next = run(s, gap, base64only)
		}
		if next == gap || kept > 0 && s[gap] != '=' {
			break
		}
		if !header && next-gap < shortest && kept == 0 {
			kept = at
		}
		at = next
	}
	if kept > 0 {
		return kept
	}
	return at
}

// pemGap skips line ends, also written as `\n`, and blanks.
func pemGap(s string, i int) int {
	for i < len(s) {
		switch {
		case strings.HasPrefix(s[i:], `\n`), strings.HasPrefix(s[i:], `\r`):
			i += 2
		case s[i] == '\n', s[i] == '\r', s[i] == ' ', s[i] == '\t':
			i++
		default:
			return i
		}
	}
	return i
}

// pemHeader skips one of the header lines of encrypted keys.
func pemHeader(s string, i int) int {
	for _, name := range [...]string{"Proc-Type: 4,ENCRYPTED", "DEK-Info: "} {
		if strings.HasPrefix(s[i:], name) {
			end := i + len(name)
			return run(s, end, urlish) + commaTail(s, run(s, end, urlish))
		}
	}
	return i
}

func commaTail(s string, i int) int {
	if i < len(s) && s[i] == ',' {
		return run(s, i+1, alnum) - i
	}
	return 0
}

// basicPair reports whether v looks like the value of Basic authentication rather
// than like the next word of a sentence.
func basicPair(v string) bool {
	if len(v) < 4 {
		return false
	}
	raw := strings.TrimRight(v, "=")
	if b, err := base64.RawStdEncoding.DecodeString(raw); err == nil && strings.Contains(string(b), ":") {
		return true
	}
	return strings.ContainsAny(v, "0123456789=") || strings.ContainsAny(v[1:], "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
}
