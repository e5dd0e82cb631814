package fakes

import (
	"fmt"
	"slices"
	"sync"
)

// Message is what a person would see of one message, in words that all
// messengers share.
type Message struct {
	Locator  string // As the channel under test spells it.
	Address  string // As the channel under test spells it.
	Text     string
	Buttons  []Button
	History  []string // Every text it has shown, oldest first, the present one last.
	Edits    int      // How often it was changed.
	ReplyTo  string   // Locator of the message that it replies to; "" for none.
	Asks     bool     // It asks for text (a forced reply, a dialog).
	Pings    []string // What the platform would take as a mention or a link to someone.
	File     []byte   // Content of the attached file; nil for none.
	FileName string
	Deleted  bool
}

// Button is one control of a message.
type Button struct {
	Label   string
	Payload string // "" for links.
	URL     string
}

// Button finds the control with the label.
func (m Message) Button(label string) (Button, bool) {
	i := slices.IndexFunc(m.Buttons, func(b Button) bool { return b.Label == label })
	if i < 0 {
		return Button{}, false
	}
	return m.Buttons[i], true
}

// ButtonsBut are the controls but those with these labels.
func (m Message) ButtonsBut(labels ...string) []Button {
	return slices.DeleteFunc(slices.Clone(m.Buttons), func(b Button) bool { return slices.Contains(labels, b.Label) })
}

// Reply is what a person saw in answer to a pressed button.
type Reply struct {
	Text  string
	Alert bool
}

// Violations collects the requests that broke a rule of the platform. Its zero
// value is ready.
type Violations struct {
	mu   sync.Mutex
	list []string
}

// Add records one.
func (v *Violations) Add(format string, args ...any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.list = append(v.list, fmt.Sprintf(format, args...))
}

// List returns all of them, in order.
func (v *Violations) List() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Clone(v.list)
}
