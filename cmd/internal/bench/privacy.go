package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"time"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/people"
)

const (
	lookups       = 1000
	privacyTarget = 0.10
)

// privacy compares how long "not found" takes for an approval that does not exist
// and for one that the caller may not see: the time must not tell them apart.
func (b *bench) privacy(ctx context.Context) (err error) {
	l, err := b.lab(ctx, "privacy", 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	strangers, rows, err := l.strangers(ctx)
	if err != nil {
		return err
	}
	if err := l.halt(); err != nil {
		return err
	}
	s, err := b.serve(ctx, l.dir, "")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	for _, who := range strangers {
		c, err := dial(ctx, s.addr, who.bearer)
		if err != nil {
			return err
		}
		unknown, hidden, err := timeLookups(c, rows)
		c.close()
		if err != nil {
			return err
		}
		differ := math.Abs(float64(hidden.at(0.5))/float64(unknown.at(0.5)) - 1)
		b.report.add("not found: unknown beside hidden, "+who.name,
			fmt.Sprintf("medians %s and %s differ by %.1f %% (n=%d each)", unknown.at(0.5), hidden.at(0.5), 100*differ, len(hidden)),
			"<= 10 %", judge(differ <= privacyTarget))
	}
	return nil
}

type stranger struct{ name, bearer string }

// strangers are a machine and a person that may not see the rows, which are a
// thousand.
func (l *lab) strangers(ctx context.Context) ([]stranger, []string, error) {
	rows, err := l.copies(ctx, &l.seed, lookups)
	if err != nil {
		return nil, nil, err
	}
	other, err := l.issue(ctx, "other")
	if err != nil {
		return nil, nil, err
	}
	operator := core.Caller{Operator: true}
	bob, err := l.people.AddPerson(ctx, operator, people.NewPerson{ID: "bob", Name: "Bob", Role: core.RoleReviewer})
	if err != nil {
		return nil, nil, err
	}
	code, err := l.people.StartPair(ctx, operator, bob.ID, people.FormLink)
	if err != nil {
		return nil, nil, err
	}
	in, err := l.people.RedeemPair(ctx, code.Code.Reveal(), browser())
	if err != nil {
		return nil, nil, err
	}
	return []stranger{{"a machine", other.Bearer.Reveal()}, {"a person", in.Bearer.Reveal()}}, rows, nil
}

// timeLookups asks for unknown and hidden ids in turns.
func timeLookups(c *conn, rows []string) (unknown, hidden latencies, err error) {
	var times [2][]time.Duration
	for i, id := range rows {
		for _, k := range [2]int{i % 2, 1 - i%2} {
			path := "/v1/approvals/" + [2]string{newID(), id}[k]
			one := time.Now()
			status, answer, err := c.call(http.MethodGet, path, nil)
			took := time.Since(one)
			if err != nil {
				return nil, nil, err
			}
			if status != http.StatusNotFound {
				return nil, nil, fmt.Errorf("the service answered %d: %.300s", status, answer)
			}
			times[k] = append(times[k], took)
		}
	}
	slices.Sort(times[0])
	slices.Sort(times[1])
	return times[0], times[1], nil
}
