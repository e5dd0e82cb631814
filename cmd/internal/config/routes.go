package config

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/saysohq/sayso/deliveries"
)

// Route is one rule of the routing table. It says who is told; who may decide is
// never its business.
type Route struct {
	Name  string     `koanf:"name"`  // For the log: a-z, 0-9 and dashes. Default: the rule's number, from 1.
	Match RouteMatch `koanf:"match"` // Nothing given: every request.
	// To lists the places: "approvers", "chats", "origin", "page" (alone), and
	// chats by name, "telegram:<bot id>:<chat>", or "telegram:<chat>" where one bot
	// is configured.
	To []string `koanf:"to"`
	// Fallback is "approvers" or "none" (default): who is told directly when a chat
	// of the rule cannot be used.
	Fallback string `koanf:"fallback"`
	// Order lists channels: each person is told in one chat after the other.
	Order []string `koanf:"order"`
	// EscalateAfter is how long, with Order, the next chat waits for an answer:
	// default 5m, from 10s to 168h.
	EscalateAfter time.Duration `koanf:"escalate_after"`
}

// RouteMatch picks requests: of every list that is given, one member must fit. In
// runtime, agent and session a star stands for any text.
type RouteMatch struct {
	Class   []string `koanf:"class"`
	Kind    []string `koanf:"kind"`
	Runtime []string `koanf:"runtime"`
	Agent   []string `koanf:"agent"`
	Session []string `koanf:"session"`
}

// The words of a rule.
const (
	toApprovers = "approvers"
	toChats     = "chats"
	toOrigin    = "origin"
	toPage      = "page"

	fallbackNone      = "none"
	fallbackApprovers = "approvers"
)

// Bounds of a rule's figures.
const (
	defaultEscalation = 5 * time.Minute
	minEscalation     = 10 * time.Second
	maxEscalation     = 168 * time.Hour // The longest life of a request.
	maxRoutes         = 200
)

var routeName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,39}$`)

// Rules is the routing table of a valid configuration.
func (c *Config) Rules() []deliveries.Rule {
	rules, _ := c.readRoutes()
	return rules
}

func (c *Config) validateRoutes() error {
	_, faults := c.readRoutes()
	return errors.Join(faults...)
}

// routeReader reads one rule and gathers its faults. None repeats a value.
type routeReader struct {
	accounts []deliveries.Account
	sure     bool // No account was left out for a fault of its own.
	at       string
	faults   []error
}

func (r *routeReader) fault(field, rule string) {
	r.faults = append(r.faults, fmt.Errorf("%s.%s: %s", r.at, field, rule))
}

// readRoutes reads the table, with every fault in it.
func (c *Config) readRoutes() ([]deliveries.Rule, []error) {
	if len(c.Routes) > maxRoutes {
		return nil, []error{fmt.Errorf("routes: must be at most %d rules", maxRoutes)}
	}
	r := &routeReader{accounts: c.Accounts()}
	r.sure = c.allAccounts(r.accounts)
	rules := make([]deliveries.Rule, len(c.Routes))
	sound := make([]bool, len(c.Routes))
	names := map[string]bool{deliveries.DefaultRule().Name: true}
	for i := range c.Routes {
		r.at = fmt.Sprintf("routes[%d]", i)
		rules[i].Name = r.name(c.Routes[i].Name, i, names)
		before := len(r.faults)
		rules[i].Match = r.match(&c.Routes[i].Match)
		sound[i] = len(r.faults) == before
		r.targets(&c.Routes[i], &rules[i])
		r.manner(&c.Routes[i], &rules[i])
		for j := range i {
			if sound[i] && sound[j] && rules[j].Match.Covers(&rules[i].Match) {
				r.fault("match", fmt.Sprintf("can never match: routes[%d] takes all of it", j))
				break
			}
		}
	}
	return rules, r.faults
}

func (r *routeReader) name(name string, i int, taken map[string]bool) string {
	switch {
	case name == "":
		return strconv.Itoa(i + 1)
	case !routeName.MatchString(name):
		r.fault("name", "must be 1-40 of a-z 0-9 -, with a letter or digit first")
	case taken[name]:
		r.fault("name", "belongs to another rule")
	}
	taken[name] = true
	return name
}
