package sqlite

import driver "modernc.org/sqlite"

// syncDataOnly lets commits reach the disk by fdatasync(2) where the system has it, as
// SQLite itself does wherever its build finds it; the library's default is fsync(2). The
// log's content and length are as durable; its timestamps are not, and nobody reads
// them. At rates that people reach, fsync waits for the file system's journal because of
// them, behind whatever else stands in it. The setting is of the whole process.
func syncDataOnly() { _, _ = driver.Fdatasync(true) } // Where there is none, fsync goes on.
