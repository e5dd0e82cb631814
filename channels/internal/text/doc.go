// Package text measures, cuts and splits what goes to a messenger, in the way that is
// the same on all of them. What differs is given: how much of a limit a character
// takes, and which characters a platform's clients do not show.
//
// It does not escape: that is each platform's own. Whoever escapes measures what
// comes of it, by the cost of each character.
package text
