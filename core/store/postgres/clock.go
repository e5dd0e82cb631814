package postgres

import (
	"sync/atomic"

	"github.com/jackc/pgx/v5"
)

// floor is the last time that this process has seen. The clock of the deployment is
// the server's; should it be set back, nobody is told an earlier time than before,
// and every statement that reads it is given the floor.
type floor struct{ last atomic.Int64 }

func (f *floor) get() int64 { return f.last.Load() }

// raise makes sure that nothing below now is handed out any more.
func (f *floor) raise(now int64) {
	for {
		last := f.last.Load()
		if now <= last || f.last.CompareAndSwap(last, now) {
			return
		}
	}
}

// queueNow adds a reading of the clock to a batch.
func (s *Store) queueNow(b *pgx.Batch, now *int64) {
	b.Queue(s.sql.now, s.floor.get()).QueryRow(func(row pgx.Row) error {
		if err := row.Scan(now); err != nil {
			return err
		}
		s.floor.raise(*now)
		return nil
	})
}
