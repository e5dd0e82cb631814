// Command sayso asks a person before a machine acts.
//
// It is the service (sayso serve) and the client of it: ask and wait in a script,
// run a command that was approved, list and deny from a terminal, pair a phone,
// manage people and tokens. One small file per command.
//
// What a command prints on standard output is its result and nothing else;
// progress and faults go to standard error. Exit codes of ask, run and wait: 0
// allowed (for run: the command's own code), 10 denied, 11 expired, 12 cancelled,
// 13 still pending, 64 usage, 69 service unreachable, 77 not permitted.
package main
