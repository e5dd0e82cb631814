package deliveries

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/presentation"
)

// wholeShown reports whether "show all" has brought everything to a row's chat: the
// view was brought about, and what was shown then counted as complete.
func wholeShown(d *core.Delivery) bool { return d.ShownView > 0 && d.ShownComplete }

// placed reads what a card needs beside the record: the detail, and the place of the
// row that it is for. An approval without a detail is no error.
func (w *Worker) placed(ctx context.Context, a *core.Approval, d *core.Delivery, whole bool, now core.Millis) (core.Detail, presentation.Place, error) {
	detail, err := w.deps.Records.Detail(ctx, a.ID)
	if err != nil && !errors.Is(err, core.ErrNotFound) {
		return core.Detail{}, presentation.Place{}, err
	}
	at := presentation.Place{
		Now: now, Zone: w.cfg.Zone, PublicURL: w.cfg.PublicURL,
		Delivery: d.ID, Person: d.PersonID, WholeShown: whole && detail.Omitted == 0,
		Requester: w.requester(ctx, a), Listens: w.listens(ctx, a),
	}
	if w.cfg.Sticky != nil {
		at.Sticky = core.Millis(w.cfg.Sticky().Milliseconds())
	}
	return detail, at, nil
}

// listens reports whether a runtime would hear that somebody asks for a new request. It
// is read for the few cards that could offer that; where it cannot be read they do not.
func (w *Worker) listens(ctx context.Context, a *core.Approval) bool {
	if w.deps.Listeners == nil || !a.AskableAgain() {
		return false
	}
	hears, err := w.deps.Listeners.Listens(ctx, a)
	return err == nil && hears
}

// requester is the display name of whom the runtime asks for; a name that cannot
// be read is left out, since the card is worth more than the name.
func (w *Worker) requester(ctx context.Context, a *core.Approval) string {
	if a.RequestedBy == "" {
		return ""
	}
	p, err := w.deps.People.Principal(ctx, a.RequestedBy)
	if err != nil {
		return ""
	}
	return p.Name
}

// FinalCard is the card of an approval that has just become terminal, as this worker
// would show it in the message of the delivery: for the answer to the click that
// decided, which may show it first. It needs no Run. Errors: those of reading the
// detail; a panic of the layout.
func (w *Worker) FinalCard(ctx context.Context, a core.Approval, d core.Delivery) (card presentation.Card, err error) {
	defer func() {
		if v := recover(); v != nil {
			w.deps.Logger.ErrorContext(ctx, "layout panicked", slog.String("approval", a.ID), slog.String("stack", string(debug.Stack())))
			err = errPanic
		}
	}()
	detail, at, err := w.placed(ctx, &a, &d, wholeShown(&d), a.UpdatedAt)
	if err != nil {
		return presentation.Card{}, fmt.Errorf("read detail: %w", err)
	}
	return w.deps.Card(a, detail, at), nil
}
