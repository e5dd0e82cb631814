package core

import (
	"strings"
	"unicode/utf8"
)

// An escape that makes a hidden character visible begins so, and so does one that was
// there already: redaction leaves no room for forged ones.
const (
	visibleEscape = `\u{`
	writtenEscape = `\u{5C}u{`
)

// RecordedAgent is an agent's name as the record has it: as safe text of at most
// MaxShortText code points. People write a name as requests do, or as lists show it;
// both mean the same agent. A name that none can have stays as it is. text is
// Describer.Text.
func RecordedAgent(text func(s string, limit int) string, name string) string {
	if !ValidAgentName(name) {
		return name
	}
	whole := text(name, len(writtenEscape)*MaxShortText) // Nothing that a list shows is cut by that.
	if strings.ReplaceAll(whole, writtenEscape, visibleEscape) == name {
		return name
	}
	return text(name, MaxShortText)
}

// ValidAgentName reports whether an agent can have this name, as requests write it or
// as lists show it; "" stands for calls that name none. What is made visible in a name
// makes it longer in bytes, so they are not what is counted.
func ValidAgentName(name string) bool {
	return utf8.ValidString(name) && utf8.RuneCountInString(name) <= MaxShortText
}
