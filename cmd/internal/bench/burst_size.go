package bench

import (
	"fmt"
	"time"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/deliveries"
)

// storm is a burst of decisions on approvals with a card in each of many chats, on one
// platform.
type storm struct {
	on        core.Surface
	name      string
	budget    deliveries.Budget
	faster    int           // How much faster than shipped the budget is.
	decisions int           // At once.
	every     time.Duration // A further approval is asked, and decided when its cards are out.
	refusals  int           // So many chats refuse their first edit.
	refused   time.Duration
}

// quicker is a budget whose rates are n times as fast.
func quicker(b deliveries.Budget, n int) deliveries.Budget {
	for _, r := range []*deliveries.Rate{&b.Account, &b.Direct, &b.Group, &b.Edits} {
		r.Events *= n
	}
	return b
}

// least is the time that a budget needs at least for n calls of which all are there at
// once, its burst saved up.
func least(r deliveries.Rate, n int) time.Duration {
	if r.Events == 0 {
		return 0
	}
	return time.Duration(max(0, n-max(1, r.Burst))) * r.Per / time.Duration(r.Events)
}

// least is the time that the budgets allow for the whole storm: what the one takes that
// has most to do, as if the further approvals were there from the start. Where a chat
// refuses its first edit, its time begins when it may be asked again. Where the platform
// counts edits for the whole account, all of them wait as long, but for the burst that
// may have left before, and is saved up again meanwhile.
func (s *storm) least() time.Duration {
	chats := 1 + stormShared
	inChat := s.decisions + 2*stormFresh // An edit of each, and the further cards.
	direct := s.refused + least(s.budget.Direct, inChat)
	shared := least(s.budget.Group, inChat)
	if s.refusals > 1 {
		shared += s.refused
	}
	n := chats*(s.decisions+stormFresh) + s.refusals
	edits := least(s.budget.Edits, n)
	if s.budget.Edits.Events > 0 {
		edits = max(edits, s.refused+least(s.budget.Edits, n-s.budget.Edits.Burst))
	}
	return max(direct, shared, edits, least(s.budget.Account, chats*inChat+s.refusals))
}

// saved is how long it takes until every bucket is full again.
func (s *storm) saved() time.Duration {
	var longest time.Duration
	for _, r := range []deliveries.Rate{s.budget.Account, s.budget.Direct, s.budget.Group, s.budget.Edits} {
		longest = max(longest, least(r, 2*max(1, r.Burst)))
	}
	return longest
}

// cardTarget is how long the cards of a further approval may take: two places of the
// slowest chat, and half a second for all else.
func (s *storm) cardTarget() time.Duration {
	return 2*least(s.budget.Group, 1+max(1, s.budget.Group.Burst)) + 500*time.Millisecond
}

func (s *storm) title() string {
	pace := "budgets as shipped"
	if s.faster > 1 {
		pace = fmt.Sprintf("budgets x%d", s.faster)
	}
	return fmt.Sprintf("burst on %s, %s: %d+%d decisions, %d chats", s.name, pace, s.decisions, stormFresh, 1+stormShared)
}

func (s *storm) target() string {
	return fmt.Sprintf("<= %.1fx of the least that the budgets allow", stormTarget)
}
