// Package pgserver runs a private PostgreSQL server, for tests and for measuring.
//
// [Start] makes a database cluster in a folder of its own (initdb), with a Unix
// socket in the same folder and no port. As root it runs as the user "postgres" or
// "nobody", because PostgreSQL refuses root. [Server.Bounce] puts a real PgBouncer in
// transaction mode before it, [Server.Standby] a standby behind it.
//
// Nothing is left behind. The server hangs on a pipe of this process: when that ends
// in whatever way, killed included, a small shell stops the server and removes the
// folder. So whatever is kept in it is lost with the process.
//
// What it does not do: it installs nothing. Where PostgreSQL is missing, [ErrMissing]
// names the package.
package pgserver
