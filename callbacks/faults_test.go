package callbacks_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/callbacks"
	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/approvals"
	"github.com/saysohq/sayso/presentation"
)

// Conformance 93, 102: a store that recorded nothing is told as such, without its
// own words, and the next click works.
func TestNothingRecordedIsSaidSo(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]string{
		core.ErrUnavailable: presentation.AnswerNotRecorded,
		core.ErrSealed:      presentation.AnswerNotRecorded,
		core.ErrStorageFull: presentation.AnswerStorageFull,
		core.ErrCorrupt:     presentation.AnswerDamaged,
		core.ErrForbidden:   presentation.AnswerMayNotDecide,
		core.ErrWrongKind:   presentation.AnswerOpenOriginal,
		core.ErrNotFound:    notYours + "4711.",
	} {
		t.Run(core.CodeOf(err), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.onResolve = func(n int, _ approvals.Resolve) error {
				if n == 1 {
					return fmt.Errorf("write /var/lib/secret.db: %w", err)
				}
				return nil
			}
			answer := w.pipeline.Click(t.Context(), w.press(t, "4711", message, allow(approvalID)))
			require.Empty(t, cmp.Diff(channels.Answer{Text: want, Alert: true}, answer))
			require.NotContains(t, w.log.String(), "secret.db")
			require.Len(t, w.resolves, 1, "what certainly failed is not repeated behind the person's back")
			require.Equal(t, core.StatusPending, w.record(approvalID).Status)
			require.Equal(t, "You allowed this once.", answerTo(t, w, "4711", allow(approvalID), message))
		})
	}
}

// Conformance 93: each read on the way may fail, and none of it decides.
func TestFailedReadsDecideNothing(t *testing.T) {
	t.Parallel()
	odd := errors.New("connection to db-7 reset")
	for name, fault := range map[string]func(*world){
		"person": func(w *world) { w.onPerson = odd },
		"card":   func(w *world) { w.onRow = odd },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			fault(w)
			require.Equal(t, presentation.AnswerNotRecorded, answerTo(t, w, "4711", allow(approvalID), message))
			require.Empty(t, w.resolves)
			require.NotContains(t, w.log.String(), "db-7")
		})
	}
	w := newWorld(t)
	w.onGet = odd
	require.Equal(t, presentation.AnswerNotRecorded, answerTo(t, w, "4711", callback(core.CallbackNote, core.KindExec, approvalID), message))
	require.Empty(t, w.prompts)
}

// R186, R215: a lost answer is looked up before anybody is told anything.
func TestLostAnswerIsReadBack(t *testing.T) {
	t.Parallel()
	for name, lost := range map[string]error{
		"unknown":                   core.ErrOutcomeUnknown,
		"unknown and unavailable":   fmt.Errorf("%w: %w", core.ErrOutcomeUnknown, core.ErrUnavailable),
		"an error of no known sort": errors.New("driver: bad connection"),
		"an ended context":          context.DeadlineExceeded,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.lost = func(int) error { return lost }
			answer := w.pipeline.Click(t.Context(), w.press(t, "4711", message, allow(approvalID)))
			require.Empty(t, cmp.Diff(channels.Answer{Text: "You allowed this once."}, answer))
			require.Len(t, w.resolves, 1)
		})
	}
}

// The write may have been lost for good: it is asked for once more, which decides.
func TestLostWriteIsAskedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.onResolve = func(n int, _ approvals.Resolve) error {
		if n == 1 {
			return core.ErrOutcomeUnknown
		}
		return nil
	}
	require.Equal(t, "You allowed this once.", answerTo(t, w, "4711", allow(approvalID), message))
	require.Len(t, w.resolves, 2)
}

// Somebody else won meanwhile: the read-back says who, never one's own attempt.
func TestReadBackNeverInventsAWinner(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	require.Equal(t, "You denied this.", answerTo(t, w, "4712", deny(approvalID), groupCard))
	w.onResolve = func(int, approvals.Resolve) error { return core.ErrOutcomeUnknown }
	answer := w.pipeline.Click(t.Context(), w.press(t, "4711", message, allow(approvalID)))
	require.Empty(t, cmp.Diff(channels.Answer{Text: "Already decided: denied by Bob on Telegram, 14:03 UTC.", Alert: true}, answer))
}

// Invariant 8: where nobody can tell, nobody is told that nothing was recorded.
func TestUnclearIsNeverCalledNotRecorded(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func(*world){
		"asked twice": func(w *world) { w.onResolve = func(int, approvals.Resolve) error { return core.ErrOutcomeUnknown } },
		"read back failed": func(w *world) {
			w.lost = func(int) error { w.onGet = core.ErrUnavailable; return core.ErrOutcomeUnknown }
		},
		"panic at the write": func(w *world) { w.panics = "resolve" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			fault(w)
			answer := w.pipeline.Click(t.Context(), w.press(t, "4711", message, allow(approvalID)))
			require.Empty(t, cmp.Diff(channels.Answer{Text: presentation.AnswerUnclear, Alert: true}, answer))
		})
	}
}

// A panic is an answer too, and what it carried reaches neither chat nor log.
func TestPanicsAreAnswered(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.panics = "people"
	want := channels.Answer{Text: presentation.AnswerNotRecorded, Alert: true}
	require.Empty(t, cmp.Diff(want, w.pipeline.Click(t.Context(), w.press(t, "4711", message, allow(approvalID)))))
	require.Empty(t, cmp.Diff(want, w.pipeline.Text(t.Context(), w.say("4711", "/whoami"))))
	require.NotContains(t, w.log.String(), "secret")
	require.Contains(t, w.log.String(), "panic in the inbound pipeline")
}

// A click is bounded in time and ends with an answer that is true, even where the
// store hangs; the write that nobody waits for any more cannot decide later unsaid.
func TestHangingStoreIsAnsweredInTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	click := w.press(t, "4711", message, allow(approvalID))
	synctest.Test(t, func(t *testing.T) {
		p := callbacks.New(callbacks.Config{}, w.with(hanging{}))
		began := time.Now()
		answer := p.Click(t.Context(), click)
		require.Equal(t, presentation.AnswerUnclear, answer.Text)
		require.LessOrEqual(t, time.Since(began), 13*time.Second)
	})
}

// hanging is a resolver that never answers before its caller gives up.
type hanging struct{}

func (hanging) Resolve(ctx context.Context, _ approvals.Resolve) (approvals.Resolved, error) {
	<-ctx.Done()
	return approvals.Resolved{}, ctx.Err()
}

// A process that stops finishes the click that it has taken.
func TestStoppingFinishesTheClick(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx, cancel := context.WithCancel(t.Context())
	w.onResolve = func(int, approvals.Resolve) error { cancel(); return nil }
	require.Equal(t, "You allowed this once.", w.pipeline.Click(ctx, w.press(t, "4711", message, allow(approvalID))).Text)
	require.Equal(t, core.StatusAllowed, w.record(approvalID).Status)
}
