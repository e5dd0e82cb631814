package bench

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/policy"
	"github.com/saysohq/sayso/core/policy/tables"
)

const (
	policyRules  = 10_000
	policyTarget = 20 * time.Microsecond
	policyTurns  = 9
	policyRounds = 2_000 // Of all calls, in a turn.
)

// policyCalls are what most calls are, and what takes longest to judge.
func policyCalls() []policy.Request {
	call := func(tool, operation, arguments string) policy.Request {
		return policy.Request{
			Runtime: "ci", Agent: "dev", Kind: core.KindPlugin, Tool: tool, Operation: operation,
			Arguments: []byte(arguments), Continuation: core.ContinuationLive,
		}
	}
	return []policy.Request{
		call("Read", "", `{"file_path":"/home/dev/project/main.go","offset":1,"limit":2000}`),
		call("mail", "send", `{"to":"Ann <someone5000@example.com>","subject":"Minutes","body":"As discussed this morning."}`),
		call("mail", "send", `{"to":"bob@example.com","subject":"Minutes","body":"As discussed this morning."}`),
		call("http", "", `{"method":"POST","url":"https://api.example.com/v1/items","headers":{"accept":"application/json"},"body":{"a":[1,2,3]}}`),
		call("Bash", "", `{"command":"cd /work && make test && git status --short","description":"Run the tests","folder":"/work"}`),
		call("mcp__octo__create_issue", "", `{"owner":"o","repo":"r","title":"A fault","body":"It happens"}`),
	}
}

// policy evaluates calls against 10,000 rules and the whole starter table, beside the
// least that reading the arguments takes: their syntax and their hash. Both sides take
// turns.
func (b *bench) policy(ctx context.Context) error {
	starter, err := tables.Starter()
	if err != nil {
		return err
	}
	p, err := policy.New(policy.Layers{
		Starter: starter, Operator: []policy.Table{{Servers: []policy.Server{{Name: "octo", Like: "github"}}}},
	})
	if err != nil {
		return err
	}
	rules := make([]policy.Rule, policyRules)
	for i := range rules {
		rules[i] = policy.Rule{
			ID: fmt.Sprintf("r%d", i), Runtime: "ci", Agent: "dev", Tool: "mail", Operation: "send",
			Scope: policy.ScopeRecipient, Value: fmt.Sprintf("someone%d@example.com", i), Class: core.ClassSend,
		}
	}
	index, _ := policy.NewRules(rules)
	in, calls := policy.Inputs{Now: 1, Rules: index}, policyCalls()
	worst := make([]time.Duration, policyTurns) // Of each turn: the mean of its slowest kind of call.
	raw := make([]time.Duration, policyTurns)
	for turn := range policyTurns {
		for _, r := range calls {
			if err := ctx.Err(); err != nil {
				return err
			}
			worst[turn] = max(worst[turn], mean(func() { policy.Evaluate(p, r, in) }))
			raw[turn] = max(raw[turn], mean(func() { _ = json.Valid(r.Arguments); _ = sha256.Sum256(r.Arguments) }))
		}
	}
	slices.Sort(worst)
	slices.Sort(raw)
	slowest, least := worst[policyTurns/2], raw[policyTurns/2]
	b.report.add("policy: the slowest of six calls, 10,000 rules and the starter",
		fmt.Sprintf("%.1f µs [%.1f-%.1f], n=%d; %.1fx of checking and hashing the arguments (%.1f µs)", micros(slowest),
			micros(worst[0]), micros(worst[policyTurns-1]), policyTurns, float64(slowest)/float64(least), micros(least)),
		"<= 20 µs", judge(slowest <= policyTarget))
	return nil
}

// mean is what one call of fn takes on average.
func mean(fn func()) time.Duration {
	began := time.Now()
	for range policyRounds {
		fn()
	}
	return time.Since(began) / policyRounds
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }
