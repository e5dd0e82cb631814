package core

import "context"

// workerLeases begins the names of the leases by which the ledger's workers show that
// they live.
const workerLeases = "deliveries/worker/"

// WorkerLease names the lease by which a worker of the ledger (ClaimDue.Worker) shows
// the others that it lives. Nobody else ever wants it.
func WorkerLease(worker string) string { return workerLeases + worker }

// Takeover ends the wait for workers that will not come back.
type Takeover interface {
	// TakeOver gives up the leases of rows whose worker has gone, at most limit of
	// them, and makes the rows due at once: they need not wait for DeliveryLease, which
	// must outlast the slowest call of a worker that lives. A worker has gone when its
	// WorkerLease has run out or was released; one that never had any is left alone. A
	// row is left as ClaimDue leaves one whose lease has run out: what was being sent
	// may have arrived, and what the worker may still paint is painted over. Call again
	// while it returns limit hints.
	TakeOver(ctx context.Context, limit int) ([]Hint, error)
}
