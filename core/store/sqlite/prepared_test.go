package sqlite

import (
	"reflect"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"

	"github.com/saysohq/sayso/core/store/internal/record"
)

// SQLite prepares a statement anew at each run when its plan might depend on a value,
// which costs several times what the statement does.
func TestHotStatementsArePreparedOnce(t *testing.T) {
	t.Parallel()
	s := openStore(t, testConfig(t, newTestClock()))
	h := s.writer.conn.handle
	require.NoError(t, h.once(sqlBegin))
	for name, statement := range s.Table().Hot() {
		for range 3 {
			err := h.each(statement.Query, statement.Args, func(record.Row) error { return nil })
			if err != nil {
				require.Equal(t, "event", name, err) // A second one of the same revision is refused.
			}
		}
		require.Zero(t, prepares(h, statement.Query), name)
	}
	require.NoError(t, h.once(sqlRollback))
}

// prepares is how often a statement was prepared again.
func prepares(h *handle, query string) int32 {
	v := reflect.ValueOf(h.stmts[query]).Elem()
	return lib.Xsqlite3_stmt_status(threadOf(v.FieldByName("conn").Elem()), uintptr(v.FieldByName("stmt").Uint()),
		lib.SQLITE_STMTSTATUS_REPREPARE, 0)
}

// fetches is how many pages a connection has looked at, and how many of them it had to
// read from a file.
func fetches(h *handle) (looked, read int) {
	conn := reflect.ValueOf(h.conn).Elem()
	tls := threadOf(conn)
	at := libc.Xmalloc(tls, 8) // Two int32, where the library may write: not Go's memory.
	defer libc.Xfree(tls, at)
	count := func(what int32) int {
		lib.Xsqlite3_db_status(tls, uintptr(conn.FieldByName("conn").Uint()), what, at, at+4, 0)
		return int(libc.AtomicLoadPInt32(at))
	}
	read = count(lib.SQLITE_DBSTATUS_CACHE_MISS)
	return count(lib.SQLITE_DBSTATUS_CACHE_HIT) + read, read
}

// threadOf is what the translated library runs on for a connection, which keeps to
// itself what SQLite knows.
func threadOf(conn reflect.Value) *libc.TLS {
	return (*libc.TLS)(unsafe.Pointer(conn.FieldByName("tls").Pointer()))
}
