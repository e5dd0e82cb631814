package config

import (
	"fmt"
	"log/slog"
	"os"
	"strings"
)

// Secret is text that never prints: not by fmt, not by slog, not as JSON.
type Secret string

// redacted stands for every secret that is set.
const redacted = "[hidden]"

// String implements fmt.Stringer.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return redacted
}

// GoString implements fmt.GoStringer.
func (s Secret) GoString() string { return s.String() }

// LogValue implements slog.LogValuer.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText implements encoding.TextMarshaler.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Reveal returns the secret itself.
func (s Secret) Reveal() string { return string(s) }

// resolveSecret reads the _file twin of a secret. At most one of the two is given.
func resolveSecret(name string, value *Secret, file string) error {
	switch {
	case file == "":
		return nil
	case *value != "":
		return fmt.Errorf("%s and %s_file: give only one of the two", name, name)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("%s_file: the file cannot be read", name)
	}
	*value = Secret(strings.TrimSpace(string(b)))
	if *value == "" {
		return fmt.Errorf("%s_file: the file is empty", name)
	}
	return nil
}
