package deliveries

import (
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
	"strings"
	"time"

	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/presentation"
)

// turn is one leased row on its way to the truth. Every turn ends with exactly
// one write that gives the lease back; if none succeeds, the lease runs out and
// the row is taken over.
type turn struct {
	w       *Worker
	log     *slog.Logger
	ref     core.AccountRef
	ch      channels.Channel
	d       core.Delivery
	a       core.Approval
	damaged bool        // What a says of the answer is not to be believed (core.Work.Damaged).
	base    core.Millis // The store's time at the claim.
	from    time.Time   // Our time before the claim: what we count is never longer than the lease.

	address string
	ticket  *ticket // Position in the queue of the chat.
	begun   bool    // "Sending" was written by this turn.
}

func newTurn(w *Worker, work core.Work, claimed time.Time) *turn {
	ref := core.AccountRef{Channel: work.Delivery.Channel, Account: work.Delivery.Account}
	return &turn{
		w: w, ref: ref, ch: w.served[ref], d: work.Delivery, a: work.Approval, damaged: work.Damaged,
		base: work.Now, from: claimed, address: work.Delivery.Address,
		log: w.deps.Logger.With(
			slog.String("delivery", work.Delivery.ID),
			slog.String("approval", work.Delivery.ApprovalID),
			slog.String("channel", string(ref.Channel))),
	}
}

// step is what a row needs next.
type step int

const (
	stepSkip     step = iota // Decided before anything was sent.
	stepOrphan               // Decided while an unconfirmed message may exist.
	stepSend                 // Nothing was confirmed yet, and an answer is wanted.
	stepDetail               // Somebody asked to show all.
	stepEdit                 // The message must show the record.
	stepFollowup             // The message cannot be edited: tell the truth beside it.
	stepTell                 // Its edit takes long: tell the truth beside it meanwhile.
	stepWait                 // The platform takes no edit yet.
)

// next reads the row and the record; nothing is remembered between turns.
func (t *turn) next() step {
	confirmed := t.d.State == core.DeliveryOpen || t.d.Locator != ""
	terminal := t.a.Status.Terminal()
	switch {
	case !confirmed && terminal && t.mayHaveArrived():
		return stepOrphan
	case !confirmed && terminal:
		return stepSkip
	case !confirmed:
		return stepSend
	case terminal && t.d.Step == core.StepFollowup:
		return stepFollowup
	case t.d.Telling(t.now(), terminal, t.a.CardRevision):
		return stepTell
	case t.d.EditAfter > t.now():
		return stepWait
	case !terminal && t.d.ShownView < t.d.View:
		return stepDetail
	}
	return stepEdit
}

// mayHaveArrived reports whether a send of this row was begun without a receipt.
func (t *turn) mayHaveArrived() bool {
	return t.d.State == core.DeliverySending || t.d.Ambiguous
}

// run does one step. A panic of ours costs this turn only: the lease runs out.
func (t *turn) run(ctx context.Context) {
	defer func() { t.w.chats.leave(t.ticket) }()
	defer func() {
		if v := recover(); v != nil {
			t.w.deps.Metrics.panicked(t.ref.Channel)
			t.log.ErrorContext(ctx, "delivery turn panicked", slog.String("stack", string(debug.Stack())))
		}
	}()
	if t.ch == nil { // Not ours: a store that hands out other accounts' rows.
		t.giveBack(ctx, foreignRetry)
		return
	}
	if t.a.Due(t.now()) && !t.reload(ctx) {
		return
	}
	if t.endWithoutCall(ctx) || !t.resolve(ctx) {
		return
	}
	waited, ok := t.enter(ctx)
	if !ok {
		return
	}
	if waited && (!t.reload(ctx) || t.endWithoutCall(ctx) || !t.sameChat(ctx)) {
		return
	}
	switch t.next() {
	case stepSend:
		t.sendCard(ctx, false)
	case stepDetail:
		t.showAll(ctx)
	case stepEdit:
		t.editCard(ctx, t.wholeShown())
	case stepFollowup:
		t.sendFollowup(ctx)
	case stepTell:
		t.tell(ctx)
	case stepSkip, stepOrphan, stepWait: // Ended above.
	}
}

// endWithoutCall closes rows about which nobody needs to be told, and gives back those
// whose message takes no edit yet.
func (t *turn) endWithoutCall(ctx context.Context) bool {
	switch t.next() {
	case stepSkip:
		t.close(ctx, core.CloseDelivery{Outcome: core.OutcomeSkipped})
		return true
	case stepOrphan:
		t.close(ctx, core.CloseDelivery{Outcome: core.OutcomePossibleOrphan, Class: core.FailureAmbiguous})
		return true
	case stepWait:
		t.giveBack(ctx, t.d.EditAfter.Sub(t.now()))
		return true
	case stepSend, stepDetail, stepEdit, stepFollowup, stepTell:
	}
	return false
}

// reload reads the record again: its deadline may have come, or somebody may
// have decided while this row waited for its chat. It reports false when the
// turn is over.
func (t *turn) reload(ctx context.Context) bool {
	if t.damaged { // It was ended, and there is no more to be read.
		return true
	}
	a, err := t.w.deps.Records.Approval(ctx, core.Lookup{ID: t.d.ApprovalID})
	if err != nil {
		t.storeTrouble(ctx, "read approval", err)
		return false
	}
	t.a = a
	return true
}

// resolve finds the address of a row that was never sent. It reports false when
// the turn is over.
func (t *turn) resolve(ctx context.Context) bool {
	if n := t.next(); n != stepSend && (n != stepFollowup || t.address != "") {
		return true
	}
	if t.d.PersonID == "" {
		if t.address == "" {
			t.address = strings.TrimPrefix(t.d.Destination, ChatPrefix)
		}
		return true
	}
	if t.next() == stepSend && !t.entitled(ctx) {
		return false
	}
	links, err := t.w.deps.People.IdentitiesOf(ctx, t.d.PersonID)
	if err != nil {
		t.storeTrouble(ctx, "read identities", err)
		return false
	}
	if l := t.directChat(links); l != nil {
		if t.address == "" || t.d.LastError != core.FailureMoved { // The platform knows better where it is.
			t.address = l.DirectChat
		}
		return true
	}
	t.address = ""
	t.closeFailed(ctx, failure{class: core.FailureGone, text: "no direct chat with this person"})
	return false
}

// sameChat resolves again after a wait: rights and links may have gone meanwhile. It
// reports false when the turn is over.
func (t *turn) sameChat(ctx context.Context) bool {
	waitedFor := t.address
	if !t.resolve(ctx) {
		return false
	}
	if t.address != waitedFor { // Its turn there has not come.
		t.giveBack(ctx, 0)
		return false
	}
	return true
}

// directChat picks the person's chat with this bot, one that works if there is one.
func (t *turn) directChat(links []core.Identity) *core.Identity {
	var found *core.Identity
	for i := range links {
		l := &links[i]
		if l.PrincipalID != t.d.PersonID || l.Channel != t.ref.Channel || l.Account != t.ref.Account || l.DirectChat == "" {
			continue
		}
		if l.Broken == core.FailureNone {
			return l
		}
		found = l
	}
	return found
}

// join queues for the chat in the order of the claim, final answers first, where
// the address is known already.
func (t *turn) join() {
	if t.address != "" && (t.d.PersonID == "" || t.next() != stepSend) {
		t.ticket = t.w.chats.join(place{t.ref, t.address}, laneOf(&t.a))
	}
}

// enter waits for the chat, obeys blocks and budgets, and reports whether the
// call may leave now. When it may not, the row has been given back.
func (t *turn) enter(ctx context.Context) (waited, ok bool) {
	if t.ticket == nil {
		t.ticket = t.w.chats.join(place{t.ref, t.address}, laneOf(&t.a))
	}
	if t.ticket == nil {
		t.turnedAway(ctx)
		return false, false
	}
	if !t.ticket.wait(ctx, t.spare()) { // Stopping, or the lease would not last.
		t.giveBack(ctx, 0)
		return false, false
	}
	if t.ticket.away {
		t.turnedAway(ctx)
		return false, false
	}
	if d := t.w.blocks.remaining(t.ref, t.address); d > 0 {
		t.giveBack(ctx, d)
		return false, false
	}
	p := t.reserve(ctx)
	if !p.Booked {
		t.w.slots.shut(t.ref, laneOf(&t.a), early(p.Lane))
		t.noPlace(ctx, early(p.Wait), early(p.Chat))
		return false, false
	}
	if p.Chat > 0 {
		t.w.chats.shutBehind(t.ticket, early(p.Chat))
	}
	if p.Wait > 0 && !pause(ctx, p.Wait) {
		t.giveBack(ctx, 0)
		return false, false
	}
	return t.ticket.waited || p.Wait > 0, true
}

// foreignRetry is when a row comes back that this process cannot serve.
const foreignRetry = time.Second

// now is the deployment's time, counted from the claim.
func (t *turn) now() core.Millis { return t.base.Add(t.w.deps.Now().Sub(t.from)) }

// spare is how long this turn may still wait so that a whole call and its receipt
// fit into the lease, by our own, earlier, idea of its end.
func (t *turn) spare() time.Duration {
	return core.DeliveryLease - leaseMargin - t.w.deps.Now().Sub(t.from)
}

// leaseHolds reports whether the row is still ours, as far as clocks can tell.
func (t *turn) leaseHolds() bool { return t.spare() >= 0 && t.w.deps.Alive() }

func (t *turn) wholeShown() bool { return wholeShown(&t.d) }

// layout renders the record for this row's place. Reports false when the turn is
// over: a card that cannot be rendered is our own fault and waits with backoff.
func (t *turn) layout(ctx context.Context, whole bool) (presentation.Card, channels.Rendered, bool) {
	return t.layoutAt(ctx, whole, false)
}

// layoutAt is layout, or with beside that of a message beside the card.
func (t *turn) layoutAt(ctx context.Context, whole, beside bool) (presentation.Card, channels.Rendered, bool) {
	lay, complete, ok := t.layouter(ctx, whole, beside)
	if !ok {
		return presentation.Card{}, channels.Rendered{}, false
	}
	var (
		card presentation.Card
		r    channels.Rendered
	)
	err := t.protect(ctx, func() (err error) {
		card = lay()
		r, err = t.ch.Render(card)
		return err
	})
	if err != nil {
		t.count(opRender, core.FailureRejected)
		t.log.ErrorContext(ctx, "card cannot be rendered", slog.Int64("attempts", t.d.Attempts))
		t.release(ctx, core.ReleaseDelivery{
			RetryIn: ceilMillis(t.backoff()), Class: core.FailureTemporary, ErrorText: "the card could not be rendered",
		})
		return card, r, false
	}
	r.Complete = r.Complete || complete
	return card, r, true
}

// layouter reads what the card needs, and tells whether it was brought to the chat as a
// whole. It reports false when the turn is over.
func (t *turn) layouter(ctx context.Context, whole, beside bool) (lay func() presentation.Card, complete, ok bool) {
	if t.damaged {
		return func() presentation.Card { return presentation.DamagedCard(t.a.ID, t.a.Kind, t.a.CardRevision) }, false, true
	}
	detail, at, err := t.w.placed(ctx, &t.a, &t.d, whole, t.now())
	if err != nil {
		t.storeTrouble(ctx, "read detail", err)
		return nil, false, false
	}
	at.Beside = beside
	return func() presentation.Card { return t.w.deps.Card(t.a, detail, at) }, at.WholeShown, true
}

// protect turns a panic of a channel or a renderer into an error.
func (t *turn) protect(ctx context.Context, f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			t.w.deps.Metrics.panicked(t.ref.Channel)
			t.log.ErrorContext(ctx, "channel panicked", slog.String("stack", string(debug.Stack())))
			err = errPanic
		}
	}()
	return f()
}

var errPanic = errors.New("panic in a channel")

// call makes one platform call. It outlives a stop of the worker: an aborted send
// would be an ambiguous one, and the timeout bounds it.
func (t *turn) call(ctx context.Context, op string, f func(ctx context.Context) error) (failure, bool) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), core.CallTimeout)
	defer cancel()
	err := t.protect(ctx, func() error { return f(ctx) })
	if err == nil {
		t.count(op, core.FailureNone)
		t.accepted(ctx)
		return failure{}, true
	}
	fail := classify(err, op != opEdit)
	t.count(op, fail.class)
	return fail, false
}

func (t *turn) count(op string, class core.FailureClass) {
	t.w.deps.Metrics.called(t.ref.Channel, op, class)
}

// accepted clears the report of refused credentials.
func (t *turn) accepted(ctx context.Context) {
	if t.w.refused.set(t.ref, false) {
		t.w.deps.Metrics.refused(t.ref.Channel, -1)
		t.log.InfoContext(ctx, "credentials accepted again", slog.String("account", t.ref.Account))
	}
}
