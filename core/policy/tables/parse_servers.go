package tables

import (
	"go.yaml.in/yaml/v3"

	"github.com/saysohq/sayso/core/policy"
)

func (d *decoder) profile(n *yaml.Node, at string) policy.Profile {
	var p policy.Profile
	d.mapping(n, at, func(key string, v *yaml.Node, at string) bool {
		switch key {
		case "name":
			p.Name = d.text(v, at)
		case "tools":
			p.Tools = d.tools(v, at)
		default:
			return false
		}
		return true
	})
	return p
}

func (d *decoder) server(n *yaml.Node, at string) policy.Server {
	var s policy.Server
	d.mapping(n, at, func(key string, v *yaml.Node, at string) bool {
		switch key {
		case "name":
			s.Name = d.text(v, at)
		case "runtimes":
			s.Runtimes = d.given(v, at)
		case "like":
			s.Like = d.text(v, at)
		case "prefixes":
			s.Prefixes = d.texts(v, at)
		case "exempt":
			s.Exempt = d.flag(v, at)
		case "require":
			s.Require = d.texts(v, at)
		default:
			return false
		}
		return true
	})
	return s
}

// autoPolicy needs facts: a list of values, or "any".
func (d *decoder) autoPolicy(n *yaml.Node, at string) policy.AutoPolicy {
	a := policy.AutoPolicy{Needs: map[policy.Fact][]string{}}
	d.mapping(n, at, func(key string, v *yaml.Node, at string) bool {
		switch key {
		case "id":
			a.ID = d.text(v, at)
		case "tools":
			a.Tools = d.texts(v, at)
		case "needs":
			d.mapping(v, at, func(fact string, v *yaml.Node, at string) bool {
				if v.Kind == yaml.ScalarNode && v.Value == "any" {
					a.Needs[policy.Fact(fact)] = nil
				} else {
					a.Needs[policy.Fact(fact)] = d.given(v, at)
				}
				return true
			})
		default:
			return false
		}
		return true
	})
	return a
}

func (d *decoder) program(n *yaml.Node, at string) policy.Program {
	var p policy.Program
	d.mapping(n, at, func(key string, v *yaml.Node, at string) bool {
		switch key {
		case "names":
			p.Names = d.texts(v, at)
		case "words":
			p.Words = d.given(v, at)
		case "class":
			p.Class = d.class(v, at)
		default:
			return false
		}
		return true
	})
	return p
}

func (d *decoder) force(n *yaml.Node, at string) policy.Force {
	var f policy.Force
	d.mapping(n, at, func(key string, v *yaml.Node, at string) bool {
		switch key {
		case "runtimes":
			f.Runtimes = d.given(v, at)
		case "from":
			f.From = d.class(v, at)
		default:
			return false
		}
		return true
	})
	return f
}
