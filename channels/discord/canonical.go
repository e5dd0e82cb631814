package discord

// Canonical is the one spelling of a channel or thread, as configuration and
// requests name it; false when it is neither. A person's direct chat is no channel.
func Canonical(text string) (string, bool) {
	a, err := parseAddress(text)
	if err != nil || a.user != "" {
		return "", false
	}
	return a.String(), true
}
