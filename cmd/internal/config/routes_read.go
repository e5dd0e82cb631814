package config

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/deliveries"
)

// runtimePattern is a pattern that the name of a runtime can fit; the length is
// checked apart, without the stars.
var runtimePattern = regexp.MustCompile(`^[a-z0-9*-]+$`)

const maxRuntimeName = 32

// match reads what a rule is about.
func (r *routeReader) match(m *RouteMatch) deliveries.Match {
	match := deliveries.Match{
		Classes:  closed(r, "match.class", m.Class, core.Class.Valid, "must be read, write, send or money"),
		Kinds:    closed(r, "match.kind", m.Kind, core.Kind.Valid, "must be exec or plugin"),
		Runtimes: r.patterns("match.runtime", m.Runtime),
		Agents:   r.patterns("match.agent", m.Agent),
		Sessions: r.patterns("match.session", m.Session),
	}
	for i, p := range match.Runtimes {
		if !runtimePattern.MatchString(p) || len(strings.ReplaceAll(p, "*", "")) > maxRuntimeName {
			r.fault(fmt.Sprintf("match.runtime[%d]", i), "can never match: names of runtimes are 1-32 of a-z 0-9 -")
		}
	}
	return match
}

// closed reads a list of members of a closed set.
func closed[T ~string](r *routeReader, field string, list []string, valid func(T) bool, rule string) []T {
	r.distinct(field, list)
	if list == nil {
		return nil
	}
	out := make([]T, len(list))
	for i, text := range list {
		if out[i] = T(text); !valid(out[i]) {
			r.fault(fmt.Sprintf("%s[%d]", field, i), rule)
		}
	}
	return out
}

// distinct refuses lists without a member and members that stand twice.
func (r *routeReader) distinct(field string, list []string) {
	if list != nil && len(list) == 0 {
		r.fault(field, "can never match: the list is empty")
	}
	for i, text := range list {
		if slices.Contains(list[:i], text) {
			r.fault(fmt.Sprintf("%s[%d]", field, i), "is listed already")
		}
	}
}

func (r *routeReader) patterns(field string, list []string) []string {
	r.distinct(field, list)
	for i, text := range list {
		if text == "" || len(text) > core.MaxShortText || !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl) {
			r.fault(fmt.Sprintf("%s[%d]", field, i), fmt.Sprintf("must be 1-%d bytes of text without control characters", core.MaxShortText))
		}
	}
	return list
}

// targets reads where a rule's cards go.
func (r *routeReader) targets(route *Route, rule *deliveries.Rule) {
	if len(route.To) == 0 {
		r.fault("to", "is required: approvers, chats, origin, page, or chats by name")
	}
	for i, text := range route.To {
		field := fmt.Sprintf("to[%d]", i)
		if slices.Contains(route.To[:i], text) {
			r.fault(field, "is listed already")
			continue
		}
		switch text {
		case toPage:
			if len(route.To) > 1 {
				r.fault(field, "stands alone: the page always shows the request, whatever else is told")
			}
		case toApprovers:
			rule.To.Approvers = true
			r.needs(field, len(r.accounts) > 0, "needs a configured messenger")
		case toChats:
			rule.To.Listed = true
			r.needs(field, r.some(func(a deliveries.Account) bool { return len(a.Chats) > 0 }), "needs chats listed for an account")
		case toOrigin:
			rule.To.Origin = true
			r.needs(field, r.some(func(a deliveries.Account) bool { return len(a.Origins) > 0 }), "needs origins listed for an account")
		default:
			r.named(field, text, rule)
		}
	}
}

// needs states a fault, unless an account with a fault of its own may be what is
// missing.
func (r *routeReader) needs(field string, has bool, rule string) {
	if !has && r.sure {
		r.fault(field, rule)
	}
}

func (r *routeReader) some(has func(deliveries.Account) bool) bool {
	return slices.ContainsFunc(r.accounts, has)
}

// named reads a chat by name: <channel>:<account>:<address>, or without the account
// where the channel has one only.
func (r *routeReader) named(field, text string, rule *deliveries.Rule) {
	channel, rest, form := strings.Cut(text, ":")
	if !form {
		r.fault(field, "must be approvers, chats, origin, page, or a chat: <channel>:<account>:<address>")
		return
	}
	if !messenger(channel) {
		r.fault(field, "names an unknown channel: it must be telegram, slack or discord")
		return
	}
	account, address, full := strings.Cut(rest, ":")
	if !full {
		address = rest
	}
	var bots []deliveries.Account
	for _, a := range r.accounts {
		if string(a.Ref.Channel) == channel && (!full || a.Ref.Account == account) {
			bots = append(bots, a)
		}
	}
	switch {
	case len(bots) == 0:
		r.needs(field, false, "names an account that is not configured")
	case len(bots) > 1:
		r.fault(field, "must name the account: the channel has several")
	default:
		r.chat(field, bots[0], address, rule)
	}
}

func (r *routeReader) chat(field string, bot deliveries.Account, address string, rule *deliveries.Rule) {
	if bot.Canonical != nil {
		canonical, ok := bot.Canonical(address)
		if !ok {
			r.fault(field, "does not end in an address of its channel")
			return
		}
		address = canonical
	}
	chat := deliveries.Chat{Ref: bot.Ref, Address: address}
	if slices.Contains(rule.To.Chats, chat) {
		r.fault(field, "is listed already, in another spelling")
		return
	}
	rule.To.Chats = append(rule.To.Chats, chat)
}

func messenger(channel string) bool {
	switch core.Surface(channel) {
	case core.SurfaceTelegram, core.SurfaceSlack, core.SurfaceDiscord:
		return true
	case core.SurfaceNone, core.SurfacePage, core.SurfaceCLI, core.SurfaceAPI:
	}
	return false
}

// manner reads how a rule tells: fallback, order and escalation.
func (r *routeReader) manner(route *Route, rule *deliveries.Rule) {
	switch route.Fallback {
	case "", fallbackNone:
	case fallbackApprovers:
		rule.Fallback = true
		if !slices.ContainsFunc(route.To, func(to string) bool { return to != toApprovers && to != toPage }) {
			r.fault("fallback", "has no effect: the rule names no chat")
		}
		if slices.Contains(route.To, toApprovers) {
			r.fault("fallback", "has no effect: the rule tells the approvers anyway")
		}
	default:
		r.fault("fallback", "must be approvers or none")
	}
	r.order(route, rule)
	switch {
	case route.EscalateAfter == 0:
		rule.EscalateAfter = defaultEscalation
	case len(route.Order) == 0:
		r.fault("escalate_after", "has no effect without order")
	case route.EscalateAfter < minEscalation || route.EscalateAfter > maxEscalation:
		r.fault("escalate_after", "must be from 10s to 168h")
	default:
		rule.EscalateAfter = route.EscalateAfter
	}
}

func (r *routeReader) order(route *Route, rule *deliveries.Rule) {
	if len(route.Order) > 0 && !slices.Contains(route.To, toApprovers) && route.Fallback != fallbackApprovers {
		r.fault("order", "has no effect: the rule tells no approvers")
	}
	for i, channel := range route.Order {
		field := fmt.Sprintf("order[%d]", i)
		switch {
		case !messenger(channel):
			r.fault(field, "must be telegram, slack or discord")
		case slices.Contains(route.Order[:i], channel):
			r.fault(field, "is listed already")
		default:
			r.needs(field, r.some(func(a deliveries.Account) bool { return string(a.Ref.Channel) == channel }), "needs a configured account")
		}
		rule.Order = append(rule.Order, core.Surface(channel))
	}
}
