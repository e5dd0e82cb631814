package sqlite

// The statements of the record. Each is prepared once per connection; statuses in
// conditions are literals, because a partial index is only used when its own
// condition stands in the text.
const (
	sqlInsertEvent = `INSERT INTO events (approval_id, revision, type, runtime, previous, caused_by, created_at, payload)
		VALUES (?, ?, ?, ?, COALESCE((SELECT max(seq) FROM events WHERE approval_id = ?), 0), ?, ?, ?)`

	// The rule of core.Delivery.DueFrom, for a card that has just become a new terminal
	// one. ?3 is core.TellAfter.
	sqlDeliveriesDue = `UPDATE deliveries SET updated_at = ?1, stale_since = iif(stale_since = 0, ?1, stale_since),
			due_at = max(?1, answer_until, iif(step = 'followup' OR edit_after - max(?1, answer_until) > ?3, 0, edit_after))
		WHERE approval_id = ?2 AND state <> 'closed'`
	// A chat that already was told the outcome is told again when the record has more
	// to tell: a grant that was taken back, a runner that fell silent. A message is
	// edited; one that cannot be is followed up once more. Apart from the statement
	// above, because naming the state there would write an index for every decision.
	sqlReopenShown = `UPDATE deliveries SET state = 'open', outcome = ''
		WHERE approval_id = ? AND state = 'closed' AND outcome IN ('replaced', 'retired', 'unsupported')`

	sqlInsertDetail = `INSERT INTO approval_details (approval_id, text, omitted) VALUES (?, ?, ?)`
	sqlReadDetail   = `SELECT COALESCE(d.text, ''), COALESCE(d.omitted, 0)
		FROM approvals a LEFT JOIN approval_details d ON d.approval_id = a.id WHERE a.id = ?`

	sqlInsertDelivery = `INSERT INTO deliveries (id, approval_id, channel, account, destination, person_id, address,
			state, due_at, give_up_at, created_at, updated_at)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, nullif(?7, ''), 'planned', ?8 + ?10, ?9, ?8, ?8) ON CONFLICT DO NOTHING`
	sqlInsertDuplicate = `INSERT INTO deliveries (id, approval_id, channel, account, destination, person_id,
			state, outcome, give_up_at, created_at, updated_at)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, 'closed', 'duplicate', ?8, ?7, ?7)`

	sqlInsertRun    = `INSERT INTO runs (runtime, id, created_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`
	sqlReadRun      = `SELECT aborted_at FROM runs WHERE runtime = ? AND id = ?`
	sqlAbortRun     = `UPDATE runs SET aborted_at = ? WHERE runtime = ? AND id = ? AND aborted_at = 0`
	sqlReadEpoch    = `SELECT COALESCE(max(epoch), 0) FROM instances WHERE runtime = ? AND name = ?`
	sqlReadBoot     = `SELECT epoch FROM instances WHERE runtime = ? AND name = ? AND boot_id = ?`
	sqlInsertBoot   = `INSERT INTO instances (runtime, name, epoch, boot_id, registered_at) VALUES (?, ?, ?, ?, ?)`
	sqlIDSpent      = `SELECT count(*) FROM spent_ids WHERE id = ?`
	sqlCountPending = `SELECT count(*) FROM approvals WHERE status = 'pending' AND runtime = ? AND expires_at > ?`

	sqlRevision  = `SELECT revision FROM approvals WHERE id = ?`
	sqlReadGuard = `SELECT disabled, revision FROM principals WHERE id = ?`

	sqlRunRows = `SELECT id, status, continuation, created_at, expires_at, resolved_at, resolver_kind
		FROM approvals WHERE run_id <> '' AND runtime = ? AND run_id = ? ORDER BY created_at, id`

	sqlAnyDue = `SELECT EXISTS (SELECT 1 FROM approvals WHERE status = 'pending' AND expires_at <= ?)`
)

// Conditions of reads of whole rows; table.selectWhere puts the columns before
// them.
const (
	whereID  = `a.id = ?`
	whereRef = `a.ref = ?`
	whereKey = `a.idempotency_key <> '' AND a.runtime = ? AND a.idempotency_key = ? ORDER BY a.key_generation DESC LIMIT 1`

	whereDue    = `a.status = 'pending' AND a.expires_at <= ? ORDER BY a.expires_at LIMIT ? OFFSET ?`
	whereLapsed = `a.execution = 'unclaimed' AND a.claim_by <= ? ORDER BY a.claim_by LIMIT ? OFFSET ?`
	whereSilent = `a.execution = 'claimed' AND a.outcome_by <= ? ORDER BY a.outcome_by LIMIT ? OFFSET ?`

	whereRunPending    = `a.status = 'pending' AND a.run_id <> '' AND a.runtime = ? AND a.run_id = ? ORDER BY a.id`
	whereRunUnclaimed  = `a.execution = 'unclaimed' AND a.run_id <> '' AND a.runtime = ? AND a.run_id = ? ORDER BY a.id`
	whereBootPending   = `a.status = 'pending' AND a.continuation = 'live' AND a.runtime = ? AND a.instance = ? AND a.epoch < ? ORDER BY a.id`
	whereBootUnclaimed = `a.execution = 'unclaimed' AND a.continuation = 'live' AND a.runtime = ? AND a.instance = ? AND a.epoch < ? ORDER BY a.id`
)
