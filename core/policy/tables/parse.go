package tables

import (
	"slices"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/policy"
)

// ParseTable reads an operator's table. It checks the form; policy.New checks what it
// says. Errors: *SyntaxError (ErrInvalid).
func ParseTable(b []byte) (policy.Table, error) { return (&decoder{}).table(b) }

func (d *decoder) table(b []byte) (policy.Table, error) {
	root, err := document(b)
	if err != nil {
		return policy.Table{}, err
	}
	var t policy.Table
	d.versioned(root, func(key string, v *yaml.Node, at string) bool {
		switch key {
		case "mode":
			t.DefaultMode = d.mode(v, at)
		case "sticky_decline":
			t.StickyDecline = d.duration(v, at)
		case "always_ask":
			t.AlwaysAsk = d.texts(v, at)
		case "tools":
			t.Tools = d.tools(v, at)
		case "profiles":
			d.list(v, at, func(v *yaml.Node, at string) { t.Profiles = append(t.Profiles, d.profile(v, at)) })
		case "servers":
			d.list(v, at, func(v *yaml.Node, at string) { t.Servers = append(t.Servers, d.server(v, at)) })
		case "auto_policies":
			d.list(v, at, func(v *yaml.Node, at string) { t.AutoPolicies = append(t.AutoPolicies, d.autoPolicy(v, at)) })
		case "money_words":
			t.MoneyWords = d.texts(v, at)
		case "programs":
			d.list(v, at, func(v *yaml.Node, at string) { t.Programs = append(t.Programs, d.program(v, at)) })
		default:
			return false
		}
		return true
	})
	return t, d.err()
}

// ParseOrganisation reads an organisation's policy. Errors: *SyntaxError (ErrInvalid).
func ParseOrganisation(b []byte) (policy.Organisation, error) { return (&decoder{}).organisation(b) }

func (d *decoder) organisation(b []byte) (policy.Organisation, error) {
	root, err := document(b)
	if err != nil {
		return policy.Organisation{}, err
	}
	var o policy.Organisation
	d.versioned(root, func(key string, v *yaml.Node, at string) bool {
		switch key {
		case "always_ask":
			o.AlwaysAsk = d.texts(v, at)
		case "tools":
			o.Tools = d.tools(v, at)
		case "ask":
			d.list(v, at, func(v *yaml.Node, at string) { o.Ask = append(o.Ask, d.force(v, at)) })
		default:
			return false
		}
		return true
	})
	return o, d.err()
}

// versioned reads the members of a whole document, which says its version.
func (d *decoder) versioned(root *yaml.Node, member func(key string, v *yaml.Node, at string) bool) {
	given := false
	d.mapping(root, "", func(key string, v *yaml.Node, at string) bool {
		if key == "version" {
			given = true
			d.version(v, at)
			return true
		}
		return member(key, v, at)
	})
	if !given {
		d.fault(root, "version", "must be given: 1")
	}
}

func (d *decoder) mode(n *yaml.Node, at string) policy.Mode {
	m, err := policy.ParseMode(d.text(n, at))
	if err != nil || n.Value == "" {
		d.fault(n, at, "must be before-anything-outside, before-everything, only-money-and-deletes, or a known control level")
	}
	return m
}

func (d *decoder) duration(n *yaml.Node, at string) *time.Duration {
	if s := d.text(n, at); s != "" && s != "0" {
		v, err := time.ParseDuration(s)
		if err != nil {
			d.fault(n, at, "must be a duration such as 10m, or 0")
		}
		return &v
	}
	return new(time.Duration)
}

func (d *decoder) class(n *yaml.Node, at string) core.Class {
	c := core.Class(d.text(n, at))
	if !c.Valid() {
		d.fault(n, at, "must be read, write, send or money")
	}
	return c
}

func (d *decoder) tools(n *yaml.Node, at string) []policy.Tool {
	var out []policy.Tool
	d.list(n, at, func(v *yaml.Node, at string) { out = append(out, d.tool(v, at)) })
	return out
}

func (d *decoder) tool(n *yaml.Node, at string) policy.Tool {
	var t policy.Tool
	d.mapping(n, at, func(key string, v *yaml.Node, at string) bool {
		switch key {
		case "names":
			t.Names = d.texts(v, at)
		case "runtimes":
			t.Runtimes = d.given(v, at)
		case "server":
			t.Server = d.text(v, at)
		case "class":
			t.Class = d.class(v, at)
		case "by":
			t.By = d.by(v, at)
		case "reaches_no_one":
			d.list(v, at, func(v *yaml.Node, at string) { t.ReachesNoOne = append(t.ReachesNoOne, d.predicate(v, at)) })
		case "raise":
			d.list(v, at, func(v *yaml.Node, at string) { t.Raise = append(t.Raise, d.raise(v, at)) })
		case "always":
			d.always(v, at, &t)
		case "interpreter":
			t.Interpreter = d.interpreter(v, at)
		case "label":
			t.Label = d.text(v, at)
		case "once":
			t.Once = d.flag(v, at)
		case "delegates":
			t.Delegates = d.flag(v, at)
		case "loosens":
			t.Loosens = d.flag(v, at)
		default:
			return false
		}
		return true
	})
	return t
}

// given is a list whose being empty would mean the opposite of what it says.
func (d *decoder) given(n *yaml.Node, at string) []string {
	out := d.texts(n, at)
	if len(out) == 0 {
		d.fault(n, at, "must have members; leave it out to mean all")
	}
	return out
}

func (d *decoder) by(n *yaml.Node, at string) *policy.Mapping {
	m := &policy.Mapping{Values: map[core.Class][]string{}}
	d.mapping(n, at, func(key string, v *yaml.Node, at string) bool {
		switch key {
		case "field":
			m.Field = d.text(v, at)
		case "default":
			m.Default = d.text(v, at)
		case "ignore_case":
			m.IgnoreCase = d.flag(v, at)
		case string(core.ClassRead), string(core.ClassWrite), string(core.ClassSend), string(core.ClassMoney):
			m.Values[core.Class(key)] = d.texts(v, at)
		default:
			return false
		}
		return true
	})
	return m
}

// predicate is a mapping of fields to tests: "empty", a list of values that it must
// be one of, or one named test.
func (d *decoder) predicate(n *yaml.Node, at string) policy.Predicate {
	var p policy.Predicate
	d.mapping(n, at, func(field string, v *yaml.Node, at string) bool {
		c := policy.Condition{Field: field}
		switch v.Kind {
		case yaml.ScalarNode:
			if c.Empty = v.Value == "empty"; !c.Empty {
				d.fault(v, at, "must be empty, a list of values, is_not, domains or contains")
			}
		case yaml.SequenceNode:
			c.Is = d.given(v, at)
		default:
			d.mapping(v, at, func(key string, v *yaml.Node, at string) bool {
				switch key {
				case "is":
					c.Is = d.given(v, at)
				case "is_not":
					c.IsNot = d.given(v, at)
				case "domains":
					c.Domains = d.given(v, at)
				case "contains":
					c.Contains = d.given(v, at)
				default:
					return false
				}
				return true
			})
		}
		p = append(p, c)
		return true
	})
	return p
}

func (d *decoder) raise(n *yaml.Node, at string) policy.Raise {
	var r policy.Raise
	d.mapping(n, at, func(key string, v *yaml.Node, at string) bool {
		switch key {
		case "when":
			r.When = d.predicate(v, at)
		case "class":
			r.Class = d.class(v, at)
		default:
			return false
		}
		return true
	})
	return r
}

// always is "never", or a list of scopes: "operation", "tool", or a mapping of
// recipient or host to the fields where they stand.
func (d *decoder) always(n *yaml.Node, at string, t *policy.Tool) {
	if n.Kind == yaml.ScalarNode && n.Value == "never" {
		t.NoAlways = true
		return
	}
	d.list(n, at, func(v *yaml.Node, at string) {
		if v.Kind == yaml.ScalarNode {
			t.Always = append(t.Always, policy.AlwaysScope{Scope: policy.Scope(v.Value)})
			return
		}
		var a policy.AlwaysScope
		d.mapping(v, at, func(key string, v *yaml.Node, at string) bool {
			switch {
			case key == "form":
				a.Form = policy.Form(d.text(v, at))
			case a.Scope == "" && slices.Contains([]policy.Scope{policy.ScopeRecipient, policy.ScopeHost}, policy.Scope(key)):
				a.Scope, a.Fields = policy.Scope(key), d.given(v, at)
			default:
				return false
			}
			return true
		})
		t.Always = append(t.Always, a)
	})
	if len(t.Always) == 0 {
		d.fault(n, at, "must be never, or a list of scopes")
	}
}

func (d *decoder) interpreter(n *yaml.Node, at string) *policy.Interpreter {
	x := &policy.Interpreter{}
	d.mapping(n, at, func(key string, v *yaml.Node, at string) bool {
		switch key {
		case "text":
			x.Text = d.texts(v, at)
		case "folder":
			x.Folder = d.texts(v, at)
		case "ignore":
			x.Ignore = d.texts(v, at)
		default:
			return false
		}
		return true
	})
	return x
}
