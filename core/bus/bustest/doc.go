// Package bustest is the suite that every bus must pass, without opt-outs.
package bustest
