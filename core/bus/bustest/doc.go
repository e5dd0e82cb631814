// Package bustest is the suite that every bus must pass, without opt-outs, as two
// replicas have it: hints arrive here and there, once, in the order of their publisher
// and unchanged; a slow subscriber blocks nobody; and a bus may say at any time that
// everything may have changed.
package bustest
