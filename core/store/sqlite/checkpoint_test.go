package sqlite

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// The log is moved beside the writer, and begins anew once it is too long.
func TestLogBeginsAnew(t *testing.T) {
	t.Parallel()
	s := openStore(t, testConfig(t, newTestClock()))
	written := 0
	write := func(n int) {
		jobs := make([]*job, n)
		for i := range jobs {
			written++
			jobs[i] = &job{rows: 1, done: make(chan error, 1), run: func(t *tx) error {
				_, err := t.Exec(`INSERT INTO spent_ids (id) VALUES (printf('%20000d', ?))`, written*maxBatch+i)
				return err
			}}
		}
		s.writer.serve(jobs, nil)
		for i, err := range answers(jobs) {
			require.NoError(t, err, fmt.Sprint(i))
		}
	}
	beside := s.writer.checkpoints
	t.Cleanup(beside.close)
	write(maxBatch)
	require.Empty(t, beside.wake, "not worth a checkpoint yet")
	for range 24 {
		write(maxBatch)
	}
	require.Len(t, beside.wake, 1)
	require.NoError(t, beside.move())
	require.True(t, beside.long.Load(), "beside a writer it would grow for ever")
	write(1)
	require.False(t, beside.long.Load(), "the writer has moved the rest")
	write(1)
	pages, err := checkpoint(beside.conn)
	require.NoError(t, err)
	require.Less(t, pages, int64(100), "the log has begun anew")
}
