package bench

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// The verdicts.
const (
	ok     = "ok"
	missed = "missed"
	noisy  = "noisy: no verdict"
	told   = "" // For information: there is no target.
)

// result is one row of the report.
type result struct {
	measure string
	value   string
	target  string
	verdict string
}

type report struct{ rows []result }

func (r *report) add(measure, value, target, verdict string) {
	r.rows = append(r.rows, result{measure, value, target, verdict})
}

func (r *report) print(out io.Writer) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "\nmeasure\tvalue\ttarget\tverdict\n")
	for _, row := range r.rows {
		fmt.Fprintln(w, strings.Join([]string{row.measure, row.value, row.target, row.verdict}, "\t"))
	}
	_ = w.Flush() // Out is a terminal or a file that whoever runs this looks at.
}

// judge compares with a target.
func judge(good bool) string {
	if good {
		return ok
	}
	return missed
}
