package bench

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/saysohq/sayso/cmd/internal/config"
	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/deliveries"
)

// stormRun is a storm with the service and the messenger that it goes through, and
// what it showed.
type stormRun struct {
	*storm
	*chats
	strict Strict

	took    time.Duration   // From the first decision to the last edit.
	cards   []time.Duration // From asking to the last card, of the approvals asked meanwhile.
	answers []time.Duration // Of the decisions on those.
}

// brew starts a messenger, and a service in this process with the storm's budgets,
// which nobody can configure.
func (b *bench) brew(ctx context.Context, s *storm) (r *stormRun, err error) {
	r = &stormRun{storm: s, chats: &chats{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.close())
		}
	}()
	if r.strict, err = b.Strict(s.on, s.faster); err != nil {
		return r, err
	}
	if r.lab, err = b.lab(ctx, "burst-"+string(s.on), 0); err != nil {
		return r, err
	}
	cfg := config.Default()
	who := r.strict.Settle(&cfg, stormShared)
	who.PrincipalID = r.admin.Person.ID
	if err := r.people.LinkIdentity(ctx, core.Caller{Operator: true}, who); err != nil {
		return r, err
	}
	if err := r.halt(); err != nil {
		return r, err
	}
	r.server, err = serveHere(ctx, r.dir, &cfg, map[core.Surface]deliveries.Budget{s.on: s.budget})
	return r, err
}

// close ends what brew started.
func (r *stormRun) close() error {
	err := r.chats.close()
	if r.strict != nil {
		r.strict.Close()
	}
	return err
}

// pass shows all cards, decides on all of them at once, goes on asking meanwhile, and
// waits for the last edit. It gives up after twice the least time, which the budgets
// allow for the cards and for the edits, and four minutes.
func (r *stormRun) pass(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*r.least()+cardsFor)
	defer cancel()
	if err := r.ask(ctx, r.decisions); err != nil {
		return err
	}
	if err := r.await(ctx, (1+stormShared)*r.decisions, `state = 'open' AND locator <> ''`); err != nil {
		return err
	}
	ids, err := r.asked(ctx)
	if err != nil {
		return err
	}
	select { // Until the budgets are whole again.
	case <-time.After(r.saved() + time.Second):
	case <-ctx.Done():
		return ctx.Err()
	}
	for chat := range r.refusals {
		r.strict.Refuse(chat, r.refused)
	}
	began := time.Now()
	fresh := make(chan error, 1)
	go func() { fresh <- r.askOn(ctx, began) }()
	if err = errors.Join(r.decide(ctx, ids), <-fresh); err != nil {
		return err
	}
	if err := r.await(ctx, (1+stormShared)*(r.decisions+stormFresh), `state = 'closed' AND outcome = 'replaced'`); err != nil {
		return err
	}
	r.took = r.strict.Traffic().LastEdit.Sub(began)
	return nil
}

// asked lists the approvals.
func (r *stormRun) asked(ctx context.Context) (ids []string, err error) {
	rows, err := r.raw.QueryContext(ctx, `SELECT DISTINCT approval_id FROM deliveries`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

// decide decides on all approvals, as fast as 32 clients can.
func (r *stormRun) decide(ctx context.Context, ids []string) error {
	clients, err := newClients(ctx, r.server.addr, r.lab, min(len(ids), manyCallers))
	if err != nil {
		return err
	}
	defer clients.close()
	errs := make([]error, len(clients.conns))
	var wg sync.WaitGroup
	for k := range clients.conns {
		wg.Go(func() {
			for i := k; i < len(ids) && errs[k] == nil; i += len(clients.conns) {
				errs[k] = clients.deny(k, ids[i])
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// askOn asks for further approvals, waits for the cards of each and decides.
func (r *stormRun) askOn(ctx context.Context, began time.Time) error {
	for i := range stormFresh {
		select {
		case <-time.After(time.Until(began.Add(time.Duration(i+1) * r.every))):
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := r.askOneMore(ctx, r.decisions+i); err != nil {
			return err
		}
	}
	return nil
}

func (r *stormRun) askOneMore(ctx context.Context, n int) error {
	runtime, err := dial(ctx, r.server.addr, r.token.Bearer.Reveal()) // Fresh: the service closes connections that are silent at first.
	if err != nil {
		return err
	}
	defer runtime.close()
	asked := time.Now()
	id, err := askOne(runtime, n)
	if err != nil {
		return err
	}
	if err := r.await(ctx, 1+stormShared, `approval_id = ? AND state = 'open' AND locator <> ''`, id); err != nil {
		return err
	}
	r.cards = append(r.cards, time.Since(asked))
	clients, err := newClients(ctx, r.server.addr, r.lab, 1)
	if err != nil {
		return err
	}
	defer clients.close()
	sent := time.Now()
	err = clients.deny(0, id)
	r.answers = append(r.answers, time.Since(sent))
	return err
}

// await waits until so many rows of the ledger are as the condition says.
func (r *stormRun) await(ctx context.Context, n int, where string, args ...any) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		var have int
		if err := r.raw.QueryRowContext(ctx, `SELECT count(*) FROM deliveries WHERE `+where, args...).Scan(&have); err != nil {
			return err
		}
		if have >= n {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d of %d rows are there: %w", have, n, ctx.Err())
		case <-tick.C:
		}
	}
}
