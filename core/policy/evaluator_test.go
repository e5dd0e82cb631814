package policy_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/approvals"
	"github.com/saysohq/sayso/core/policy"
)

var _ approvals.Evaluator = (*policy.Evaluator)(nil)

// world answers with what a test put into it.
type world struct {
	in     policy.Inputs
	err    error
	window time.Duration
	asked  policy.Request
}

func (w *world) Inputs(_ context.Context, r policy.Request, window time.Duration) (policy.Inputs, error) {
	w.asked, w.window = r, window
	return w.in, w.err
}

// R59: a world that cannot be read asks, keeps what is known of its generation, and
// is reported once.
func TestEvaluatorR59(t *testing.T) {
	t.Parallel()
	var h policy.Holder
	var faults []error
	w := &world{in: inputs()}
	e := policy.NewEvaluator(&h, w, func(_ context.Context, err error) { faults = append(faults, err) })
	r := call("Edit", `{}`)
	r.ActionHash = core.HashOf([]byte("x"))

	v, err := e.Evaluate(t.Context(), r)
	require.NoError(t, err)
	require.Equal(t, policy.Ask, v.Answer, "no tables were loaded")

	_, err = h.Reload(func() (*policy.Policy, error) { return compiled(t, policy.Table{}), nil })
	require.NoError(t, err)
	v, err = e.Evaluate(t.Context(), r)
	require.NoError(t, err)
	require.Equal(t, policy.Auto, v.Answer)
	require.Equal(t, int64(7), v.Generation)
	require.Equal(t, policy.DefaultStickyWindow, w.window)
	require.Equal(t, r.ActionHash, w.asked.ActionHash)
	x, err := e.Explain(t.Context(), r)
	require.NoError(t, err)
	require.Equal(t, v.PolicyID, x.PolicyID)
	require.Empty(t, faults)

	w.err = errors.New("no store")
	w.in.Facts = policy.Facts{policy.FactSandbox: "docker"}
	v, err = e.Evaluate(t.Context(), r)
	require.NoError(t, err)
	require.Equal(t, policy.Ask, v.Answer)
	require.Equal(t, core.ClassWrite, v.Class, "what it is stands all the same")
	require.Equal(t, int64(7), v.Generation)
	require.Equal(t, "rules and modes", v.Trail[0].Matched)
	require.Equal(t, []error{w.err}, faults)
	_, err = e.Explain(t.Context(), r)
	require.ErrorIs(t, err, w.err)
}

// source holds one policy, and may come to hold another.
type source struct{ now, later *policy.Policy }

func (s *source) Current() *policy.Policy { return s.now }

func (s *source) Holding(_ context.Context, digest string) *policy.Policy {
	if s.later.Digest() == digest {
		return s.later
	}
	return nil
}

// R59: tables that are not those in force cannot be trusted: a call asks, also one that
// only reads, unless the tables in force turn out to be here too.
func TestOtherTablesAsk(t *testing.T) {
	t.Parallel()
	long := time.Hour
	old := compiled(t, policy.Table{})
	newer := compiled(t, policy.Table{StickyDecline: &long, Tools: []policy.Tool{{Names: []string{"Edit"}, Class: core.ClassRead, Loosens: true}}})
	w := &world{in: inputs()}
	s := &source{now: old}
	e := policy.NewEvaluator(s, w, func(_ context.Context, err error) { require.NoError(t, err) })
	evaluate := func(tool string) policy.Verdict {
		t.Helper()
		v, err := e.Evaluate(t.Context(), call(tool, `{}`))
		require.NoError(t, err)
		return v
	}
	require.Equal(t, policy.Allow, evaluate("Read").Answer, "nobody has put any")
	w.in.TablesDigest = old.Digest()
	require.Equal(t, policy.Allow, evaluate("Read").Answer)

	w.in.TablesDigest = newer.Digest()
	for _, tool := range []string{"Read", "Edit", "Bash"} {
		v := evaluate(tool)
		require.Equal(t, policy.Ask, v.Answer, tool)
		require.Nil(t, v.AlwaysOffer, tool)
		require.Equal(t, "the tables in force", v.Trail[0].Matched)
	}
	x, err := e.Explain(t.Context(), call("Read", `{}`))
	require.NoError(t, err)
	require.Equal(t, policy.Ask, x.Answer)

	s.later = newer
	require.Equal(t, policy.Allow, evaluate("Edit").Answer)
	require.Equal(t, long, w.window, "declines are looked for as the new tables say")
}
