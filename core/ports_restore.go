package core

import "context"

// Seal says why a store does not serve.
type Seal string

// The seals.
const (
	SealNone      Seal = ""          // It serves, or is a backup of an unknown maker.
	SealBackup    Seal = "backup"    // A backup: it is restored elsewhere, never served from.
	SealMoved     Seal = "moved"     // Its record lives in another database now.
	SealArriving  Seal = "arriving"  // The copy of a move, before the place that it came from gave up serving.
	SealRestoring Seal = "restoring" // A restore that has not told all cards the truth yet.
)

// Valid reports whether s is one of the closed set, SealNone included.
func (s Seal) Valid() bool {
	switch s {
	case SealNone, SealBackup, SealMoved, SealArriving, SealRestoring:
		return true
	}
	return false
}

// sealError is a store that is sealed, and what to do about it. It is an ErrSealed.
type sealError string

// Error implements error.
func (e sealError) Error() string { return string(e) }

// Unwrap makes errors.Is(err, ErrSealed) true.
func (sealError) Unwrap() error { return ErrSealed }

// Refusal is the error with which a store under this seal refuses to serve, an
// ErrSealed that says what to do.
func (s Seal) Refusal() error {
	switch s {
	case SealMoved:
		return sealError("this store was moved to another database (sayso migrate): serve from that one")
	case SealArriving:
		return sealError("this store is the unfinished copy of a move: run the same sayso migrate again")
	case SealRestoring:
		return sealError("this store was not restored to the end: run the same sayso restore again")
	case SealNone, SealBackup:
	}
	return ErrSealed
}

// Restoration makes a store whose state may be older than what people were told (a
// restored backup, a failover that lost commits) tell the truth: a new incarnation
// that stands by nothing which it cannot know.
type Restoration interface {
	// BeginRestoration seals the store as SealRestoring: it serves again only once
	// FinishRestoration is through. Doing it again changes nothing. Errors: ErrSealed
	// for a store under another seal.
	BeginRestoration(ctx context.Context) error
	// Disown changes up to limit rows whose fate is not known: pending ones, deadline
	// reached or not, are cancelled as storage-restored, unclaimed grants are voided,
	// claimed ones become unknown. Their cards are due to be edited, closed ones too,
	// and a card that was not sent yet counts as one that may have been. Call it
	// again until it changes nothing. A damaged row that was pending is denied, as
	// storage-corrupt.
	Disown(ctx context.Context, limit int) (Disowned, error)
	// FinishRestoration burns all open codes, raises the incarnation and unseals the
	// store, in one write. Instances that register from then on get epochs from the
	// incarnation up, above those of boots that the store has forgotten. No two restorations of one backup make the same
	// incarnation, as long as the clock is right to the second. Errors: ErrConflict
	// before BeginRestoration, or while there is something to disown.
	FinishRestoration(ctx context.Context) (Deployment, error)
}

// Disowned counts what a restoration changed.
type Disowned struct {
	Cancelled int // Questions that were pending, damaged ones included.
	Voided    int // Grants that were unclaimed.
	Unknown   int // Grants that were claimed and not reported.
}

// Total is the number of changed rows.
func (d Disowned) Total() int { return d.Cancelled + d.Voided + d.Unknown }

// Plus adds up.
func (d Disowned) Plus(o Disowned) Disowned {
	return Disowned{d.Cancelled + o.Cancelled, d.Voided + o.Voided, d.Unknown + o.Unknown}
}
