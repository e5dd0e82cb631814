package redact

import (
	"strings"

	"github.com/saysohq/sayso/core"
)

// Bounds of the argument lines (R81).
const (
	maxLines     = 6
	maxLineValue = 300 // Code points.
	maxLineLabel = 40  // Code points.
)

// subject gathers what is shown of one action. After exec or plugin the raw
// arguments are not reachable from it.
type subject struct {
	walker
	truncated bool

	command    string // Exec: redacted, not yet visible.
	folder     Safe
	executable Safe
	arguments  *node // Plugin: redacted.
	lines      []core.Line
	detail     core.Detail
}

// exec takes the arguments of a command apart: argv or command, folder or cwd,
// executable, env. Whatever else is given is shown too: what you see is what runs.
func (s *subject) exec(args *node) error {
	const field = "operation.arguments"
	if args.kind != objectNode {
		return core.Invalid(field, "must be an object for a command")
	}
	taken := make(map[string]*node, 8)
	rest := node{kind: objectNode}
	for i := range args.kids {
		switch kid := &args.kids[i]; kid.name {
		case "argv", "command", "folder", "executable", "env":
			taken[kid.name] = kid
		case "cwd":
			if member(args, "folder") == nil {
				taken["folder"] = kid
				continue
			}
			rest.kids = append(rest.kids, *kid)
		default:
			rest.kids = append(rest.kids, *kid)
		}
	}
	if err := s.commandOf(taken["argv"], taken["command"]); err != nil {
		return err
	}
	var err error
	if s.folder, err = s.place(taken["folder"], field+".folder"); err != nil {
		return err
	}
	if s.executable, err = s.place(taken["executable"], field+".executable"); err != nil {
		return err
	}
	env, err := s.environment(taken["env"])
	if err != nil {
		return err
	}
	s.walk(&rest, asScript)
	if env != "" {
		s.line("Environment", env)
	}
	s.linesOf(&rest, "")
	s.detail = execDetail(s, env, &rest)
	return nil
}

func member(n *node, name string) *node {
	for i := range n.kids {
		if n.kids[i].name == name {
			return &n.kids[i]
		}
	}
	return nil
}

func (s *subject) commandOf(argv, command *node) error {
	switch {
	case (argv == nil) == (command == nil):
		return core.Invalid("operation.arguments", "must have either argv or command for a command")
	case command != nil && (command.kind != stringNode || strings.TrimSpace(command.text) == ""):
		return core.Invalid("operation.arguments.command", "must be a string that is not blank")
	case command != nil:
		spans := secretSpans(command.text, asScript)
		s.mixed = MixedScript(command.text)
		s.redacted = len(spans) > 0
		s.command = mask(command.text, spans)
		return nil
	case argv.kind != arrayNode || len(argv.kids) == 0:
		return core.Invalid("operation.arguments.argv", "must be an array of at least one string")
	}
	words := make([]string, len(argv.kids))
	for i := range argv.kids {
		if argv.kids[i].kind != stringNode {
			return core.Invalid("operation.arguments.argv", "must be an array of at least one string")
		}
		words[i] = argv.kids[i].text
		s.mixed = s.mixed || MixedScript(words[i])
	}
	if words[0] == "" {
		return core.Invalid("operation.arguments.argv", "must start with a program")
	}
	s.command, s.redacted = commandLine(words)
	return nil
}

// place reads an optional path.
func (s *subject) place(n *node, field string) (Safe, error) {
	if n == nil || n.kind == literalNode && n.text == "null" {
		return "", nil
	}
	if n.kind != stringNode {
		return "", core.Invalid(field, "must be a string")
	}
	return Visible(s.text(n.text, asText)), nil
}

// environment lists the names of variables. Their values are never shown.
func (s *subject) environment(n *node) (Safe, error) {
	if n == nil || n.kind == literalNode && n.text == "null" {
		return "", nil
	}
	names := make([]string, 0, len(n.kids))
	for i := range n.kids {
		kid := &n.kids[i]
		switch name := member(kid, "name"); {
		case n.kind == objectNode:
			names = append(names, kid.name)
		case kid.kind == stringNode:
			before, _, _ := strings.Cut(kid.text, "=")
			names = append(names, before)
		case name != nil && name.kind == stringNode:
			names = append(names, name.text)
		default:
			return "", core.Invalid("operation.arguments.env", "must be an object or an array of NAME=value")
		}
	}
	if n.kind != objectNode && n.kind != arrayNode {
		return "", core.Invalid("operation.arguments.env", "must be an object or an array of NAME=value")
	}
	s.redacted = s.redacted || len(names) > 0
	for i, name := range names {
		names[i] = string(Visible(s.text(name, asText)))
	}
	return Safe(strings.Join(names, ", ")), nil
}

// plugin takes arguments of any form.
func (s *subject) plugin(args *node) {
	s.walk(args, asText)
	s.arguments = args
	s.address(args)
	if args.kind == objectNode {
		s.linesOf(args, "")
	} else {
		s.line("Arguments", notationOf(args))
	}
	s.detail = pluginDetail(args)
}

// address puts the first URL among the arguments on a line of its own (R82).
func (s *subject) address(args *node) {
	if kid := addressOf(args); kid != nil {
		s.line("Address", Visible(kid.text))
	}
}

func addressOf(args *node) *node {
	if args.kind != objectNode {
		return nil
	}
	for i := range args.kids {
		if kid := &args.kids[i]; kid.kind == stringNode && URLField(kid.name) && strings.Contains(kid.text, "://") {
			return kid
		}
	}
	return nil
}

// URLField reports whether an argument of this name holds the address that a call
// reaches out to (R82): url, target_url, webhookUrl, uri, href, link, endpoint,
// address, website.
func URLField(name string) bool {
	words := nameWords(name)
	if len(words) == 0 {
		return false
	}
	switch words[len(words)-1] {
	case "url", "uri", "href", "link", "endpoint", "address", "website", "webhook":
		return true
	}
	return false
}

// more fills lines that the arguments left free with the caller's metadata (R94).
// It is marked, because it is no part of what the hash covers.
func (s *subject) more(details *node) {
	s.walk(details, asText)
	s.linesOf(details, " (info)")
}

// linesOf adds the members of an object, in their order, without those whose names
// say that they are secret (R81).
func (s *subject) linesOf(n *node, note Safe) {
	address := addressOf(n)
	for i := range n.kids {
		kid := &n.kids[i]
		if SensitiveName(kid.name) || note == "" && kid == address && len(s.lines) > 0 && s.lines[0].Label == "Address" {
			continue
		}
		if len(s.lines) == maxLines {
			s.truncated = s.truncated || note == ""
			return
		}
		value := Safe("")
		if kid.kind == stringNode {
			value = Visible(kid.text)
		} else {
			value = notationOf(kid)
		}
		label, _ := Visible(kid.name).Limit(maxLineLabel)
		s.line(label+note, value)
	}
}

func (s *subject) line(label, value Safe) {
	value, cut := value.Limit(maxLineValue)
	s.truncated = s.truncated || cut
	s.lines = append(s.lines, core.Line{Label: string(label), Value: string(value), Cut: cut})
}
