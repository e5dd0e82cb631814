package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/api"
)

// progress is the quiet line that a waiting command shows on a terminal: how long
// it has waited, how long is left, and where the card was delivered. Where standard
// error is no terminal it shows nothing.
type progress struct {
	out   io.Writer // nil where nothing is shown.
	began time.Time
	now   func() time.Time
	width int // Of the last line, in characters, to be wiped.
}

func newProgress(out io.Writer, now func() time.Time) *progress {
	p := &progress{began: now(), now: now}
	if isTerminal(out) {
		p.out = out
	}
	return p
}

// show draws the line anew.
func (p *progress) show(a *api.Approval, skew time.Duration) {
	if p.out == nil {
		return
	}
	left := a.ExpiresAt.Time().Sub(p.now().Add(skew))
	p.draw(fmt.Sprintf("waiting %s, %s left%s", brief(p.now().Sub(p.began)), brief(left), places(a.Deliveries)))
}

func (p *progress) draw(line string) {
	pad := max(0, p.width-len([]rune(line)))
	fmt.Fprint(p.out, "\r", line, strings.Repeat(" ", pad))
	p.width = len([]rune(line))
}

// done wipes the line.
func (p *progress) done() {
	if p.out != nil && p.width > 0 {
		fmt.Fprint(p.out, "\r", strings.Repeat(" ", p.width), "\r")
		p.width = 0
	}
}

// brief is a duration as people read it: two units at most.
func brief(d time.Duration) string {
	d = max(d, 0).Round(time.Second)
	h, m, s := int(d.Hours()), int(d.Minutes())%60, int(d.Seconds())%60
	switch {
	case h > 0:
		return fmt.Sprintf("%dh%02dm", h, m)
	case m > 0:
		return fmt.Sprintf("%dm%02ds", m, s)
	}
	return fmt.Sprintf("%ds", s)
}

// places sums up where the card is.
func places(ds []api.Delivery) string {
	if len(ds) == 0 {
		return "; on the page"
	}
	shown, waiting, failed := map[core.Surface]int{}, 0, 0
	for _, d := range ds {
		switch {
		case d.State == core.DeliveryOpen || d.Outcome == core.OutcomeReplaced:
			shown[d.Channel]++
		case d.State == core.DeliveryClosed:
			failed++
		default:
			waiting++
		}
	}
	var text strings.Builder
	text.WriteString("; on the page")
	for _, c := range []core.Surface{core.SurfaceTelegram, core.SurfaceSlack, core.SurfaceDiscord} {
		if shown[c] > 0 {
			fmt.Fprintf(&text, ", %s (%d)", c, shown[c])
		}
	}
	if waiting > 0 {
		fmt.Fprintf(&text, ", %d on the way", waiting)
	}
	if failed > 0 {
		fmt.Fprintf(&text, ", %d not delivered", failed)
	}
	return text.String()
}
