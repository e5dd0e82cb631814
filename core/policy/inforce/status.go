package inforce

import (
	"context"
	"errors"
	"fmt"

	"github.com/saysohq/sayso/core"
)

// Status is what an operator wants to know of a Keeper.
type Status struct {
	Digest  string             // Of the tables of this process; "" for none.
	InForce core.TablesInForce // As this process last read it.
	Refused error              // Why the newest files were refused; nil when they were not.
}

// Agrees reports whether this process judges by the tables in force.
func (s Status) Agrees() bool { return s.Digest != "" && s.Digest == s.InForce.Digest }

// Status tells what this process has, and what is in force.
func (k *Keeper) Status() Status {
	k.mu.Lock()
	defer k.mu.Unlock()
	h := k.holder.Status()
	return Status{Digest: h.Digest, InForce: k.inForce, Refused: h.Err}
}

// ErrOthersInForce is a process whose policy tables are not those in force: its files
// have yet to arrive, or were left behind.
var ErrOthersInForce = errors.New("other policy tables are in force")

// errNothingRead is a Keeper that was not started.
var errNothingRead = errors.New("no policy tables were read")

// Ready compares with the store at once. Errors: ErrOthersInForce, and those of the
// store. Files that were refused are none: the tables in force stay.
func (k *Keeper) Ready(ctx context.Context) error {
	is, err := k.deps.Store.TablesInForce(ctx)
	if err != nil {
		return fmt.Errorf("compare policy tables: %w", err)
	}
	if k.Current() == nil {
		return errNothingRead
	}
	if is.Digest != k.Current().Digest() {
		k.Look()
		return ErrOthersInForce
	}
	return nil
}
