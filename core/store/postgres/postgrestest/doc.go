// Package postgrestest lends databases of a private PostgreSQL server to tests.
//
// A [Server] starts with its first database; see package pgserver for how. One
// template database is prepared once and copied: for a test alone
// ([Server.Database]), or for one test after another, emptied in between
// ([Server.Lend]). [Server.Bouncer] puts a real PgBouncer in transaction mode before
// the server.
//
// What it does not do: it never skips. Where PostgreSQL is not installed a test
// fails with the name of the package to install (postgresql, pgbouncer). It is for
// tests alone.
package postgrestest
