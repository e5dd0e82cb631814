package deliveries_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/core"
)

// limit lets the platform refuse every edit of a message until a time, and fails the
// test where one comes before it.
type limit struct {
	mu    sync.Mutex
	until time.Time
}

func (l *limit) set(t *testing.T, h *harness, wait time.Duration) {
	t.Helper()
	l.mu.Lock()
	l.until = time.Now().Add(wait)
	l.mu.Unlock()
	told := false
	h.channel.onEdit(func(string) (core.DeliveryOutcome, error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		left := time.Until(l.until)
		if left <= 0 {
			return core.OutcomeReplaced, nil
		}
		if told {
			t.Error("an edit before its time")
		}
		told = true
		return "", &channels.Error{Class: core.FailureRateLimited, RetryAfter: left, Single: true}
	})
}

// An outcome whose edit takes long is told beside the card at once, and once: also
// where the worker is replaced meanwhile. The card itself is edited when it may be.
func TestLateEditIsToldOnce(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *harness) {
		h.open()
		new(limit).set(t, h, 10*time.Minute)
		h.store.decide("a")
		h.pass(time.Second)
		require.Equal(t, []string{"send", "edit", "send"}, h.channel.ops())
		require.Equal(t, []string{"pending", "denied"}, h.channel.texts())
		d := h.store.row("d")
		require.Equal(t, core.DeliveryOpen, d.State, "the row stays open until the edit lands")
		require.Equal(t, int64(2), d.ToldRevision)
		h.stop()
		h.metrics = prometheus.NewRegistry()
		h.start()
		h.store.hint("a")
		h.pass(9 * time.Minute)
		require.Len(t, h.channel.ops(), 3, "a restart repeats nothing")
		h.pass(time.Minute)
		require.Equal(t, []string{"denied", "denied"}, h.channel.texts())
		require.Equal(t, core.OutcomeReplaced, h.store.row("d").Outcome)
	})
}

func TestShortLimitIsNotTold(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *harness) {
		h.open()
		new(limit).set(t, h, time.Minute)
		h.store.decide("a")
		h.pass(time.Second)
		h.store.hint("a")
		h.pass(2 * time.Minute)
		require.Equal(t, []string{"send", "edit", "edit"}, h.channel.ops())
		require.Equal(t, core.OutcomeReplaced, h.store.row("d").Outcome)
	})
}

// A message beside the card that does not get through is tried again by itself; the
// edit still waits for its time.
func TestTellingIsRetried(t *testing.T) {
	t.Parallel()
	for class, calls := range map[core.FailureClass]int{
		core.FailureTemporary: 4, core.FailureRateLimited: 4, core.FailureAmbiguous: 4,
		core.FailureGone: 3, core.FailureRejected: 3, core.FailureMoved: 3, // Only the edit is left.
	} {
		t.Run(string(class), func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, h *harness) {
				h.open()
				new(limit).set(t, h, 10*time.Minute)
				failed := false
				h.channel.onSend(func(string, string) error {
					if failed {
						return nil
					}
					failed = true
					return h.channel.fails(class)
				})
				h.store.decide("a")
				h.pass(time.Minute)
				require.Len(t, h.channel.ops(), calls)
				require.Equal(t, int64(2), h.store.row("d").ToldRevision)
				require.Equal(t, core.DeliveryOpen, h.store.row("d").State)
				h.pass(10 * time.Minute)
				require.Equal(t, core.OutcomeReplaced, h.store.row("d").Outcome)
				require.Len(t, h.channel.ops(), calls+1)
			})
		})
	}
}

// What the record has to tell later is told as well, and no sooner edited.
func TestNewsOfALateCardIsTold(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *harness) {
		h.open()
		new(limit).set(t, h, 10*time.Minute)
		h.store.decide("a")
		h.pass(time.Second)
		h.store.decide("a") // Another card revision.
		h.pass(time.Second)
		require.Equal(t, []string{"send", "edit", "send", "send"}, h.channel.ops())
		h.pass(10 * time.Minute)
		require.Equal(t, []string{"denied", "denied", "denied"}, h.channel.texts())
		require.Equal(t, core.OutcomeReplaced, h.store.row("d").Outcome)
	})
}

// A limit that was met before the decision holds for the final card too.
func TestDecisionUnderALimitIsToldWithoutAnEdit(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *harness) {
		h.open()
		new(limit).set(t, h, 10*time.Minute)
		h.store.requestView("d")
		h.pass(5 * time.Second)
		require.Equal(t, []string{"send", "detail", "edit"}, h.channel.ops(), "nothing is told of a question that waits")
		h.store.decide("a")
		h.pass(5 * time.Second)
		require.Equal(t, []string{"send", "detail", "edit", "send"}, h.channel.ops())
		h.pass(10 * time.Minute)
		require.Equal(t, []string{"denied", "denied"}, h.channel.texts())
	})
}

// A worker that finds a row before its message takes an edit gives it back.
func TestRowBeforeItsTimeIsGivenBack(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, h *harness) {
		h.open()
		h.store.decide("a")
		synctest.Wait()
		h.store.change("d", func(d *core.Delivery) {
			d.State, d.Outcome, d.EditAfter, d.DueAt = core.DeliveryOpen, core.OutcomeNone, now()+30_000, now()
			d.ShownRevision = 1
		})
		h.store.hint("a")
		h.pass(29 * time.Second)
		require.Len(t, h.channel.ops(), 2)
		h.pass(time.Second)
		require.Equal(t, core.OutcomeReplaced, h.store.row("d").Outcome)
	})
}
