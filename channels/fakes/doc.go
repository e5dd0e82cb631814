// Package fakes is the vocabulary that the fake messengers share: scripted
// faults, violations of a platform's rules, waiting for something to happen, and
// what a person would see of a message.
//
// A fake is a real HTTP server with its own wire structs. It keeps the rules of
// its platform by hand-written checks, always, and by the platform's official
// specification where SAYSO_SPECS names the folder that holds it. A request that
// breaks a rule is refused as the platform would refuse it and recorded as a
// violation; tests fail on any violation.
//
// A fake with Limits also keeps what the platform takes in a while: it says "too many
// requests" of its own accord, and counts who comes back too early. Without, it does
// so only where its Script says so.
//
// The fakes are for tests and for the playground. Nothing that serves people
// imports them.
package fakes
