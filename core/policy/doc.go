// Package policy answers one question: does this call ask a person, run unasked,
// or get refused? It is the only place where that is decided (R59).
//
// # From table to verdict
//
//	starter table ┐
//	operator's    ├─ New ─▶ Policy ──┐
//	organisation  ┘   (or findings)  ├─ Evaluate ─▶ Verdict with its trail
//	request (tool, operation, arguments) ─────┤
//	inputs (mode, facts, rules, decline) ─────┘
//
// Tables say of each tool what it does: it reads, writes, sends, or spends and
// deletes. They are layered: the operator's adds to the starter's, and must say so
// where it makes something less strict; the organisation's is a floor that no
// other table lowers. New compiles them, or refuses them with findings that name
// the place and the fault.
//
// Evaluate takes the steps in one fixed order, each able to end the walk:
//
//	0 class           what will really run, by the tables
//	1 identity        tools that always ask
//	2 read            runs; counted, no record
//	3 sticky-decline  a person has just said no to this very action
//	4 organisation    the organisation makes it ask
//	5 unlisted-mcp    a tool of a tool server that nobody has described
//	6 always-allow    a person's rule, or the server's exemption
//	7 auto-policy     facts that the runtime attested, such as its sandbox
//	8 mode            the agent's mode asks for this class
//	9 default         nothing asked
//
// # What it promises
//
// It is pure: the same policy, request and inputs give the same verdict, without
// clock, I/O or state. It is total: no input makes it panic. It fails closed:
// whatever cannot be read asks, so do tables that are not those in force in the rest
// of the deployment (Source), whatever is spelled in a misleading way is judged
// by the strictest of its readings, and a guess (a word in an unlisted name) only
// ever makes a call stricter. Nothing is "money" and automatic but by a person's
// explicit money switch. Nothing in a request is an opinion on policy: a member of
// the arguments counts only where an operator's table names it (R60).
//
// # What it does not do
//
// It reads no files (the package tables does), keeps no rules (a store does; Rules
// is an index over a snapshot of them) and asks nobody. It does not understand
// shell: a command is "send" whatever it says, and the programs that it names can
// only raise that. It does not see what a tool does beyond its arguments; a
// runtime that lies about what it runs has to be stopped by its sandbox.
package policy
