// Package redis connects the replicas of a fleet: hints and send budgets go through
// one Redis. Nothing that matters is kept there.
package redis
