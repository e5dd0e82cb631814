// Package policy answers one question: does this call ask a person, run unasked,
// or get refused? It is the only place where that is decided (R59).
//
// The evaluation is pure: it takes the request and a snapshot of the rules and
// returns a verdict with the trail that led to it; any error asks. This version
// knows one posture: everything is class "send", asks, and offers no rule. Classes,
// modes and rules fill in the same Verdict without a change to its callers.
package policy
