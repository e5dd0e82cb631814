package telegram

import (
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// The platform's limits, from https://core.telegram.org/bots/api (sendMessage,
// InlineKeyboardButton, answerCallbackQuery, ForceReply, setWebhook) and from what
// its server does.
const (
	maxText         = 4096 // UTF-16 units after entities parsing: the strictest reading.
	maxCaption      = 1024
	maxCallbackData = 64 // Bytes.
	maxAnswer       = 200
	maxPlaceholder  = 64
	maxRow          = 8
	maxButtons      = 100
	maxEntities     = 100
	maxSecret       = 256
	generalTopic    = 1 // Addressed by leaving the thread out.
)

func units(s string) int { return len(utf16.Encode([]rune(s))) }

// checkText applies the rules of message texts. The result names the broken rule.
func checkText(text string, most int) string {
	switch {
	case !utf8.ValidString(text):
		return "strings must be encoded in UTF-8"
	case strings.TrimSpace(text) == "":
		return "message text is empty"
	case units(text) > most:
		return "message is too long"
	case text != strings.TrimLeft(text, " \n\t"):
		return "leading white space would be trimmed and shift the entities"
	}
	return ""
}

var entityTypes = []string{
	"bold", "italic", "underline", "strikethrough", "spoiler", "blockquote",
	"expandable_blockquote", "code", "pre", "text_link", "text_mention",
}

func checkEntities(text string, entities []wireEntity) string {
	if len(entities) > maxEntities {
		return "more than 100 entities: the rest would be ignored"
	}
	u := utf16.Encode([]rune(text))
	for i, e := range entities {
		end := e.Offset + e.Length
		switch {
		case !slices.Contains(entityTypes, e.Type):
			return "entity type is unknown or cannot be sent"
		case e.Offset < 0 || e.Length <= 0 || end > len(u):
			return "ENTITY_BOUNDS_INVALID"
		case splitsPair(u, e.Offset) || splitsPair(u, end):
			return "ENTITY_BOUNDS_INVALID: inside a surrogate pair"
		case e.Type == "text_link" && e.URL == "", e.Type == "text_mention" && e.User == nil:
			return "entity lacks its target"
		}
		if i > 0 && monospaced(e) && e.Offset < entities[i-1].Offset+entities[i-1].Length {
			return "pre and code cannot be part of other entities"
		}
		if i > 0 && monospaced(entities[i-1]) && e.Offset < entities[i-1].Offset+entities[i-1].Length {
			return "pre and code cannot contain other entities"
		}
	}
	return ""
}

func monospaced(e wireEntity) bool { return e.Type == "pre" || e.Type == "code" }

// splitsPair reports whether at lies between the halves of a surrogate pair.
func splitsPair(u []uint16, at int) bool {
	return at > 0 && at < len(u) && u[at] >= 0xDC00 && u[at] <= 0xDFFF && u[at-1] >= 0xD800 && u[at-1] <= 0xDBFF
}

func checkMarkup(m *wireMarkup, private bool) string {
	if m == nil {
		return ""
	}
	if m.ForceReply && len(m.InlineKeyboard) > 0 {
		return "reply markup is of two kinds"
	}
	if units(m.Placeholder) > maxPlaceholder {
		return "input field placeholder is too long"
	}
	total := 0
	for _, row := range m.InlineKeyboard {
		if len(row) > maxRow {
			return "more than 8 buttons in a row: the rest would vanish"
		}
		for _, b := range row {
			total++
			if rule := checkButton(b, private); rule != "" {
				return rule
			}
		}
	}
	if total > maxButtons {
		return "reply markup is too long"
	}
	return ""
}

// checkButton looks at the fields in the server's own order and takes the first.
func checkButton(b wireButton, private bool) string {
	if strings.TrimSpace(b.Text) == "" {
		return "inline keyboard button text must be non-empty"
	}
	if !slices.Contains([]string{"", "danger", "success", "primary"}, b.Style) {
		return "button style is unknown"
	}
	switch {
	case b.URL != "":
		return checkURL(b.URL)
	case b.CallbackData != nil:
		if n := len(*b.CallbackData); n < 1 || n > maxCallbackData {
			return "BUTTON_DATA_INVALID"
		}
		return ""
	case b.WebApp != nil:
		if !private || !strings.HasPrefix(b.WebApp.URL, "https://") {
			return "BUTTON_TYPE_INVALID"
		}
		return ""
	case b.CopyText != nil && b.CopyText.Text != "":
		return ""
	}
	return "text buttons are unallowed in the inline keyboard"
}

// checkURL is the server's check of a button's link: http, https or tg, and a
// host with a dot in it (an address in digits has dots).
func checkURL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Scheme == "" {
		return "inline keyboard button URL is invalid: Wrong HTTP URL"
	}
	switch u.Scheme {
	case "tg":
		return ""
	case "http", "https":
		if host := u.Hostname(); strings.Contains(host, ".") || net.ParseIP(host) != nil {
			return ""
		}
		return "inline keyboard button URL is invalid: Wrong HTTP URL"
	}
	return "inline keyboard button URL is invalid: Unsupported URL protocol"
}

// pinging is what clients turn into links and mentions by themselves, outside of
// monospaced text.
var pinging = regexp.MustCompile(`(?i)[\p{L}\d][\p{L}\d.+_-]*@[\p{L}\d-]+\.\p{L}+|@[a-z]\w{2,}|[a-z][a-z0-9+.-]*:/?/?[^\s/]+\.\S+|[\p{L}\d_-]+(?:\.[\p{L}\d_-]+)*\.\p{L}{2,}|(?:^|\s)/[a-z]\w*|#[\p{L}\d_]+|\$[A-Z]{3,8}\b`)

// pings lists what of the text would notify or link to somebody.
func pings(text string, entities []wireEntity) []string {
	u := utf16.Encode([]rune(text))
	var found []string
	for _, e := range entities {
		if monospaced(e) {
			for i := e.Offset; i < e.Offset+e.Length; i++ {
				u[i] = ' '
			}
		}
		if e.Type == "text_link" {
			found = append(found, "link:"+e.URL)
		}
		if e.Type == "text_mention" && e.User != nil {
			found = append(found, "user:"+formatID(e.User.ID))
		}
	}
	for _, p := range pinging.FindAllString(string(utf16.Decode(u)), -1) {
		found = append(found, strings.TrimSpace(p))
	}
	return found
}
