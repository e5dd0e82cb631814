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
