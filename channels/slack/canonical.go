package slack

// Canonical is the one spelling of a shared channel or of a thread in one, as
// configuration and requests name it; false when it is neither. A person's direct
// chat is no shared channel.
func Canonical(text string) (string, bool) {
	a, err := parseAddress(text)
	if err != nil || !sharedRule.MatchString(a.channel) {
		return "", false
	}
	return a.String(), true
}

// App is the id of the app, which several workspaces may share.
func (c *Channel) App() string { return c.cfg.App }
