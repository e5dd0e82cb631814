package policy

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
)

// K14: every automatic answer goes through one door, which lets money pass with its
// switch alone, whatever step led there.
func TestTheOneDoorIsGuardedK14(t *testing.T) {
	t.Parallel()
	for s := stepIdentity; s < steps; s++ {
		for name, rule := range map[string]*Rule{"no rule": nil, "a rule for less": {ID: "r", Class: core.ClassSend}} {
			e := evaluation{j: judgement{class: core.ClassMoney}, rule: rule}
			require.True(t, e.auto(s, "some.policy.v1", "x"), name)
			require.Equal(t, Ask, e.answer, name)
			require.Empty(t, e.policyID, name)
			require.Nil(t, e.rule, name)
		}
		e := evaluation{j: judgement{class: core.ClassMoney}, rule: &Rule{ID: "r", Class: core.ClassMoney}}
		e.auto(s, "rule.r", "x")
		require.Equal(t, Auto, e.answer)
		e = evaluation{j: judgement{class: core.ClassWrite}}
		e.auto(s, "", "x")
		require.Equal(t, Ask, e.answer, "what has no policy to name does not run")
	}
}
