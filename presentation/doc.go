// Package presentation turns the committed record into the neutral card that
// every surface lays out: wording, facts, marks and typed actions. It is pure: no
// I/O, no clock, no platform.
package presentation
