// Command bench is "sayso bench" with a fake Telegram beside it, so that clicks and
// edits are measured too. It is no part of the product: the fake is a test package.
//
//	go run ./cmd/bench --sayso bin/sayso [--dir DIR] [--only NAME]
package main
