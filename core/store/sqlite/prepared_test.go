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

// prepares is how often a statement was prepared again. The library keeps to itself
// what SQLite knows.
func prepares(h *handle, query string) int32 {
	v := reflect.ValueOf(h.stmts[query]).Elem()
	tls := (*libc.TLS)(unsafe.Pointer(v.FieldByName("conn").Elem().FieldByName("tls").Pointer()))
	return lib.Xsqlite3_stmt_status(tls, uintptr(v.FieldByName("stmt").Uint()), lib.SQLITE_STMTSTATUS_REPREPARE, 0)
}
