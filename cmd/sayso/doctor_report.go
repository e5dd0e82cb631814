package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/api"
)

// showExamination prints the report on standard output.
func (c *connection) showExamination(e *api.Examination, asJSON bool) error {
	if asJSON {
		return printJSON(c.env.stdout, e)
	}
	return writeReport(c.env.stdout, e.Findings)
}

// writeReport writes one line per check, and under each that is not in order what to
// do. Accounts stand together, in the order in which they come.
func writeReport(w io.Writer, found []api.Finding) error {
	var b strings.Builder
	bad := 0
	for i, group := range grouped(found) {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintln(&b, title(group[0]))
		for _, f := range group {
			writeFinding(&b, f)
			if f.Verdict != api.HealthOK {
				bad++
			}
		}
	}
	if bad == 0 {
		b.WriteString("\nAll is well.\n")
	} else {
		fmt.Fprintf(&b, "\n%d of %d checks need you.\n", bad, len(found))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// grouped splits findings by account, those of no account first.
func grouped(found []api.Finding) [][]api.Finding {
	at := map[core.AccountRef]int{}
	var groups [][]api.Finding
	for _, f := range found {
		ref := core.AccountRef{Channel: f.Channel, Account: f.Account}
		i, known := at[ref]
		if !known {
			i = len(groups)
			at[ref] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], f)
	}
	return groups
}

func title(f api.Finding) string {
	if f.Channel == core.SurfaceNone {
		return "sayso"
	}
	return string(f.Channel) + " " + f.Account
}

func writeFinding(b *strings.Builder, f api.Finding) {
	mark := map[api.Health]string{api.HealthOK: "✓", api.HealthFailed: "✗", api.HealthUnknown: "?", api.HealthWaiting: "…"}[f.Verdict]
	fmt.Fprintf(b, "  %s %s", mark, f.Check)
	if f.Name != "" {
		fmt.Fprintf(b, " (%s)", f.Name)
	}
	if f.Detail != "" {
		// What a configuration complains about has a line for each fault.
		fmt.Fprintf(b, ": %s", strings.ReplaceAll(f.Detail, "\n", "\n      "))
	}
	if f.Mended {
		b.WriteString(" (mended just now)")
	}
	b.WriteString("\n")
	if f.Fix != "" {
		fmt.Fprintf(b, "      %s\n", f.Fix)
	}
}
