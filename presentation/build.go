package presentation

import (
	"github.com/saysohq/sayso/core"
)

// For builds the card of an approval as it is to be shown at a place.
func For(a core.Approval, d core.Detail, p Place) Card {
	panic("todo")
}
