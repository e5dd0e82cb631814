package telegram

import (
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/saysohq/sayso/core"
)

// keyboard is the markup of a message. The library's own type would put an empty
// copy_text into every button.
type keyboard struct {
	Rows [][]button `json:"inline_keyboard"`
}

type button struct {
	Text         string `json:"text"`
	Style        string `json:"style,omitempty"` // Red, green or plain.
	URL          string `json:"url,omitempty"`
	CallbackData string `json:"callback_data,omitempty"`
}

// shortLabel is the longest label, in UTF-16 units, that shares its row: two of
// them are readable on a narrow phone.
const shortLabel = 18

// buttons encodes the actions of a card or an answer. A link that the platform
// would refuse is left out rather than failing the message; a command is text and
// has no button.
func (c *Channel) buttons(actions []core.Action) (*keyboard, string, error) {
	var list []button
	keyID := ""
	for _, a := range actions {
		switch a.Type {
		case core.ActionApproval, core.ActionCallback:
			payload, id, err := c.codec.Encode(c.ref, a)
			if err != nil {
				return nil, "", fmt.Errorf("encode button: %w", err)
			}
			keyID = id
			list = append(list, button{Text: label(a), Style: style(a), CallbackData: payload})
		case core.ActionURL, core.ActionWebApp:
			// A web app works in private chats alone; its address works everywhere.
			if linkAllowed(a.URL) {
				list = append(list, button{Text: label(a), URL: a.URL})
			}
		case core.ActionCommand:
		}
	}
	return arrange(list), keyID, nil
}

func label(a core.Action) string {
	if s := strings.TrimSpace(clean(a.Label)); s != "" {
		return s
	}
	return string(a.Type)
}

func style(a core.Action) string {
	switch a.Decision {
	case core.DecisionAllowOnce, core.DecisionAllowAlways:
		return "success"
	case core.DecisionDeny:
		return "danger"
	case core.DecisionNone:
	}
	return ""
}

// linkAllowed is the platform's rule for links: http or https, and a host with a
// dot in it or an address in digits. http://localhost would fail the whole send.
func linkAllowed(raw string) bool {
	u, err := url.Parse(raw)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.User != nil {
		return false
	}
	host := u.Hostname()
	return strings.Contains(strings.Trim(host, "."), ".") || net.ParseIP(host) != nil
}

// arrange puts two short labels side by side and gives a long one its own row.
func arrange(list []button) *keyboard {
	if len(list) == 0 {
		return nil
	}
	k := new(keyboard)
	for _, b := range list {
		last := len(k.Rows) - 1
		if last >= 0 && len(k.Rows[last]) == 1 && units(b.Text) <= shortLabel && units(k.Rows[last][0].Text) <= shortLabel {
			k.Rows[last] = append(k.Rows[last], b)
			continue
		}
		k.Rows = append(k.Rows, []button{b})
	}
	return k
}

// withoutLinks is the same keyboard without its links; nil when nothing is left.
func (k *keyboard) withoutLinks() *keyboard {
	var list []button
	for _, row := range k.Rows {
		list = append(list, slices.DeleteFunc(slices.Clone(row), func(b button) bool { return b.URL != "" })...)
	}
	return arrange(list)
}
