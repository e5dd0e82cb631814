package approvals

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/saysohq/sayso/core"
)

// maxReply bounds a message that stands for an answer, in bytes. Of it the record keeps
// what a note may have; the runtime has the message itself.
const maxReply = 16 << 10

// RegisterInstance gives a boot of a runtime's instance its epoch. A newer epoch
// ends what the instance's former life left open (K1). Errors: ErrForbidden,
// ErrInvalid.
func (s *Service) RegisterInstance(ctx context.Context, c core.Caller, r Registration) (core.Instance, error) {
	if err := s.machine(ctx, c, core.ScopeRequest); err != nil {
		return core.Instance{}, err
	}
	if err := text("name", r.Name, core.MaxShortText); err != nil || r.Name == "" {
		return core.Instance{}, core.Invalid("name", "must be 1 to %d bytes of UTF-8", core.MaxShortText)
	}
	if err := text("boot_id", r.BootID, core.MaxShortText); err != nil || len(r.BootID) < minClaimToken {
		return core.Instance{}, core.Invalid("boot_id", "must be %d to %d bytes of random text", minClaimToken, core.MaxShortText)
	}
	for fact, value := range r.Facts {
		if err := cmp.Or(text("facts", fact, core.MaxFactBytes), text("facts", value, core.MaxFactBytes)); err != nil {
			return core.Instance{}, err
		}
	}
	in, hints, err := s.deps.Store.RegisterInstance(ctx, core.RegisterInstance{
		Runtime: c.Token.Runtime, Instance: r.Name, BootID: r.BootID, Facts: r.Facts,
	})
	if err != nil {
		return core.Instance{}, fmt.Errorf("register instance: %w", err)
	}
	s.publish(ctx, hints...)
	return in, nil
}

// AbortRun stops a run for good: what waits is cancelled, what was allowed and not
// claimed is voided, what comes later is refused. Errors: ErrForbidden, ErrInvalid.
func (s *Service) AbortRun(ctx context.Context, c core.Caller, run string) (core.Run, error) {
	if err := s.run(ctx, c, run); err != nil {
		return core.Run{}, err
	}
	r, hints, err := s.deps.Store.AbortRun(ctx, c.Token.Runtime, run)
	if err != nil {
		return core.Run{}, fmt.Errorf("abort run: %w", err)
	}
	s.publish(ctx, hints...)
	return r, nil
}

// RunStatus reads a run of the caller's. Errors: ErrNotFound, ErrForbidden.
func (s *Service) RunStatus(ctx context.Context, c core.Caller, run string) (core.Run, error) {
	if err := s.readable(ctx, c); err != nil {
		return core.Run{}, err
	}
	if c.Token == nil {
		return core.Run{}, core.ErrForbidden
	}
	r, err := s.deps.Store.ReadRun(ctx, c.Token.Runtime, run)
	if err != nil {
		return core.Run{}, fmt.Errorf("read run: %w", err)
	}
	return r, nil
}

func (s *Service) run(ctx context.Context, c core.Caller, run string) error {
	if err := s.machine(ctx, c, core.ScopeRequest); err != nil {
		return err
	}
	if err := text("run", run, core.MaxShortText); err != nil || run == "" {
		return core.Invalid("run", "must be 1 to %d bytes of UTF-8", core.MaxShortText)
	}
	return nil
}

// Reply declines every call of a run that waits in a turn, because the owner
// wrote a message instead of answering (R133). The same message again finds the
// rows that it declined, also after the run has ended (R135); a message that lost
// to a button changes nothing.
//
// Errors: ErrForbidden, ErrInvalid, ErrConflict (nothing waits and this message
// declined nothing before).
func (s *Service) Reply(ctx context.Context, c core.Caller, r Reply) (Replied, error) {
	if err := s.run(ctx, c, r.Run); err != nil {
		return Replied{}, err
	}
	if err := text("message_id", r.MessageID, core.MaxShortText); err != nil || r.MessageID == "" {
		return Replied{}, core.Invalid("message_id", "must be 1 to %d bytes of UTF-8", core.MaxShortText)
	}
	if strings.TrimSpace(r.Text) == "" || text("text", r.Text, maxReply) != nil {
		return Replied{}, core.Invalid("text", "must be 1 to %d bytes of UTF-8, and not blank", maxReply)
	}
	key := "chat:" + r.MessageID
	waiting := core.ListQuery{Runtime: c.Token.Runtime, Run: r.Run, Status: core.StatusPending}
	err := s.all(ctx, waiting, func(a *core.Approval) error { return s.declineByMessage(ctx, c, a, key, r.Text) })
	out := Replied{Run: r.Run}
	if err != nil {
		return out, err
	}
	// By this call, or by the same message before.
	declined := core.ListQuery{Runtime: c.Token.Runtime, Run: r.Run, DecisionKey: key}
	err = s.all(ctx, declined, func(a *core.Approval) error {
		out.Declined = append(out.Declined, a.ID)
		out.Now = out.Now || a.Continuation == core.ContinuationLive
		return nil
	})
	if err == nil && len(out.Declined) == 0 {
		err = core.ErrConflict
	}
	return out, err
}

// all goes through every row of a list, newest first, a page at a time.
func (s *Service) all(ctx context.Context, q core.ListQuery, fn func(a *core.Approval) error) error {
	for {
		page, err := s.deps.Store.List(ctx, q)
		if err != nil {
			return fmt.Errorf("list run: %w", err)
		}
		for i := range page.Approvals {
			if err := fn(&page.Approvals[i]); err != nil {
				return err
			}
		}
		if !page.More {
			return nil
		}
		last := &page.Approvals[len(page.Approvals)-1]
		q.Before = &core.ListCursor{CreatedAt: last.CreatedAt, ID: last.ID}
	}
}

// declineByMessage declines a row that waits in a turn. One that was faster keeps its
// answer.
func (s *Service) declineByMessage(ctx context.Context, c core.Caller, a *core.Approval, key, message string) error {
	if !a.Continuation.Waits() { // A draft has no turn that the person could have written into.
		return nil
	}
	_, err := s.decide(ctx, core.Decide{ID: a.ID, To: core.Terminal{
		Status: core.StatusDenied, Decision: core.DecisionDeny, Reason: core.ReasonMessage,
		Note: s.note(message), ByMessage: true, DecisionKey: key,
		ResolverKind: core.ResolverRuntime, ResolverID: c.Token.Runtime, ResolverName: c.Token.Runtime,
	}}, key)
	if errors.Is(err, core.ErrNotFound) {
		return nil
	}
	return err
}
