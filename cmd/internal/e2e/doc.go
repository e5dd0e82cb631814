// Package e2e tests sayso as its users meet it: the real binary, started as a
// process of its own over a data folder of its own, with a messenger that is a
// real HTTP server (the Telegram fake), a real browser, and real commands that ask
// and wait.
//
// Nothing of the service is reached into. A test knows what a person could see (a
// message, a page, an exit code) and what a program could read (the API), and it
// may do to the processes what the world does to them: stop them, kill them, start
// them again, lose their packets half-way.
//
// The stories of a fleet start two such processes on one real PostgreSQL database, each
// over a cable that can be cut, behind a proxy, with a real Redis where the story has
// one.
//
// # What it promises
//
// Whatever a test started ends with it, also when it fails: every process leads a
// process group that is killed at the end and dies with the test binary. No test
// sleeps; all of them wait for something to be seen, with a deadline. Every world
// also checks what must hold in any story: the messenger's rules were kept, a stop
// in good order ends with exit code 0, and the log holds none of the words that
// people and agents wrote.
//
// # What it does not do
//
// Rules with many cases are tested where they live; here is one story for each
// way in which the parts could fail to fit.
package e2e
