//go:build unix

package faults

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// mostShown bounds how many violations of one fault are printed.
const mostShown = 20

// verdict is the one word for it.
func (r *result) verdict() string {
	switch {
	case r.left():
		return "not run"
	case r.failed != nil:
		return "BROKEN OFF"
	case len(r.c.found) > 0:
		return fmt.Sprintf("%d VIOLATIONS", len(r.c.found))
	}
	return "survived"
}

// print tells everything about one fault.
func (r *result) print(w io.Writer) {
	c, got := r.c, &r.got
	if r.left() {
		fmt.Fprintf(w, "%-18s %v\n", c.fault.name, r.failed)
		return
	}
	fmt.Fprintf(w, "%-18s %s: %d questions in %s, %.0f a second; last card %s later; %s in all\n", c.fault.name, r.verdict(), len(c.stories),
		got.took.Round(time.Second), float64(len(c.stories))/max(1, got.took.Seconds()), got.converged.Round(100*time.Millisecond), r.took.Round(time.Second))
	fmt.Fprintf(w, "    happened: %s\n", c.shown())
	fmt.Fprintf(w, "    ended: %s; ran: %d; events: %d; checked: %d\n", list(got.ended), got.ran, got.events, got.checks)
	fmt.Fprintf(w, "    told: %s\n", list(got.told))
	fmt.Fprintf(w, "    cards: %s; healed by a press: %d\n", list(got.cards), got.orphans)
	for _, note := range c.notes {
		fmt.Fprintf(w, "    %s\n", note)
	}
	if r.failed != nil {
		fmt.Fprintf(w, "    ! %v\n", r.failed)
	}
	for i, v := range c.found {
		if i == mostShown {
			fmt.Fprintf(w, "    ! and %d more\n", len(c.found)-i)
			break
		}
		fmt.Fprintf(w, "    ! %s\n", v)
	}
}

// table lists all faults, in the order in which they were begun.
func table(w io.Writer, results []*result) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "fault\tquestions\tdecisions\thappened\tkills\tcards\tchecks\tduration\tverdict")
	for _, r := range results {
		c := r.c
		happened := 0
		if len(c.fault.shows) > 0 {
			happened = c.happened[c.fault.shows[0].what]
		}
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%s\t%s\n", c.fault.name, len(c.stories), sum(r.got.ended), happened,
			c.happened[killedReplicas], sum(r.got.cards), r.got.checks, r.took.Round(time.Second), r.verdict())
	}
	_ = t.Flush() // Where this cannot be printed, nothing can.
}

func sum[K comparable](m map[K]int) int {
	all := 0
	for _, n := range m {
		all += n
	}
	return all
}

// list prints counts in a fixed order.
func list[K cmp.Ordered](m map[K]int) string {
	parts := make([]string, 0, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, fmt.Sprintf("%v %d", k, m[k]))
	}
	return strings.Join(parts, ", ")
}
