package sqlite

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/store/internal/record"
)

// A statement that changes several rows does not undo its own first rows where a later
// one fails. The write that it is part of does: nothing of it is recorded, and its
// neighbour in the batch is not harmed.
func TestAStatementThatFailsHalfway(t *testing.T) {
	t.Parallel()
	for name, together := range map[string]bool{"alone": false, "in a batch": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openStore(t, testConfig(t, newTestClock()))
			h, err := openHandle(s.writer.path, readerPragmas())
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, h.close()) })
			within := &inside{db: db{s}, aside: h}
			records := record.New(within, dialect(), nil)
			run := func(fns ...func() error) []error {
				jobs := make([]*job, len(fns))
				for i, fn := range fns {
					jobs[i] = &job{rows: 1, done: make(chan error, 1), run: func(in *tx) error {
						within.t = in
						return fn()
					}}
				}
				s.writer.serve(jobs, nil)
				return answers(jobs)
			}
			made := make([]core.Approval, 2)
			create := func(i int) func() error {
				return func() error {
					created, err := records.Create(t.Context(), draft(i+1))
					made[i] = created.Approval
					return err
				}
			}
			require.Equal(t, []error{nil, nil}, run(create(0), create(1)))
			require.NoError(t, s.writer.conn.run(`CREATE UNIQUE INDEX halfway ON deliveries (approval_id, updated_at)
				WHERE stale_since > 0 AND approval_id = '`+made[0].ID+`'`))

			decide := func(i int) func() error {
				return func() error {
					_, err := records.Decide(t.Context(), core.Decide{ID: made[i].ID, Seen: &made[i], AttemptID: "attempt", To: byAlice()})
					return err
				}
			}
			if together {
				errs := run(decide(1), decide(0))
				require.NoError(t, errs[0])
				require.ErrorIs(t, errs[1], core.ErrUnavailable)
			} else {
				require.ErrorIs(t, run(decide(0))[0], core.ErrUnavailable)
			}
			for i, decided := range []bool{false, together} {
				a, err := s.Approval(t.Context(), core.Lookup{ID: made[i].ID})
				require.NoError(t, err)
				require.Equal(t, decided, a.Status == core.StatusAllowed)
				var stale int
				require.NoError(t, s.read(t.Context()).One(`SELECT count(*) FROM deliveries WHERE approval_id = ? AND stale_since > 0`, []any{a.ID}, &stale))
				require.Equal(t, decided, stale == len(draft(0).Deliveries))
				require.True(t, decided || stale == 0)
			}
		})
	}
}
