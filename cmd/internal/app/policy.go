package app

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/saysohq/sayso/cmd/internal/config"
	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/api"
	"github.com/saysohq/sayso/core/approvals"
	"github.com/saysohq/sayso/core/policy"
	"github.com/saysohq/sayso/core/policy/inforce"
	"github.com/saysohq/sayso/core/policy/tables"
	"github.com/saysohq/sayso/core/policy/world"
)

// policyFiles are where the configuration says that the tables are.
func policyFiles(p config.Policy) tables.Files {
	return tables.Files{Operator: p.Tables, Organisation: p.Organisation}
}

// compareAlone is how often a process that shares its store with nobody compares: only
// it changes what is in force.
const compareAlone = time.Minute

// buildPolicy reads the tables, agrees with the others on them, and makes what judges
// by them. Bad files stop the start.
func (b *builder) buildPolicy(ctx context.Context, p *parts) error {
	cfg := inforce.Config{}
	if !b.store.shared {
		cfg.CompareEvery = compareAlone
	}
	log := b.Logger.With("part", "policy")
	p.policy = inforce.New(cfg, inforce.Deps{
		Files: policyFiles(b.Config.Policy), Store: b.store, Publisher: b.bus, Hints: b.bus,
		Name: replicaName(), Logger: log, Now: b.Now,
	})
	if err := p.policy.Start(ctx); err != nil {
		return err
	}
	around := world.New(b.store, func(ctx context.Context, found []policy.Finding) {
		for _, f := range found {
			log.LogAttrs(ctx, slog.LevelWarn, "a rule covers nothing, or what another covers", slog.String("rule", f.Rule), slog.String("code", string(f.Code)))
		}
	})
	p.evaluator = policy.NewEvaluator(p.policy, around, func(ctx context.Context, err error) {
		log.LogAttrs(ctx, slog.LevelWarn, "rules and modes could not be read: asking", slog.Any("error", err))
	})
	return b.countPolicy(p)
}

// judging counts what evaluations came to.
type judging struct {
	approvals.Evaluator
	verdicts *prometheus.CounterVec
}

// Evaluate implements approvals.Evaluator.
func (j judging) Evaluate(ctx context.Context, r policy.Request) (policy.Verdict, error) {
	v, err := j.Evaluator.Evaluate(ctx, r)
	if err == nil {
		j.verdicts.WithLabelValues(string(v.Answer), string(v.Class)).Inc()
	}
	return v, err
}

// countPolicy registers what is counted of policy, and makes every label set exist.
func (b *builder) countPolicy(p *parts) error {
	verdicts := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "sayso_policy_verdicts_total", Help: "Calls by what policy said of them, and by their class.",
	}, []string{"verdict", "class"})
	for _, a := range []policy.Answer{policy.Ask, policy.Auto, policy.Allow, policy.Deny} {
		for _, c := range []core.Class{core.ClassRead, core.ClassWrite, core.ClassSend, core.ClassMoney} {
			if a != policy.Allow || c == core.ClassRead {
				verdicts.WithLabelValues(string(a), string(c))
			}
		}
	}
	p.judge = judging{p.evaluator, verdicts}
	for _, c := range []prometheus.Collector{
		verdicts,
		gauge("sayso_policy_in_force", "1 while this process judges by the tables that are in force.", func() bool { return p.policy.Status().Agrees() }),
		gauge("sayso_policy_files_refused", "1 while the newest policy files are refused, and those before stay.", func() bool { return p.policy.Status().Refused != nil }),
	} {
		if err := b.registry.Register(c); err != nil {
			return fmt.Errorf("register metrics: %w", err)
		}
	}
	return nil
}

func gauge(name, help string, is func() bool) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 {
		if is() {
			return 1
		}
		return 0
	})
}

// reload looks at the policy files whenever the process is told to, until ctx ends.
func reload(ctx context.Context, told <-chan os.Signal, k *inforce.Keeper) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-told:
			k.Look()
		}
	}
}

// checkPolicy names the finding about policy files.
const checkPolicy = "policy"

// Ways out of what is wrong with policy files.
const (
	fixRefused = "Correct the files; sayso policy lint names every fault. They are read by themselves."
	fixOthers  = "Bring this replica's files up to date. If these are the ones that count, run sayso policy adopt."
)

// policyFinding is what an examination says of the policy of a running process.
func policyFinding(s inforce.Status) api.Finding {
	switch {
	case !s.Agrees():
		return api.Finding{Check: checkPolicy, Verdict: api.HealthFailed, Detail: "other policy files are in force, so this replica asks about everything and is not ready; they came from " + s.InForce.By, Fix: fixOthers}
	case s.Refused != nil:
		return api.Finding{Check: checkPolicy, Verdict: api.HealthFailed, Detail: "the newest files are refused, and those before stay: " + s.Refused.Error(), Fix: fixRefused}
	}
	return api.Finding{Check: checkPolicy, Verdict: api.HealthOK, Detail: fmt.Sprintf("in force (%s)", short(s.Digest))}
}

// short is as much of a digest as people compare.
func short(digest string) string { return digest[:min(len(digest), len("sha256:")+12)] }

// examinePolicy looks at the files without a running service.
func examinePolicy(p config.Policy) api.Finding {
	compiled, err := tables.Load(policyFiles(p))
	if err != nil {
		return api.Finding{Check: checkPolicy, Verdict: api.HealthFailed, Detail: err.Error(), Fix: fixRefused}
	}
	return api.Finding{Check: checkPolicy, Verdict: api.HealthOK, Detail: fmt.Sprintf("the files are good (%s)", short(compiled.Digest()))}
}
