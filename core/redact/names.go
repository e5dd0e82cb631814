package redact

import (
	"strings"
	"unicode"
)

// maxNameWords bounds the work on one name; longer "names" are text.
const maxNameWords = 24

// SensitiveName reports whether a field, header, flag or variable of this name
// holds a secret (R92, and more names). The name is split into
// words at punctuation, digits and changes of case, and whole words are compared:
// accessToken, API-KEY, client_secret and FOO_TOKEN are sensitive; max_tokens,
// tokenizer and public_key are not. Hidden characters within the name do not
// count. A last word that says the value only points to the secret or measures
// it (token_type, secret_name, password-file) makes the name harmless. PWD and
// OLDPWD, so written, are the shell's working folders.
func SensitiveName(name string) bool {
	if name == "PWD" || name == "OLDPWD" {
		return false
	}
	words := nameWords(name)
	if len(words) == 0 {
		return false
	}
	last := words[len(words)-1]
	if len(words) > 1 && (harmlessEnding(last) || harmlessStart(words[0])) {
		return false
	}
	for i, w := range words {
		if secretWord(w) {
			return true
		}
		if i > 0 && secretPair(words[i-1], w) {
			return true
		}
	}
	switch last {
	case "pass", "pw", "auth":
		return len(words) == 1 || last != "auth"
	}
	return false
}

// nameWords splits into lower-case words; digits and hidden runes are dropped.
func nameWords(name string) []string {
	var words []string
	var word []rune
	flush := func() {
		if len(word) > 0 {
			words = append(words, strings.ToLower(string(word)))
			word = word[:0]
		}
	}
	runes := []rune(name)
	for i, r := range runes {
		switch {
		case hidden(r) && !unicode.IsSpace(r):
			continue
		case !unicode.IsLetter(r):
			flush()
		case unicode.IsUpper(r) && i > 0 && startsWord(runes, i):
			flush()
			word = append(word, r)
		default:
			word = append(word, r)
		}
		if len(words) == maxNameWords {
			return words
		}
	}
	flush()
	return words
}

// startsWord reports whether the upper-case runes[i] opens a word: after a lower
// case one (accessToken), or as the last of a row of capitals (APIKey).
func startsWord(runes []rune, i int) bool {
	return unicode.IsLower(runes[i-1]) ||
		unicode.IsUpper(runes[i-1]) && i+1 < len(runes) && unicode.IsLower(runes[i+1])
}

func secretWord(w string) bool {
	switch w {
	case "token", "password", "passwords", "passwd", "passcode", "passphrase", "pwd",
		"secret", "secrets", "authorization", "credential", "credentials", "cred", "creds",
		"cookie", "cookies", "session", "sessionid", "sessid", "bearer", "jwt", "otp",
		"apikeys", "psk", "connectionstring":
		return true
	}
	// Names that were written without any separator: clientsecret, dbpassword.
	for _, end := range [...]string{
		"token", "password", "passwd", "passphrase", "secret", "apikey", "accesskey",
		"privatekey", "secretkey", "accountkey", "masterkey", "signingkey", "encryptionkey",
	} {
		if strings.HasSuffix(w, end) {
			return true
		}
	}
	return false
}

// secretPair names secrets that take two words.
func secretPair(first, second string) bool {
	switch second {
	case "key", "keys":
		switch first {
		case "private", "api", "access", "secret", "signing", "encryption", "account",
			"master", "auth", "shared", "service", "license", "ssh", "webhook":
			return true
		}
	case "tokens":
		switch first {
		case "access", "refresh", "auth", "api", "bearer", "session", "id", "csrf", "device":
			return true
		}
	case "string":
		return first == "connection"
	}
	return false
}

// harmlessEnding lists last words after which the value is no secret itself.
func harmlessEnding(w string) bool {
	switch w {
	case "count", "limit", "type", "length", "size", "budget", "ttl", "expiry", "expires",
		"expiration", "timeout", "policy", "stdin", "file", "filename", "path", "dir", "url",
		"uri", "endpoint", "name", "names", "enabled", "required", "field", "usage", "version",
		"provider", "manager", "store", "algorithm", "format", "scope", "in", "at":
		return true
	}
	return false
}

// harmlessStart lists first words that make the rest a measure or a switch.
func harmlessStart(w string) bool {
	switch w {
	case "max", "min", "num", "total", "no", "has", "is", "without":
		return true
	}
	return false
}

// headerName reports whether the whole value of a header of this name is secret.
func headerName(name string) bool {
	switch strings.ToLower(name) {
	case "authorization", "proxy-authorization", "cookie", "set-cookie", "cookie2", "set-cookie2":
		return true
	}
	return false
}
