package record

// The statements of the record. Each is prepared once per connection; statuses in
// conditions are literals, because a partial index is only used when its own
// condition stands in the text.
const (
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
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, nullif(?7, ''), 'planned', CAST(?8 AS bigint) + CAST(?10 AS bigint), ?9, ?8, ?8) ON CONFLICT DO NOTHING`
	sqlInsertDuplicate = `INSERT INTO deliveries (id, approval_id, channel, account, destination, person_id,
			state, outcome, give_up_at, created_at, updated_at)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, 'closed', 'duplicate', ?8, ?7, ?7)`

	sqlInsertRun    = `INSERT INTO runs (runtime, id, created_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`
	sqlReadRun      = `SELECT aborted_at FROM runs WHERE runtime = ? AND id = ?`
	sqlAbortRun     = `UPDATE runs SET aborted_at = ? WHERE runtime = ? AND id = ? AND aborted_at = 0`
	sqlReadEpoch    = `SELECT COALESCE(max(epoch), 0) FROM instances WHERE runtime = ? AND name = ?`
	sqlReadBoot     = `SELECT epoch FROM instances WHERE runtime = ? AND name = ? AND boot_id = ?`
	sqlInsertBoot   = `INSERT INTO instances (runtime, name, epoch, boot_id, registered_at, facts) VALUES (?, ?, ?, ?, ?, ?)`
	sqlAttest       = `UPDATE instances SET facts = ? WHERE runtime = ? AND name = ? AND boot_id = ?`
	sqlIDSpent      = `SELECT count(*) FROM spent_ids WHERE id = ?`
	sqlCountPending = `SELECT count(*) FROM approvals WHERE status = 'pending' AND runtime = ? AND expires_at > ?`

	sqlRunRows = `SELECT id, status, continuation, created_at, expires_at, resolved_at, resolver_kind
		FROM approvals WHERE run_id <> '' AND runtime = ? AND run_id = ? ORDER BY created_at, id`

	// Rows that a write is going to read are locked in the order of their ids.
	sqlHoldPredecessors = `SELECT id FROM approvals WHERE id IN (?1, ?2, ?5) OR id = (SELECT k.id FROM approvals k
		WHERE k.idempotency_key <> '' AND k.runtime = ?3 AND k.idempotency_key = ?4 ORDER BY k.key_generation DESC LIMIT 1)
		ORDER BY id FOR UPDATE`
	sqlHoldBoot = `SELECT id FROM approvals WHERE continuation = 'live' AND runtime = ? AND instance = ? AND epoch < ?
		AND (status = 'pending' OR execution = 'unclaimed') ORDER BY id FOR UPDATE`
	sqlHoldRun = `SELECT id FROM approvals WHERE run_id <> '' AND runtime = ? AND run_id = ?
		AND (status = 'pending' OR execution = 'unclaimed') ORDER BY id FOR UPDATE`
	sqlParents = `SELECT runtime, instance, run_id, agent FROM approvals WHERE id = ?`

	// Looks at a row for each of two references, whether it exists or not: at the one
	// before its place where it does not.
	sqlCountNear = `SELECT count(*) FROM approvals a WHERE a.ref IN (
		(SELECT n.ref FROM approvals n WHERE n.ref <= ? ORDER BY n.ref DESC LIMIT 1),
		(SELECT n.ref FROM approvals n WHERE n.ref <= ? ORDER BY n.ref DESC LIMIT 1))`

	sqlAllPending = `SELECT count(*) FROM approvals WHERE status = 'pending' AND expires_at > ?`

	sqlAnyDue = `SELECT EXISTS (SELECT 1 FROM approvals WHERE status = 'pending' AND expires_at <= ?)`
)

// Conditions of reads of whole rows; table.selectWhere puts the columns before
// them.
const (
	// Behind the condition of a change: the action is the one that was seen, and a person
	// is as they were seen.
	whereSeen   = ` AND action_hash = ? AND fingerprint = ?`
	whereSeenBy = ` AND EXISTS (SELECT 1 FROM principals WHERE id = ? AND revision = ? AND NOT disabled)`

	whereID  = `a.id = ?`
	whereRef = `a.ref = ?`
	whereKey = `a.idempotency_key <> '' AND a.runtime = ? AND a.idempotency_key = ? ORDER BY a.key_generation DESC LIMIT 1`

	whereDue = `a.status = 'pending' AND a.expires_at <= ? ORDER BY a.expires_at LIMIT ? OFFSET ?`
	// A grant's deadline stands still while its agent is paused (R139).
	whereLapsed = `a.execution = 'unclaimed' AND a.claim_by <= ? AND NOT EXISTS (SELECT 1 FROM agents g
		WHERE g.runtime = a.runtime AND g.name = a.agent AND g.paused_at > 0 AND g.paused_at < a.claim_by) ORDER BY a.claim_by LIMIT ? OFFSET ?`
	whereSilent = `a.execution = 'claimed' AND a.outcome_by <= ? ORDER BY a.outcome_by LIMIT ? OFFSET ?`

	whereRunPending    = `a.status = 'pending' AND a.run_id <> '' AND a.runtime = ? AND a.run_id = ? ORDER BY a.id`
	whereRunUnclaimed  = `a.execution = 'unclaimed' AND a.run_id <> '' AND a.runtime = ? AND a.run_id = ? ORDER BY a.id`
	whereBootPending   = `a.status = 'pending' AND a.continuation = 'live' AND a.runtime = ? AND a.instance = ? AND a.epoch < ? ORDER BY a.id`
	whereBootUnclaimed = `a.execution = 'unclaimed' AND a.continuation = 'live' AND a.runtime = ? AND a.instance = ? AND a.epoch < ? ORDER BY a.id`
)
