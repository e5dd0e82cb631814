//go:build unix

// Command faults lets the parts of a fleet fail while questions are asked and answered,
// and checks that every promise held; see cmd/internal/faults. It is no part of the
// product: the messengers are fakes.
//
//	go run ./cmd/faults --sayso bin/sayso [--only NAME] [--count N] [--kills N] [--seed N] [--dir DIR]
package main
