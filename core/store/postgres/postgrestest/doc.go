// Package postgrestest runs a private PostgreSQL server for tests.
//
// A [Server] starts with its first database: initdb in a temporary folder, a Unix
// socket in the same folder, no port. As root it runs as the user "postgres" or
// "nobody", because PostgreSQL refuses root. One template database is prepared once
// and copied: for a test alone ([Server.Database]), or for one test after another,
// emptied in between ([Server.Lend]).
//
// Nothing is left behind. The server hangs on a pipe of the test process: when that
// ends in whatever way, killed included, a small shell stops the server and removes
// the folder.
//
// [Server.Bouncer] puts a real PgBouncer in transaction mode before the server.
//
// What it does not do: it never skips. Where PostgreSQL is not installed a test
// fails with the name of the package to install (postgresql, pgbouncer). It is for tests alone.
package postgrestest
