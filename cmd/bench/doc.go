// Command bench is "sayso bench" with fake messengers beside it, so that clicks, edits
// and bursts are measured too. It is no part of the product: the fakes are test packages.
//
//	go run ./cmd/bench --sayso bin/sayso [--dir DIR] [--only NAME]
//	go run ./cmd/bench --soak 5m [--dir DIR] [--only telegram|slack|discord]
//
// The second form measures bursts with the budgets as they are shipped, and nothing
// else: each lasts at least so long, and its cards are shown as long before.
package main
