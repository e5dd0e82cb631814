//go:build unix

package faults

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// mostShown bounds how many violations of one fault are printed.
const mostShown = 20

// report prints one fault's summary.
func (c *campaign) report(w io.Writer, got *counts, took time.Duration, failed error) {
	verdict := "survived"
	switch {
	case failed != nil:
		verdict = "BROKEN OFF"
	case len(c.found) > 0:
		verdict = fmt.Sprintf("%d VIOLATIONS", len(c.found))
	}
	fmt.Fprintf(w, "%-18s %s: %d questions in %s, last card %s later, %s in all\n", c.fault.name, verdict, len(c.stories),
		got.took.Round(time.Second), got.converged.Round(100*time.Millisecond), took.Round(time.Second))
	fmt.Fprintf(w, "    ended: %s; ran: %d; events: %d\n", list(got.ended), got.ran, got.events)
	fmt.Fprintf(w, "    told: %s\n", list(got.told))
	fmt.Fprintf(w, "    cards: %s; healed by a press: %d\n", list(got.cards), got.orphans)
	for _, note := range c.notes {
		fmt.Fprintf(w, "    %s\n", note)
	}
	for i, v := range c.found {
		if i == mostShown {
			fmt.Fprintf(w, "    ! and %d more\n", len(c.found)-i)
			break
		}
		fmt.Fprintf(w, "    ! %s\n", v)
	}
}

// list prints counts in a fixed order.
func list[K cmp.Ordered](m map[K]int) string {
	parts := make([]string, 0, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, fmt.Sprintf("%v %d", k, m[k]))
	}
	return strings.Join(parts, ", ")
}
