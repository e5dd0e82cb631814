package policy

import (
	"fmt"
	"slices"
	"strings"
)

// profilesOf compiles a table's profiles for what they warn of. Where a server is
// like one, it is compiled again under that server's name.
func (c *compiler) profilesOf(t *Table) {
	for i := range t.Profiles {
		pr, at := &t.Profiles[i], fmt.Sprintf("profiles[%d]", i)
		if !c.name(at+".name", pr.Name) {
			continue
		}
		if c.profiles[pr.Name] != nil {
			c.find(FindingDuplicate, at, pr.Name, "a profile of this name is already there")
		}
		c.profiles[pr.Name] = pr
		scratch := listing{}
		for j := range pr.Tools {
			tool := pr.Tools[j]
			if tool.Server != "" || len(tool.Runtimes) > 0 {
				c.find(FindingContradicts, fmt.Sprintf("%s.tools[%d]", at, j), "", "a profile is not about one server or runtime")
			}
			c.tool(fmt.Sprintf("%s.tools[%d]", at, j), &tool, pr.Name, scratch)
		}
		for k, e := range scratch { // Until a server is like it, a profile only warns.
			c.p.hint(k, e)
		}
	}
}

func (c *compiler) serversOf(t *Table, layer listing) {
	for i := range t.Servers {
		s, at := &t.Servers[i], fmt.Sprintf("servers[%d]", i)
		if !c.serverName(at+".name", s.Name) || !c.runtimes(at, s.Runtimes) {
			continue
		}
		for _, runtime := range extent(s.Runtimes).each() {
			k := serverKey{runtime, s.Name}
			if c.p.servers[k] != nil {
				c.find(FindingDuplicate, at, s.Name, "the server is already there")
			}
			c.p.servers[k] = s
		}
		for j, x := range s.Prefixes {
			if len(x) < 2 || !wellNamed(x) || !strings.ContainsRune("_.:/-", rune(x[len(x)-1])) {
				c.find(FindingBadName, fmt.Sprintf("%s.prefixes[%d]", at, j), s.Name, "must be a name that ends in one of _ . : / -")
			}
			if slices.ContainsFunc(c.p.prefixes, func(y prefix) bool { return y.prefix == x && y.server != s.Name }) {
				c.find(FindingContradicts, fmt.Sprintf("%s.prefixes[%d]", at, j), s.Name, "the prefix is another server's")
			}
			c.p.prefixes = append(c.p.prefixes, prefix{x, s.Name, s.Runtimes})
		}
		for j, r := range s.Require {
			c.name(fmt.Sprintf("%s.require[%d]", at, j), r)
		}
		c.like(at, s, layer)
	}
}

// like gives a server the tools of its profile, below what the table itself lists.
func (c *compiler) like(at string, s *Server, layer listing) {
	if s.Like == "" {
		return
	}
	pr := c.profiles[s.Like]
	if pr == nil {
		c.find(FindingUnknownLike, at+".like", s.Name, "there is no such profile")
		return
	}
	described := listing{}
	for j := range pr.Tools {
		tool := pr.Tools[j]
		tool.Runtimes = s.Runtimes
		c.tool(fmt.Sprintf("%s.like.tools[%d]", at, j), &tool, s.Name, described)
	}
	for k, e := range described {
		e.borrowed = true
		if own := layer[k]; own != nil {
			own.over(e)
			c.loosens(at, own, e)
		} else {
			layer[k] = e
		}
	}
}

// hint remembers an entry under the skeleton of its name.
func (p *Policy) hint(k toolKey, e *entry) {
	s := hintKey(k.server, k.tool)
	if !slices.Contains(p.hints[s], e) {
		p.hints[s] = append(p.hints[s], e)
	}
}

func (p *Policy) hintAll() {
	for _, l := range []listing{p.starter, p.tools, p.floors} {
		for k, e := range l {
			p.hint(k, e)
		}
	}
}

// hintKey joins what two spellings of one tool have in common. Server and tool are
// not kept apart: a name that leaves open where to cut it is found too.
func hintKey(server, tool string) string { return skeleton(server) + skeleton(tool) }
