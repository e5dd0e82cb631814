package discord

import (
	"net"
	"net/url"
	"strings"
	"unicode/utf16"
)

// The platform's limits, in UTF-16 units where they count characters.
const (
	maxContent    = 2000
	maxEmbeds     = 10
	maxEmbedTitle = 256
	maxEmbedText  = 4096
	maxFields     = 25
	maxFieldName  = 256
	maxFieldValue = 1024
	maxEmbedAll   = 6000
	maxRows       = 5
	maxInRow      = 5
	maxCustomID   = 100
	maxLabel      = 80
	maxURL        = 512
	maxNonce      = 25
	maxTitle      = 45
	maxInput      = 4000
)

func units(s string) int { return len(utf16.Encode([]rune(s))) }

// checkMessage names the rule that a body breaks, "" for none.
func checkMessage(in *wireIn) (field, rule string) {
	if in.Content != nil && units(*in.Content) > maxContent {
		return "content", "BASE_TYPE_MAX_LENGTH"
	}
	if in.Nonce != nil && units(*in.Nonce) > maxNonce {
		return "nonce", "BASE_TYPE_MAX_LENGTH"
	}
	if in.Embeds != nil {
		if rule := checkEmbeds(*in.Embeds); rule != "" {
			return "embeds", rule
		}
	}
	if in.Components != nil {
		if rule := checkRows(*in.Components); rule != "" {
			return "components", rule
		}
	}
	return "", ""
}

func checkEmbeds(list []wireEmbed) string {
	if len(list) > maxEmbeds {
		return "BASE_TYPE_MAX_LENGTH"
	}
	all := 0
	for _, e := range list {
		if units(e.Title) > maxEmbedTitle || units(e.Description) > maxEmbedText || len(e.Fields) > maxFields {
			return "BASE_TYPE_MAX_LENGTH"
		}
		all += units(e.Title) + units(e.Description)
		for _, f := range e.Fields {
			name, value := strings.TrimSpace(f.Name), strings.TrimSpace(f.Value)
			switch {
			case name == "" || value == "":
				return "BASE_TYPE_REQUIRED"
			case units(f.Name) > maxFieldName || units(f.Value) > maxFieldValue:
				return "BASE_TYPE_MAX_LENGTH"
			}
			all += units(f.Name) + units(f.Value)
		}
	}
	if all > maxEmbedAll {
		return "MAX_EMBED_SIZE_EXCEEDED"
	}
	return ""
}

func checkRows(rows []wireRow) string {
	if len(rows) > maxRows {
		return "BASE_TYPE_MAX_LENGTH"
	}
	known := map[string]bool{}
	for _, row := range rows {
		if row.Type != 1 || len(row.Components) == 0 || len(row.Components) > maxInRow {
			return "BASE_TYPE_BAD_LENGTH"
		}
		for _, b := range row.Components {
			if rule := checkButton(b); rule != "" {
				return rule
			}
			if b.CustomID != "" && known[b.CustomID] {
				return "COMPONENT_CUSTOM_ID_DUPLICATED"
			}
			known[b.CustomID] = true
		}
	}
	return ""
}

func checkButton(b wireButton) string {
	switch {
	case b.Type != 2 || b.Style < 1 || b.Style > 5:
		return "UNION_TYPE_CHOICES"
	case strings.TrimSpace(b.Label) == "" || units(b.Label) > maxLabel:
		return "BASE_TYPE_BAD_LENGTH"
	case b.Style == 5 && (b.URL == "" || b.CustomID != ""):
		return "BUTTON_COMPONENT_URL_AND_CUSTOM_ID"
	case b.Style == 5:
		return checkLink(b.URL)
	case b.URL != "" || b.CustomID == "":
		return "BUTTON_COMPONENT_CUSTOM_ID_REQUIRED"
	case units(b.CustomID) > maxCustomID:
		return "BASE_TYPE_MAX_LENGTH"
	}
	return ""
}

func checkLink(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || len(raw) > maxURL {
		return "URL_TYPE_INVALID_SCHEME"
	}
	if !strings.Contains(u.Hostname(), ".") && net.ParseIP(u.Hostname()) == nil {
		return "URL_TYPE_INVALID_URL"
	}
	return ""
}

// checkMentions is sayso's own rule: no message may mention anybody.
func checkMentions(m *wireMentions) string {
	if m == nil || m.Parse == nil || len(m.Parse)+len(m.Users)+len(m.Roles) > 0 || m.RepliedUser {
		return "a mention is allowed"
	}
	return ""
}

func checkModal(m *wireModal) string {
	if m.CustomID == "" || units(m.CustomID) > maxCustomID || m.Title == "" || units(m.Title) > maxTitle {
		return "BASE_TYPE_BAD_LENGTH"
	}
	inputs := 0
	for _, p := range m.Components {
		list := p.Components
		switch {
		case p.Type == 10 && p.Content != "":
			continue
		case p.Type == 18 && p.Component != nil && p.Label != "" && units(p.Label) <= maxTitle:
			list = append(list, *p.Component)
		case p.Type != 1:
			return "UNION_TYPE_CHOICES"
		}
		for _, i := range list {
			inputs++
			if i.Type != 4 || i.CustomID == "" || units(i.CustomID) > maxCustomID || units(i.Placeholder) > 100 ||
				i.Style < 1 || i.Style > 2 || i.MaxLength > maxInput || i.MinLength > i.MaxLength {
				return "BASE_TYPE_BAD_LENGTH"
			}
		}
	}
	if inputs == 0 || inputs > 5 {
		return "BASE_TYPE_BAD_LENGTH"
	}
	return ""
}
