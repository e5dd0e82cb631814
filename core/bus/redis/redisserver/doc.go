// Package redisserver runs a private Redis server, for tests and for measuring.
//
// [Start] starts one in a folder of its own, on a Unix socket there and on no port,
// and it keeps nothing. [Server.Kill] ends it as a crash would, and [Server.Again]
// starts an empty one at the same address.
//
// Nothing is left behind. The server hangs on a pipe of this process: when that ends
// in whatever way, killed included, a small shell kills the server and removes the
// folder.
//
// What it does not do: it installs nothing. Where Redis is missing, [ErrMissing] names
// the package.
package redisserver
