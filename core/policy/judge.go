package policy

import (
	"bytes"
	"strings"

	"github.com/saysohq/sayso/core"
)

// judgement is step 0: what would really run, and how much that is.
type judgement struct {
	name     toolName
	document document
	readable bool

	class  core.Class
	source string
	listed bool   // By exactly this spelling.
	entry  *entry // The tables' word; nil where they say nothing.
	server *Server

	operation   string // What rules know the operation by.
	single      bool   // Exactly that one would run.
	interpreter *interpreter
	aims        aims
}

// command is how a call of kind exec is read where no table describes its tool.
func command() *interpreter {
	return &interpreter{
		text:   [][]string{{"argv"}, {"command"}, {"executable"}},
		folder: [][]string{{"folder"}, {"cwd"}},
	}
}

// judge classifies a call. Whatever is unclear about it can only make it stricter.
func (p *Policy) judge(r *Request, facts Facts) judgement {
	j := judgement{name: p.parseName(r.Runtime, r.Tool), single: true, operation: r.Operation}
	if r.Kind != core.KindPlugin { // No server's tool is a command: whose it is stays open.
		j.name.server, j.name.tool = "", j.name.full
	}
	j.document, j.readable = readable(r.Arguments)
	j.server = p.serverOf(r.Runtime, j.name)
	j.entry = p.tools.lookup(r.Runtime, j.name)
	floor := p.floors.lookup(r.Runtime, j.name)
	j.listed = j.entry != nil || floor != nil

	if j.entry != nil {
		j.take(j.entry.judge(r, j.document, p))
		j.interpreter = j.entry.interpreter
	} else if floor == nil {
		j.class, j.source = p.unlisted(r, &j)
	}
	if floor != nil {
		f := floor.judge(r, j.document, p)
		if j.entry == nil {
			j.take(f)
		} else {
			j.raise(f.class, f.source)
		}
	}
	if p.forced(r.Runtime) {
		p.ground(r, &j, floor)
	}
	p.runs(r, &j, facts)
	return j
}

func (j *judgement) take(by judgedBy) {
	j.class, j.source, j.operation, j.single = by.class, by.source, by.value, by.single
}

func (j *judgement) raise(c core.Class, source string) {
	if rank(c) > rank(j.class) {
		j.class, j.source = c, source
	}
}

// unlisted is the class of a tool that no table lists: send (R37), or stricter where
// its name comes close to a stricter tool, or says that it spends or deletes.
func (p *Policy) unlisted(r *Request, j *judgement) (core.Class, string) {
	class, source := core.ClassSend, SourceUnlisted
	for _, e := range p.hints[hintKey(j.name.server, j.name.tool)] {
		if near := e.judge(r, j.document, p).class; rank(near) > rank(class) {
			class, source = near, SourceSimilarName
		}
	}
	if class != core.ClassMoney && (p.money(r.Tool) || p.money(r.Operation)) {
		class, source = core.ClassMoney, SourceMoneyWord
	}
	return class, source
}

// ground is the class that a call has without the operator's word: under a Force
// that word can only make stricter.
func (p *Policy) ground(r *Request, j *judgement, floor *entry) {
	starter := p.starter.lookup(r.Runtime, j.name)
	if starter != nil {
		by := starter.judge(r, j.document, p)
		j.raise(by.class, by.source)
	}
	if starter == nil && floor == nil {
		j.raise(p.unlisted(r, j))
	}
}

// forced reports whether the organisation makes calls of the runtime ask.
func (p *Policy) forced(runtime string) bool {
	for i := range p.forces {
		if p.forces[i].in.covers(runtime) {
			return true
		}
	}
	return false
}

// runs judges commands: what runs whatever it is told is at least send (R44), and
// stricter where it names a program that is. In a sandbox that the runtime attested,
// and that an automatic policy trusts with this tool, a program deletes what is the
// sandbox's own; there the tool's own class stands (R64), unless the organisation has
// a word in it.
func (p *Policy) runs(r *Request, j *judgement, facts Facts) {
	if r.Kind != core.KindPlugin {
		if j.interpreter == nil {
			j.interpreter = command()
		}
		j.raise(core.ClassSend, SourceCommand)
	}
	if j.interpreter == nil || len(j.document) == 0 || p.contained(r, j, facts) {
		return
	}
	for _, path := range j.interpreter.text {
		s := search{p: p}
		visit(j.document, path, MaxPath, s.text)
		if s.found {
			j.raise(s.class, SourceProgram)
		}
	}
}

// contained reports whether the call stays in a sandbox that an automatic policy
// trusts with the tool.
func (p *Policy) contained(r *Request, j *judgement, facts Facts) bool {
	if j.name.mcp || p.forced(r.Runtime) {
		return false
	}
	for i := range p.auto {
		a := &p.auto[i]
		if _, named := a.tools[r.Tool]; named && a.confines() && a.missing(facts) == "" {
			return true
		}
	}
	return false
}

// search looks for programs in the text of a command.
type search struct {
	p     *Policy
	class core.Class
	found bool
	open  []program // Seen, and waiting for one of their words.
}

func (s *search) text(v []byte) {
	words(v, true, func(w []byte) bool {
		w = bytes.TrimSuffix(bytes.TrimLeft(w, "-"), []byte(".exe"))
		for i := range s.open {
			if _, ok := s.open[i].words[string(w)]; ok {
				s.take(s.open[i].class)
			}
		}
		for _, pr := range s.p.programs[string(w)] {
			const most = 16 // Open programs; a command that names more is read no further for words.
			if len(pr.words) == 0 {
				s.take(pr.class)
			} else if len(s.open) < most {
				s.open = append(s.open, pr)
			}
		}
		return s.class != core.ClassMoney
	})
}

func (s *search) take(c core.Class) {
	if !s.found || rank(c) > rank(s.class) {
		s.class, s.found = c, true
	}
}

// visit calls found for every plain value below the path, to a bounded depth.
func visit(value []byte, path []string, depth int, found func([]byte)) {
	switch {
	case depth == 0:
	case value[0] == '[':
		for it := (iterator{rest: value[1:]}); it.element(); {
			visit(it.value, path, depth-1, found)
		}
	case value[0] == '{':
		for it := (iterator{rest: value[1:]}); it.member(); {
			switch {
			case len(path) == 0:
				visit(it.value, nil, depth-1, found)
			case strings.EqualFold(string(it.name), path[0]):
				visit(it.value, path[1:], depth-1, found)
			}
		}
	case len(path) == 0:
		found(text(value))
	}
}

// money reports whether a name has a word that stands for spending or deleting.
func (p *Policy) money(name string) bool {
	hit := false
	words(name, false, func(w []byte) bool {
		_, hit = p.words[string(w)]
		return !hit
	})
	return hit
}

// serverOf is what the operator says of the server, for this runtime first.
func (p *Policy) serverOf(runtime string, n toolName) *Server {
	if n.server == "" {
		return nil
	}
	if s := p.servers[serverKey{runtime, n.server}]; s != nil {
		return s
	}
	return p.servers[serverKey{"", n.server}]
}
