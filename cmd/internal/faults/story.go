//go:build unix

package faults

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/api"
	"github.com/saysohq/sayso/core/client"
)

// story is one question from the first word to the end, and everything that anybody
// was told about it. It is written by its own goroutine, and read when that has ended.
type story struct {
	number   int
	random   *rand.Rand
	approval api.Approval
	attempts []attempt
	runs     []string // Tokens of the runners that ran it: at most one.
	tried    int      // How many runners asked for the grant.
	reported bool     // The outcome was taken.
	faults   []string // What was wrong while it went on.
}

// attempt is one answer that somebody gave.
type attempt struct {
	way      way
	decision core.Decision
	told     told
}

// String implements fmt.Stringer.
func (a attempt) String() string { return fmt.Sprintf("%s, %s: %s", a.way, a.decision, a.told) }

func (s *story) title() string { return fmt.Sprintf("Fault question %d", s.number) }

func (s *story) wrong(format string, args ...any) {
	s.faults = append(s.faults, fmt.Sprintf(format, args...))
}

// Shares of the stories, in percent.
const (
	shareContested = 25 // Two answers at once.
	shareEarly     = 10 // A runner that does not wait for the answer.
	shareTwice     = 25 // Two runners that want the grant.
	shareSilent    = 5  // A runner that never reports.
)

func (s *story) chance(percent int) bool { return s.random.IntN(100) < percent }

func (s *story) decision() core.Decision {
	if s.random.IntN(2) == 0 {
		return core.DecisionDeny
	}
	return core.DecisionAllowOnce
}

// errUnfinished is a story that had no end in time.
var errUnfinished = errors.New("it had no end in time")

// run lives the story. Errors: errUnfinished.
func (s *story) run(ctx context.Context, t *town, c *cards) error {
	if err := s.ask(ctx, t); err != nil {
		return err
	}
	if s.chance(shareEarly) {
		s.claimEarly(ctx, t)
	}
	if err := s.decide(ctx, t, c); err != nil {
		return err
	}
	return s.claim(ctx, t)
}

// again tries until fn has a definite answer.
func again(ctx context.Context, fn func() (done bool)) error {
	for !fn() {
		if pause(ctx, healthEvery) != nil {
			return errUnfinished
		}
	}
	return nil
}

// passing reports whether an error says that the same call may succeed later.
func passing(err error) bool {
	switch core.CodeOf(err) {
	case "unavailable", "outcome_unknown", "storage_full", "rate_limited", "internal":
		return true
	}
	var e *client.Error
	return errors.As(err, &e) && e.Code == client.CodeUnexpected
}

// ask asks until the question is recorded, always with the same key.
func (s *story) ask(ctx context.Context, t *town) error {
	ask := api.Ask{
		IdempotencyKey: s.title(), Kind: core.KindPlugin, Title: s.title(),
		Operation: api.AskOperation{Tool: "mail", Arguments: fmt.Appendf(nil, `{"to":"bea","number":%d}`, s.number)},
	}
	var refused error
	err := again(ctx, func() bool {
		var asked api.Asked
		asked, refused = t.ann.machine.Ask(ctx, ask, 0)
		s.approval = asked.Approval
		return refused == nil || !passing(refused)
	})
	return errors.Join(err, refused)
}

// claimEarly is a runner that does not wait: it must not get anything.
func (s *story) claimEarly(ctx context.Context, t *town) {
	_, err := t.ann.machine.Claim(ctx, s.approval.ID, api.Claim{ActionHash: s.approval.ActionHash, Token: client.NewClaimToken()})
	if err == nil {
		s.wrong("a grant was given before anybody had decided")
	}
}

// longestThought is the longest that somebody thinks before they answer. Without a
// thought most questions were decided before any card was there.
const longestThought = time.Second

// tries is how often a person who was not answered does the same again, before they
// take the API.
const tries = 2

// decide lets one or two people's answers race, and goes on until one counts.
func (s *story) decide(ctx context.Context, t *town, c *cards) error {
	n := 1
	if s.chance(shareContested) {
		n = 2
	}
	if pause(ctx, time.Duration(s.random.Int64N(int64(longestThought)))) != nil {
		return errUnfinished
	}
	answers := make(chan []attempt, n)
	undecided, decided := context.WithCancel(ctx) // For whoever still waits for a card to be pressed.
	defer decided()
	for range n {
		w, d := ways()[s.random.IntN(len(ways()))], s.decision()
		go func() {
			given := insist(func() told { return t.give(ctx, undecided, c, &s.approval, w, d) }, w, d)
			if len(given) > 0 && given[len(given)-1].told.definite() {
				decided()
			}
			answers <- given
		}()
	}
	for range n {
		s.attempts = append(s.attempts, <-answers...)
	}
	d := s.decision()
	return again(ctx, func() bool {
		for _, a := range s.attempts {
			if a.told.definite() {
				return true
			}
		}
		s.attempts = append(s.attempts, attempt{wayAPI, d, t.ann.byAPI(ctx, &s.approval, d)})
		return false
	})
}

// insist answers in one way, again where nothing came of it.
func insist(give func() told, w way, d core.Decision) (given []attempt) {
	for range tries {
		got := attempt{w, d, give()}
		given = append(given, got)
		if got.told.definite() {
			break
		}
	}
	return given
}

// claim lets one or two runners ask for the grant. Whoever gets it runs the action,
// which is to be noted here, and reports.
func (s *story) claim(ctx context.Context, t *town) error {
	n := 1
	if s.chance(shareTwice) {
		n = 2
	}
	silent := s.chance(shareSilent)
	type ran struct {
		token string
		err   error
	}
	runners := make(chan ran, n)
	for range n {
		token := client.NewClaimToken()
		s.tried++
		go func() { runners <- ran{token, s.take(ctx, t, token)} }()
	}
	unfinished := false
	for range n {
		r := <-runners
		switch {
		case r.err == nil:
			s.runs = append(s.runs, r.token)
		case errors.Is(r.err, errUnfinished):
			unfinished = true
		}
	}
	if len(s.runs) > 1 {
		s.wrong("it ran %d times", len(s.runs))
	}
	if unfinished {
		return errUnfinished
	}
	if silent || len(s.runs) == 0 {
		return nil
	}
	return s.report(ctx, t)
}

// take asks for the grant until there is a definite answer: nil is the grant.
func (s *story) take(ctx context.Context, t *town, token string) error {
	var refused error
	err := again(ctx, func() bool {
		_, refused = t.ann.machine.Claim(ctx, s.approval.ID, api.Claim{ActionHash: s.approval.ActionHash, Token: token})
		return refused == nil || !passing(refused)
	})
	return errors.Join(err, refused)
}

func (s *story) report(ctx context.Context, t *town) error {
	return again(ctx, func() bool {
		_, err := t.ann.machine.Report(ctx, s.approval.ID, api.Report{Token: s.runs[0], Outcome: core.ExecutionSucceeded})
		if err != nil && !passing(err) {
			s.wrong("report: %s", core.CodeOf(err))
			return true
		}
		s.reported = err == nil
		return err == nil
	})
}

// storyLimit bounds a story: far above what any fault lasts.
const storyLimit = 3 * time.Minute
