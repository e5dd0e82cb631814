// Package app is the wiring: it builds everything from the configuration, runs it
// and stops it. The command uses it, and so do the end-to-end tests, so that what
// is tested is what runs.
//
// The same parts serve alone and as one of several replicas. Two places know the
// difference: openStore takes the embedded database or the shared one, and connect
// takes the bus and the budgets of the only process there is, of replicas that look
// every second, or of a fleet with Redis. A replica starts only on a schema that fits
// and with the secret key that opens the keys in the database; it is ready while it
// reaches the database, whatever Redis does.
//
// Policy files are read in build, so that bad ones stop the start, and watched from then
// on. A process whose files are not those in force in the deployment is not ready.
//
// Run builds in order and stops in the opposite one. A stop first ends the edges
// (HTTP drains, the messengers finish the updates under way), then the workers
// (which release their leases), then the bus and the store: whatever is acknowledged
// has been committed, and whatever was not sent is found again at the next start, or
// by another replica.
package app
