package app

import (
	"context"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/presentation"
)

// finals lets an answer to a click show the final card as the ledger's worker would;
// the worker is built after the pipeline that this is for.
type finals struct {
	core.AnsweredCards
	parts *parts
}

// FinalCard implements callbacks.Finals.
func (f finals) FinalCard(ctx context.Context, a core.Approval, d core.Delivery) (presentation.Card, error) {
	return f.parts.worker.FinalCard(ctx, a, d)
}
