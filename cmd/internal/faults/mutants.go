//go:build unix

package faults

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// mutant is the product with one promise broken on purpose, to see that a campaign
// notices. It is built as variants are: nothing of it is in the product.
type mutant struct {
	name     string
	does     string
	file     string   // In the module.
	old, new string   // A text that stands there once, and what stands there instead.
	fault    string   // Under which it has to be noticed.
	want     []string // Parts of violations, one of which it has to cause.
}

// mutants are one for each kind of promise, and those that only one fault brings to light.
func mutants() []mutant {
	return []mutant{
		{
			name: "lost-edit", does: "one final edit in sixteen is recorded and not made", fault: "redis-partition",
			file: "deliveries/edit.go",
			old:  "outcome, err = t.ch.Edit(ctx, t.d.Locator, r)\n",
			new:  "if t.a.Status.Terminal() && t.a.ID[len(t.a.ID)-1] == '7' {\n\t\t\toutcome = core.OutcomeReplaced\n\t\t\treturn nil\n\t\t}\n\t\toutcome, err = t.ch.Edit(ctx, t.d.Locator, r)\n",
			want: []string{"is recorded as replaced and"},
		},
		{
			name: "claim-without-allow", does: "one refused claim in sixteen is told that it is granted", fault: "redis-restart",
			file: "core/store/internal/record/grants.go",
			old:  "	if err != nil || refusal != nil {\n\t\treturn settled{a, refusal}, err\n",
			new:  "	if err == nil && refusal != nil && a.ID[len(a.ID)-1] == '7' {\n\t\treturn settled{a, nil}, nil\n\t}\n	if err != nil || refusal != nil {\n\t\treturn settled{a, refusal}, err\n",
			want: []string{"it ran without an allow"},
		},
		{
			name: "two-runners", does: "a grant that is claimed is granted again", fault: "pool",
			file: "core/store/internal/record/grants.go",
			old:  "		if a.ClaimToken != c.TokenHash || a.ActionHash != c.ActionHash {\n",
			new:  "		if a.ActionHash != c.ActionHash {\n",
			want: []string{"it ran 2 times"},
		},
		{
			name: "lost-decision", does: "commits are acknowledged before they are in the log", fault: "postgres-restart",
			file: "core/store/postgres/open.go",
			old:  "CASE WHEN current_setting('synchronous_commit') NOT IN ('on', 'remote_apply') THEN set_config('synchronous_commit', 'on', false) END`)",
			new:  "set_config('synchronous_commit', 'off', false)`)",
			want: []string{"nobody's answer ended it", "is not recorded", "are recorded", "was acknowledged, and the record says"},
		},
		{
			name: "unknown-is-no", does: "an unknown outcome is told as \"nothing was recorded\"", fault: "commit-cut",
			file: "core/store/postgres/decide.go",
			old:  "	if err != nil || !a.Status.Terminal() {\n\t\treturn core.Decided{}, core.ErrOutcomeUnknown\n",
			new:  "	if err != nil || !a.Status.Terminal() || d.ID != \"\" {\n\t\treturn core.Decided{}, core.ErrUnavailable\n",
			want: []string{"somebody was told that nothing was recorded, and it is"},
		},
		{
			name: "send-before-begin", does: "a send is not noted before it is made", fault: "kill",
			file: "deliveries/send.go",
			old:  "	err := t.w.deps.Store.Begin(ctx, b)\n",
			new:  "	var err error\n	if b.Edit {\n\t\terr = t.w.deps.Store.Begin(ctx, b)\n\t}\n",
			want: []string{"that nobody knew answers"},
		},
		{
			name: "failed-edit", does: "an edit that failed for now counts as made", fault: "messengers",
			file: "deliveries/edit.go",
			old:  "	case !ok:\n\t\tt.editFailed(ctx, fail)\n\tcase outcome ==",
			new:  "	case !ok && fail.class == core.FailureTemporary:\n\t\tt.shown(ctx)\n	case !ok:\n\t\tt.editFailed(ctx, fail)\n\tcase outcome ==",
			want: []string{"is recorded as replaced and"},
		},
		{
			name: "gap", does: "the numbers of events have gaps", fault: "latency",
			file: "core/store/postgres/sequence.go",
			old:  "l.seq + row_number() OVER",
			new:  "l.seq + 1 + row_number() OVER",
			want: []string{"has the number"},
		},
	}
}

// source reads the file with the promise broken.
func (m mutant) source(_ context.Context, module string) (path string, text []byte, err error) {
	path = filepath.Join(module, filepath.FromSlash(m.file))
	if text, err = os.ReadFile(path); err != nil {
		return "", nil, fmt.Errorf("read source: %w", err)
	}
	if bytes.Count(text, []byte(m.old)) != 1 {
		return "", nil, fmt.Errorf("the source of %s looks otherwise: its mutant %q has to be written anew", m.file, m.name)
	}
	return path, bytes.Replace(text, []byte(m.old), []byte(m.new), 1), nil
}

// noticed finds the violation that the mutant has to cause. Evidence that is missing is
// none.
func (m mutant) noticed(found []string) (string, bool) {
	for _, v := range found {
		wanted := func(want string) bool { return strings.Contains(v, want) }
		if !strings.HasPrefix(v, noEvidence) && slices.ContainsFunc(m.want, wanted) {
			return v, true
		}
	}
	return "", false
}

// ErrBlind is a broken promise that no campaign noticed.
var ErrBlind = errors.New("a broken promise was not noticed")

// Prove builds the product with a promise broken, again and again, and lets the fault
// happen that has to bring it to light: it fails where nobody notices. Count and Kills
// may be a fifth of those of a whole campaign. Errors: ErrBlind; any other says that a
// campaign could not go on.
func Prove(ctx context.Context, o Options) error {
	turns := make(chan struct{}, beside(o))
	var printing sync.Mutex
	var failed error
	var all sync.WaitGroup
	for _, m := range mutants() {
		if !strings.Contains(m.name, o.Only) {
			continue
		}
		turns <- struct{}{}
		all.Go(func() {
			quiet := sync.OnceFunc(func() { <-turns })
			defer quiet()
			began := time.Now()
			v, err := m.prove(ctx, o, quiet)
			printing.Lock()
			defer printing.Unlock()
			verdict := "noticed: " + v
			if err != nil {
				failed = errors.Join(failed, fmt.Errorf("%s: %w", m.name, err))
				verdict = err.Error()
			}
			fmt.Fprintf(o.Out, "%-20s %s (%s), %s\n    %s\n", m.name, m.does, m.fault, time.Since(began).Round(time.Second), verdict)
		})
	}
	all.Wait()
	return failed
}

// prove runs one campaign with the mutant.
func (m mutant) prove(ctx context.Context, o Options, quiet func()) (violation string, err error) {
	for _, f := range all() {
		if f.name != m.fault {
			continue
		}
		needed := f.needs
		f.needs = func(ctx context.Context, c *campaign) (n needs, err error) {
			if needed != nil {
				n, err = needed(ctx, c)
			}
			if err == nil {
				_, err = variant(m.source)(ctx, c)
				c.o.Sayso = c.variant
			}
			return n, err
		}
		c := newCampaign(o, f)
		if _, err := c.run(ctx, quiet); err != nil {
			return "", err
		}
		v, ok := m.noticed(c.found)
		if !ok {
			return "", fmt.Errorf("%w: %s", ErrBlind, c.shown())
		}
		return v, os.RemoveAll(c.folder)
	}
	return "", fmt.Errorf("there is no fault %q", m.fault)
}
