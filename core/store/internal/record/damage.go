package record

import (
	"fmt"
	"strings"

	"github.com/saysohq/sayso/core"
)

const (
	// damagedRuntime stands for a name that is none. It is nobody's.
	damagedRuntime = "damaged"
	// maxSound is the largest revision that is taken for one.
	maxSound = 1 << 40

	sqlDeleteDetail = `DELETE FROM approval_details WHERE approval_id = ?`
)

// bury ends a row that waits and cannot be decoded, wherever it is met: denied, for
// storage-corrupt (conformance 28). Nothing that was asked is kept, because nobody can
// say what of it is true; who asked and who may see the row stay as far as they are
// sound, so that whoever waits is told and every card can be driven to the denial.
// From then on the row is like any other, and is pruned like any other.
func (t *tx) bury(broken *core.Approval) (core.Approval, error) {
	grave := graveOf(broken, t.now)
	if err := grave.Check(); err != nil {
		return core.Approval{}, fmt.Errorf("end damaged approval: %w", err)
	}
	row, err := t.rows.Values(&grave)
	if err != nil {
		return core.Approval{}, err
	}
	n, err := t.Exec(t.rows.burial(), append(row[1:], grave.ID)...)
	if err == nil && n == 0 {
		err = core.ErrConflict
	}
	if err != nil {
		return core.Approval{}, fmt.Errorf("end damaged approval: %w", err)
	}
	if _, err := t.Exec(sqlDeleteDetail, grave.ID); err != nil {
		return core.Approval{}, err
	}
	a, err := findApproval(t, t.rows, t.rows.byID, grave.ID)
	if err != nil {
		return core.Approval{}, err
	}
	return a, t.tell(&a, core.EventOf(a.Status, a.Origin), true, "")
}

// graveOf is what is left of a damaged row.
func graveOf(broken *core.Approval, now core.Millis) core.Approval {
	nothing := core.HashOf([]byte(core.ReasonStorageCorrupt))
	a := core.Approval{
		ID: broken.ID, Kind: broken.Kind, Origin: core.OriginAsk, Runtime: broken.Runtime,
		Instance: broken.Instance, Epoch: broken.Epoch,
		IdempotencyKey: broken.IdempotencyKey, KeyGeneration: broken.KeyGeneration, RequestHash: broken.RequestHash,
		ArgumentsHash: nothing, ActionHash: nothing, Fingerprint: core.Fingerprint(nothing),
		Class: core.ClassSend, ClassSource: string(core.ReasonStorageCorrupt),
		Offered: []core.Decision{core.DecisionDeny}, Continuation: broken.Continuation,
		Agent: broken.Agent, SessionKey: broken.SessionKey, RunID: broken.RunID, FrameID: broken.FrameID,
		Group: broken.Group, CausedBy: broken.CausedBy, CallbackURL: broken.CallbackURL, RequestedBy: broken.RequestedBy,
		Reviewers: broken.Reviewers, ExcludeRequester: broken.ExcludeRequester, RequirePush: broken.RequirePush,
		CreatedAt: broken.CreatedAt, ExpiresAt: broken.ExpiresAt, UpdatedAt: now, Revision: broken.Revision + 1,
	}
	if !a.Kind.Valid() {
		a.Kind = core.KindPlugin
	}
	if !core.ValidRuntimeName(a.Runtime) {
		a.Runtime = damagedRuntime
	}
	if !a.Continuation.Valid() {
		a.Continuation = core.ContinuationLive
	}
	if a.Reviewers == nil || len(a.Reviewers) > core.MaxReviewers { // A list that cannot be read is nobody's.
		a.Reviewers = []string{}
	}
	if a.CreatedAt <= 0 || a.CreatedAt > now {
		a.CreatedAt = now
	}
	a.ExpiresAt = max(a.ExpiresAt, a.CreatedAt+1)
	if a.Revision < 2 || a.Revision > maxSound {
		a.Revision = 2
	}
	a.CardRevision = a.Revision // Newer than anything that a card shows.
	a.Ref = core.ResolutionRef(a.Kind, a.ID)
	a.Presentation = core.Presentation{Kind: a.Kind, Title: core.DamagedTitle}
	End(&a, core.Terminal{
		Status: core.StatusDenied, Decision: core.DecisionDeny, Reason: core.ReasonStorageCorrupt,
		ResolverKind: core.ResolverSystem,
	}, "", now)
	return a
}

// epitaph is what can be told of a damaged row that was ended before: that it was, and
// nothing of how. The row stays as it is, because it may be the only trace of the answer.
// It reports false where not even the card revision is sound.
func epitaph(broken *core.Approval, now core.Millis) (core.Approval, bool) {
	a := core.Approval{
		ID: broken.ID, Kind: broken.Kind, Status: broken.Status,
		CardRevision: broken.CardRevision, Revision: broken.CardRevision,
	}
	a.ResolvedAt = now
	if !a.Kind.Valid() {
		a.Kind = core.KindPlugin
	}
	if !a.Status.Terminal() {
		a.Status = core.StatusDenied
	}
	return a, broken.Status != core.StatusPending && a.CardRevision > 0 && a.CardRevision < maxSound
}

// burial writes all columns but the id over a row that waits. No list of reviewers
// stays none: then the agent's owners may see the row.
func (t *Table) burial() string {
	sets := make([]string, 0, len(t.all))
	for _, c := range t.all[1:] {
		set := c.name + " = ?"
		if c.name == "reviewers" {
			set = "reviewers = CASE WHEN reviewers IS NULL THEN reviewers ELSE ? END"
		}
		sets = append(sets, set)
	}
	return "UPDATE approvals SET " + strings.Join(sets, ", ") + " WHERE id = ? AND status = 'pending'"
}
