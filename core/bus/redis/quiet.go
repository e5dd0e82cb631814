package redis

import "github.com/redis/go-redis/v9/logging"

// QuietLibrary stops the client library from writing to standard error, which it does
// for the whole process at every failed connection. The bus logs when Redis goes and
// comes back, and why, to the logger that it was given. It is for the main program,
// before the first New.
func QuietLibrary() { logging.Disable() }
