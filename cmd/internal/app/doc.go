// Package app is the wiring: it builds everything from the configuration, runs it
// and stops it. The command uses it, and so do the end-to-end tests, so that what
// is tested is what runs.
//
// Run builds in order and stops in the opposite one. A stop first ends the edges
// (HTTP drains, the messengers finish the updates under way), then the workers
// (which release their leases), then the store: whatever is acknowledged has been
// committed, and whatever was not sent is found again at the next start.
package app
