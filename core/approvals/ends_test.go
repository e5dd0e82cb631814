package approvals_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/approvals"
)

// R202: an approval that ends while somebody reads is counted, once, whoever reads.
func TestEndsOfReadingAreCounted(t *testing.T) {
	t.Parallel()
	for name, read := range map[string]func(k *kit, a core.Approval) error{
		"one": func(k *kit, a core.Approval) error {
			_, err := k.service.Get(k.t.Context(), k.token, core.Lookup{ID: a.ID})
			return err
		},
		"list": func(k *kit, _ core.Approval) error {
			_, err := k.service.List(k.t.Context(), k.token, core.ListQuery{})
			return err
		},
		"run": func(k *kit, a core.Approval) error {
			_, err := k.service.RunStatus(k.t.Context(), k.token, a.RunID)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newKit(t)
			a := k.ask(func(r *approvals.Ask) { r.RunID = "run-1" })
			k.advance(time.Duration(core.LiveExpiry) * time.Millisecond)
			for range 2 {
				require.NoError(t, read(k, a))
			}
			k.seen.mu.Lock()
			defer k.seen.mu.Unlock()
			require.Equal(t, []core.Reason{core.ReasonTimeout}, k.seen.ended)
		})
	}
}
