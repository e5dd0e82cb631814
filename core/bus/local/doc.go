// Package local is the bus of a single process: hints go from the writer of a
// change to everyone in the process who looks again. It keeps nothing, and a
// subscriber that is slow misses nothing that matters: what overflows becomes one
// zero hint, "look at everything again".
package local
