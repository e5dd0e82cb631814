package policy_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/policy"
)

// manyRules is a snapshot of n rules, one of which is about mail to ann@example.com.
func manyRules(t testing.TB, n int) *policy.Rules {
	t.Helper()
	rules := make([]policy.Rule, n)
	for i := range rules {
		rules[i] = policy.Rule{
			ID: fmt.Sprintf("r%d", i), Runtime: "ci", Agent: "dev", Tool: "mail", Operation: "send",
			Scope: policy.ScopeRecipient, Value: fmt.Sprintf("someone%d@example.com", i), Class: core.ClassSend,
		}
	}
	rules[n/2].Value = "ann@example.com"
	index, findings := policy.NewRules(rules)
	require.Empty(t, findings)
	return index
}

// The calls that are measured: what most calls are, and what takes longest.
func measured() map[string]policy.Request {
	return map[string]policy.Request{
		"read":     call("Read", `{"file_path":"/home/dev/project/main.go","offset":1,"limit":2000}`),
		"rule":     operation("mail", "send", `{"to":"Ann <ann@example.com>","subject":"Minutes","body":"As discussed this morning."}`),
		"asks":     operation("mail", "send", `{"to":"bob@example.com","subject":"Minutes","body":"As discussed this morning."}`),
		"http":     call("http", `{"method":"POST","url":"https://api.example.com/v1/items","headers":{"accept":"application/json"},"body":{"a":[1,2,3]}}`),
		"command":  call("Bash", `{"command":"cd /work && make test && git status --short","description":"Run the tests","folder":"/work"}`),
		"unlisted": call("someToolThatNobodyListed", `{"a":1}`),
		"server's": call("mcp__octo__create_issue", `{"owner":"o","repo":"r","title":"A fault","body":"It happens"}`),
	}
}

// The figure to reach: 20 µs with 10,000 rules and the full table, and no allocation
// that grows with the number of rules.
func BenchmarkEvaluate(b *testing.B) {
	p := compiled(b, policy.Table{Servers: []policy.Server{{Name: "octo", Like: "github"}}})
	for _, rules := range []int{1, 10_000} {
		in := inputs()
		in.Rules = manyRules(b, rules)
		for name, r := range measured() {
			b.Run(fmt.Sprintf("%s/rules=%d", name, rules), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					policy.Evaluate(p, r, in)
				}
			})
		}
	}
}

// R75: however many rules there are, an evaluation allocates the same. Allocations
// cannot be counted while other tests run, so this one is not parallel.
func TestAllocationsDoNotGrowWithRules(t *testing.T) {
	p := compiled(t, policy.Table{Servers: []policy.Server{{Name: "octo", Like: "github"}}})
	few, many := inputs(), inputs()
	few.Rules, many.Rules = manyRules(t, 1), manyRules(t, 10_000)
	for name, r := range measured() {
		want := testing.AllocsPerRun(100, func() { policy.Evaluate(p, r, few) })
		got := testing.AllocsPerRun(100, func() { policy.Evaluate(p, r, many) })
		require.InDelta(t, want, got, 3, name) // Under the race detector pools come and go.
		require.Less(t, want, 30.0, name)
	}
}
