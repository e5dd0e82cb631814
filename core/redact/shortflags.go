package redact

import "strings"

// headBytes is how much of a command before a flag is looked at for its program.
const headBytes = 256

// Programs whose one-letter flags take a password. A letter alone says nothing:
// -p is a port, a path, a project elsewhere.
var (
	passwordNext     = [...]string{"sshpass", "docker login", "podman login", "nerdctl login", "buildah login", "skopeo login", "registry login", "oc login", "az login"}
	passwordAttached = [...]string{"mysql", "mariadb"}
)

// shortFlag reports whether name, behind a single dash, gives a password to the
// program of the command that head is the beginning of: in the next argument, or
// attached to its letter.
func shortFlag(head, name string) (next, attached bool) {
	contains := func(programs []string) bool {
		for _, p := range programs {
			if strings.Contains(head, p) {
				return true
			}
		}
		return false
	}
	switch {
	case name == "p":
		return contains(passwordNext[:]), false
	case name == "a":
		return strings.Contains(head, "redis-cli"), false
	case strings.HasPrefix(name, "p"):
		return false, contains(passwordAttached[:])
	}
	return false, false
}

// headOf is the command up to i, from the last place where one may begin.
func headOf(s string, i int) string {
	head := s[max(0, i-headBytes):i]
	return head[strings.LastIndexAny(head, ";|&\n(")+1:]
}

// headOfList is the program and its subcommand of an argument list.
func headOfList(argv []string, i int) string {
	const words = 4
	var head strings.Builder
	for _, arg := range argv[:min(i, words)] {
		name := arg[strings.LastIndexByte(arg, '/')+1:]
		head.WriteString(name[:min(len(name), headBytes/words)] + " ")
	}
	return head.String()
}
