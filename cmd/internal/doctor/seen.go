package doctor

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/core"
)

// Seen remembers what this process hears from each account. It is safe for concurrent
// use; a restart forgets it, and says so.
type Seen struct {
	now   func() time.Time
	began time.Time
	last  *prometheus.GaugeVec

	mu       sync.Mutex
	accounts map[core.AccountRef]hearing
}

// hearing is what is known of one account.
type hearing struct {
	click time.Time // Of the last click; zero for none.
	down  string    // Why it does not receive; "" while it does.
	auth  bool      // It is down because the platform refuses what we are.
}

// NewSeen makes an empty memory and registers its gauge, the time of each account's
// last click, 0 for none since the start.
func NewSeen(now func() time.Time, reg prometheus.Registerer, accounts ...core.AccountRef) (*Seen, error) {
	s := &Seen{
		now: now, began: now(), accounts: map[core.AccountRef]hearing{},
		last: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "sayso_inbound_last_click_timestamp_seconds",
			Help: "Unix time of the last click that this process received, by account; 0 for none since its start.",
		}, []string{"channel", "account"}),
	}
	if err := reg.Register(s.last); err != nil {
		return nil, fmt.Errorf("register metrics: %w", err)
	}
	for _, ref := range accounts { // So that dashboards show zeros.
		s.last.WithLabelValues(string(ref.Channel), ref.Account)
	}
	return s, nil
}

// Inbound is in with an ear on it.
func (s *Seen) Inbound(in channels.Inbound) channels.Inbound { return listener{Inbound: in, seen: s} }

type listener struct {
	channels.Inbound
	seen *Seen
}

// Click implements channels.Inbound.
func (l listener) Click(ctx context.Context, c channels.Click) channels.Answer {
	l.seen.clicked(c.Account)
	return l.Inbound.Click(ctx, c)
}

func (s *Seen) clicked(ref core.AccountRef) {
	at := s.now()
	s.last.WithLabelValues(string(ref.Channel), ref.Account).Set(float64(at.UnixMilli()) / 1000)
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.accounts[ref]
	h.click = at
	s.accounts[ref] = h
}

// Receives notes that an account begins to receive.
func (s *Seen) Receives(ref core.AccountRef) { s.set(ref, "", false) }

// Stopped notes that an account does not receive, and why. Only a channel's own error
// is repeated, which never holds content.
func (s *Seen) Stopped(ref core.AccountRef, err error) {
	reason, auth := "it ended unexpectedly", false
	if refused, ok := errors.AsType[*channels.Error](err); ok {
		reason, auth = refused.Error(), refused.Class == core.FailureAuth
	}
	s.set(ref, reason, auth)
}

func (s *Seen) set(ref core.AccountRef, down string, auth bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.accounts[ref]
	h.down, h.auth = down, auth
	s.accounts[ref] = h
}

func (s *Seen) of(ref core.AccountRef) hearing {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.accounts[ref]
}
