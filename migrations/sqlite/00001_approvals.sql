-- +goose Up

-- The singleton row. `clock` is the last time handed out, `batch` the number of
-- the last committed batch: both are written by every batch, so that one read
-- after a lost COMMIT answers for all of its writes. Nothing older than `clock`
-- is ever stamped again, whatever the machine's own clock does.
CREATE TABLE deployment (
    singleton   INTEGER PRIMARY KEY CHECK (singleton = 1),
    id          TEXT    NOT NULL,
    incarnation INTEGER NOT NULL DEFAULT 1 CHECK (incarnation >= 1),
    sealed      INTEGER NOT NULL DEFAULT 0 CHECK (sealed IN (0, 1)), -- It does not serve;
    sealed_as   TEXT    NOT NULL DEFAULT '' CHECK (sealed_as IN ('', 'backup', 'moved', 'arriving', 'restoring')), -- why not.
    copy_id     TEXT    NOT NULL DEFAULT '', -- The copy that this store came with, or was moved away by.
    created_at  INTEGER NOT NULL DEFAULT 0,
    clock       INTEGER NOT NULL DEFAULT 0,
    batch       INTEGER NOT NULL DEFAULT 0,
    last_event  INTEGER NOT NULL DEFAULT 0, -- For PostgreSQL; here the table of events keeps it.
    -- What PostgreSQL was at the last start: another one may have lost commits.
    cluster     TEXT    NOT NULL DEFAULT '',
    timeline    INTEGER NOT NULL DEFAULT 0,
    CONSTRAINT only_sealed_has_a_reason CHECK (sealed = 1 OR sealed_as = '')
) STRICT;

CREATE TABLE sealed_keys (
    id         TEXT    NOT NULL,
    purpose    TEXT    NOT NULL,
    sealed     BLOB    NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (purpose, id)
) STRICT;

CREATE TABLE leases (
    name       TEXT    PRIMARY KEY,
    holder     TEXT    NOT NULL,
    fence      INTEGER NOT NULL CHECK (fence >= 1),
    held_until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- People.

CREATE TABLE principals (
    id         TEXT    PRIMARY KEY,
    name       TEXT    NOT NULL,
    role       TEXT    NOT NULL CHECK (role IN ('admin', 'reviewer', 'viewer')),
    disabled   INTEGER NOT NULL DEFAULT 0 CHECK (disabled IN (0, 1)),
    revision   INTEGER NOT NULL CHECK (revision >= 1),
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE identities (
    realm        TEXT    NOT NULL CHECK (realm <> ''),
    external_id  TEXT    NOT NULL CHECK (external_id <> ''),
    principal_id TEXT    NOT NULL REFERENCES principals (id),
    label        TEXT    NOT NULL DEFAULT '',
    channel      TEXT    NOT NULL,
    account      TEXT    NOT NULL DEFAULT '',
    direct_chat  TEXT    NOT NULL DEFAULT '',
    linked_at    INTEGER NOT NULL,
    broken       TEXT    NOT NULL DEFAULT '',
    PRIMARY KEY (realm, external_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX identities_principal ON identities (principal_id);

CREATE TABLE agent_owners (
    runtime      TEXT NOT NULL,
    agent        TEXT NOT NULL,
    principal_id TEXT NOT NULL REFERENCES principals (id),
    PRIMARY KEY (runtime, agent, principal_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX agent_owners_principal ON agent_owners (principal_id);

CREATE TABLE sessions (
    id           TEXT    PRIMARY KEY,
    hash         TEXT    NOT NULL UNIQUE,
    principal_id TEXT    NOT NULL REFERENCES principals (id),
    kind         TEXT    NOT NULL CHECK (kind IN ('browser', 'cli')),
    label        TEXT    NOT NULL DEFAULT '',
    created_at   INTEGER NOT NULL,
    expires_at   INTEGER NOT NULL CHECK (expires_at > created_at),
    ended_at     INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE INDEX sessions_principal ON sessions (principal_id, created_at);
CREATE INDEX sessions_expiry ON sessions (expires_at);

CREATE TABLE tokens (
    id         TEXT    PRIMARY KEY,
    hash       TEXT    NOT NULL UNIQUE,
    runtime    TEXT    NOT NULL,
    scopes     TEXT    NOT NULL CHECK (json_valid(scopes)),
    acts_for   TEXT    REFERENCES principals (id), -- NULL for nobody.
    label      TEXT    NOT NULL DEFAULT '',
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL DEFAULT 0,
    revoked_at INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

-- used_at is also set when a code is burned or replaced: it is good while it is 0.
CREATE TABLE codes (
    hash         TEXT    PRIMARY KEY,
    purpose      TEXT    NOT NULL CHECK (purpose IN ('bootstrap', 'pair', 'link')),
    principal_id TEXT    REFERENCES principals (id), -- NULL for bootstrap.
    created_at   INTEGER NOT NULL,
    expires_at   INTEGER NOT NULL CHECK (expires_at > created_at),
    used_at      INTEGER NOT NULL DEFAULT 0,
    CHECK ((purpose = 'bootstrap') = (principal_id IS NULL))
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX codes_open_bootstrap ON codes (purpose) WHERE purpose = 'bootstrap' AND used_at = 0;
CREATE INDEX codes_expiry ON codes (expires_at);

-- Wrong codes over the whole deployment: `failures` since `window_at`.
CREATE TABLE code_failures (
    singleton INTEGER PRIMARY KEY CHECK (singleton = 1),
    window_at INTEGER NOT NULL DEFAULT 0,
    failures  INTEGER NOT NULL DEFAULT 0
) STRICT;
INSERT INTO code_failures (singleton) VALUES (1);

CREATE TABLE prompts (
    id           TEXT    PRIMARY KEY,
    ref          TEXT    NOT NULL UNIQUE,
    purpose      TEXT    NOT NULL CHECK (purpose IN ('note', 'link', 'test', 'menu', 'again')),
    channel      TEXT    NOT NULL,
    account      TEXT    NOT NULL,
    chat         TEXT    NOT NULL,
    message      TEXT    NOT NULL DEFAULT '',
    realm        TEXT    NOT NULL,
    external_id  TEXT    NOT NULL,
    label        TEXT    NOT NULL DEFAULT '',
    approval_id  TEXT    NOT NULL DEFAULT '',
    delivery_id  TEXT    NOT NULL DEFAULT '',
    code_hash    TEXT    NOT NULL DEFAULT '',
    principal_id TEXT    NOT NULL DEFAULT '',
    choices      TEXT    NOT NULL DEFAULT '', -- What the buttons of a menu do, as JSON; '' for none.
    created_at   INTEGER NOT NULL,
    expires_at   INTEGER NOT NULL CHECK (expires_at > created_at),
    done_at      INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE INDEX prompts_message ON prompts (channel, account, message) WHERE message <> '';
CREATE INDEX prompts_expiry ON prompts (expires_at);

-- The runtimes' own bookkeeping.

-- One row per boot; the greatest epoch of (runtime, name) is the current one.
CREATE TABLE instances (
    runtime       TEXT    NOT NULL,
    name          TEXT    NOT NULL,
    epoch         INTEGER NOT NULL CHECK (epoch >= 1),
    boot_id       TEXT    NOT NULL,
    registered_at INTEGER NOT NULL,
    facts         TEXT    NOT NULL DEFAULT '', -- What the runtime attests of it, as JSON; '' for nothing.
    PRIMARY KEY (runtime, name, epoch),
    UNIQUE (runtime, name, boot_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE runs (
    runtime    TEXT    NOT NULL,
    id         TEXT    NOT NULL CHECK (id <> ''),
    created_at INTEGER NOT NULL,
    aborted_at INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (runtime, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX runs_age ON runs (created_at) WHERE aborted_at = 0;

-- What people set of agents. Every change of an agent's mode or rules raises its
-- generation and leaves a row of policy_changes under it.

CREATE TABLE agents (
    runtime       TEXT    NOT NULL CHECK (runtime <> ''),
    name          TEXT    NOT NULL,
    mode          TEXT    NOT NULL DEFAULT '' CHECK (mode IN ('', 'before-anything-outside', 'before-everything', 'only-money-and-deletes')),
    mode_revision INTEGER NOT NULL DEFAULT 0,
    mode_since    INTEGER NOT NULL DEFAULT 0, -- The generation that the mode came with.
    generation    INTEGER NOT NULL CHECK (generation >= 1),
    updated_at    INTEGER NOT NULL,
    paused_at      INTEGER NOT NULL DEFAULT 0, -- 0 while it is not paused.
    paused_by      TEXT    NOT NULL DEFAULT '',
    paused_name    TEXT    NOT NULL DEFAULT '',
    pause_revision INTEGER NOT NULL DEFAULT 0,
    reset_at       INTEGER NOT NULL DEFAULT 0, -- When the life began that goes on now.
    deleted_at     INTEGER NOT NULL DEFAULT 0, -- 0 again as soon as something is set.
    PRIMARY KEY (runtime, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE rules (
    id                TEXT    PRIMARY KEY CHECK (id <> ''),
    runtime           TEXT    NOT NULL CHECK (runtime <> ''),
    agent             TEXT    NOT NULL,
    tool              TEXT    NOT NULL CHECK (tool <> ''),
    operation         TEXT    NOT NULL DEFAULT '',
    scope             TEXT    NOT NULL CHECK (scope IN ('recipient', 'host', 'operation', 'tool')),
    value             TEXT    NOT NULL DEFAULT '',
    class             TEXT    NOT NULL CHECK (class IN ('write', 'send', 'money')),
    label             TEXT    NOT NULL DEFAULT '',
    policy_digest     TEXT    NOT NULL DEFAULT '',
    policy_generation INTEGER NOT NULL,
    approval_id       TEXT    NOT NULL DEFAULT '',
    created_by        TEXT    NOT NULL CHECK (created_by <> ''),
    created_name      TEXT    NOT NULL DEFAULT '',
    created_at        INTEGER NOT NULL,
    expires_at        INTEGER NOT NULL DEFAULT 0,
    uses_allowed      INTEGER NOT NULL DEFAULT 0 CHECK (uses_allowed >= 0),
    uses              INTEGER NOT NULL DEFAULT 0,
    last_used_at      INTEGER NOT NULL DEFAULT 0,
    removed_at        INTEGER NOT NULL DEFAULT 0,
    removed_by        TEXT    NOT NULL DEFAULT '',
    removed_name      TEXT    NOT NULL DEFAULT '',
    CONSTRAINT value_unless_whole_tool CHECK ((scope = 'tool') = (value = '') AND (scope <> 'tool' OR operation = '')),
    CONSTRAINT money_is_switched_in_the_list CHECK ((class = 'money') = (approval_id = '') AND (class <> 'money' OR scope = 'tool')),
    CONSTRAINT expires_after_its_making CHECK (expires_at = 0 OR expires_at > created_at),
    CONSTRAINT never_overused CHECK (uses >= 0 AND (uses_allowed = 0 OR uses <= uses_allowed))
) STRICT, WITHOUT ROWID;
CREATE INDEX rules_live ON rules (runtime, agent, id) WHERE removed_at = 0;
CREATE INDEX rules_history ON rules (created_at, id);
CREATE UNIQUE INDEX rules_card ON rules (approval_id) WHERE approval_id <> '';

CREATE TABLE policy_changes (
    runtime     TEXT    NOT NULL,
    agent       TEXT    NOT NULL,
    generation  INTEGER NOT NULL,
    kind        TEXT    NOT NULL CHECK (kind IN ('mode-set', 'rule-made', 'rule-removed', 'rule-spent', 'restored', 'paused', 'resumed',
        'reset', 'deleted')),
    rule_id     TEXT    NOT NULL DEFAULT '',
    mode_before TEXT    NOT NULL DEFAULT '',
    mode_after  TEXT    NOT NULL DEFAULT '',
    by_id       TEXT    NOT NULL DEFAULT '',
    by_name     TEXT    NOT NULL DEFAULT '',
    created_at  INTEGER NOT NULL,
    PRIMARY KEY (runtime, agent, generation)
) STRICT, WITHOUT ROWID;
CREATE INDEX policy_changes_age ON policy_changes (created_at);

-- The policy files that were in force, by their digest; the greatest number is.
CREATE TABLE policy_tables (
    number     INTEGER PRIMARY KEY CHECK (number >= 1),
    digest     TEXT    NOT NULL CHECK (length(digest) = 71),
    put_by     TEXT    NOT NULL DEFAULT '',
    created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX policy_tables_digest ON policy_tables (digest, number);

-- Declined actions that a person let be asked again.
CREATE TABLE reopened (
    approval_id TEXT    PRIMARY KEY CHECK (approval_id <> ''),
    by_id       TEXT    NOT NULL CHECK (by_id <> ''),
    by_name     TEXT    NOT NULL DEFAULT '',
    created_at  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The record. Lists are JSON. The checks repeat the rules of the decoder, so that
-- a tuple which the state machine cannot produce is not even written.
-- Here and in the ledger, sets of three and more values are chains of OR: SQLite makes
-- a temporary table for each such IN every time it checks a row, and that was half of
-- what the change of a row cost.
CREATE TABLE approvals (
    id              TEXT    NOT NULL PRIMARY KEY CHECK (id <> ''),
    ref             TEXT    NOT NULL UNIQUE CHECK (length(ref) = 43),
    kind            TEXT    NOT NULL CHECK (kind IN ('exec', 'plugin')),
    origin          TEXT    NOT NULL CHECK (origin IN ('ask', 'auto')),
    runtime         TEXT    NOT NULL CHECK (runtime <> ''),
    instance        TEXT    NOT NULL DEFAULT '',
    epoch           INTEGER NOT NULL DEFAULT 0,
    idempotency_key TEXT    NOT NULL DEFAULT '',
    key_generation  INTEGER NOT NULL DEFAULT 0,
    request_hash    TEXT    NOT NULL,
    supersedes      TEXT    NOT NULL DEFAULT '',
    sticky_of       TEXT    NOT NULL DEFAULT '',

    operation_id    TEXT    NOT NULL DEFAULT '',
    operation_type  TEXT    NOT NULL DEFAULT '',
    tool            TEXT    NOT NULL DEFAULT '',
    operation       TEXT    NOT NULL DEFAULT '',
    arguments_hash  TEXT    NOT NULL CHECK (length(arguments_hash) = 71),
    action_hash     TEXT    NOT NULL CHECK (length(action_hash) = 71),
    fingerprint     TEXT    NOT NULL,
    class           TEXT    NOT NULL CHECK (class = 'read' OR class = 'write' OR class = 'send' OR class = 'money'),
    class_source    TEXT    NOT NULL DEFAULT '',
    risk            TEXT    NOT NULL DEFAULT '',
    presentation    TEXT    NOT NULL CHECK (json_valid(presentation) AND octet_length(presentation) <= 4096),
    detail_bytes    INTEGER NOT NULL DEFAULT 0,
    detail_omitted  INTEGER NOT NULL DEFAULT 0,

    offered           TEXT    NOT NULL CHECK (json_valid(offered)),
    always_offer      TEXT    CHECK (always_offer IS NULL OR json_valid(always_offer)),
    policy_id         TEXT    NOT NULL DEFAULT '',
    policy_generation INTEGER NOT NULL DEFAULT 0,
    trail             TEXT    CHECK (trail IS NULL OR json_valid(trail)),
    continuation      TEXT    NOT NULL CHECK (continuation = 'live' OR continuation = 'durable' OR continuation = 'draft'),

    agent       TEXT NOT NULL DEFAULT '',
    session_key TEXT NOT NULL DEFAULT '',
    run_id      TEXT NOT NULL DEFAULT '',
    frame_id    TEXT NOT NULL DEFAULT '',
    group_id    TEXT NOT NULL DEFAULT '',
    caused_by   TEXT NOT NULL DEFAULT '',
    audience    TEXT CHECK (audience IS NULL OR (json_valid(audience) AND json_array_length(audience) <= 64)),
    callback_url TEXT NOT NULL DEFAULT '' CHECK (octet_length(callback_url) <= 2048),

    requested_by      TEXT    NOT NULL DEFAULT '',
    reviewers         TEXT    CHECK (reviewers IS NULL OR json_valid(reviewers)), -- NULL: no explicit list; '[]': nobody.
    exclude_requester INTEGER NOT NULL DEFAULT 0 CHECK (exclude_requester IN (0, 1)),
    require_push      INTEGER NOT NULL DEFAULT 0 CHECK (require_push IN (0, 1)),

    created_at INTEGER NOT NULL CHECK (created_at > 0),
    expires_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,

    status        TEXT    NOT NULL CHECK (status = 'pending' OR status = 'allowed' OR status = 'denied' OR status = 'expired'
            OR status = 'cancelled'),
    decision      TEXT    NOT NULL DEFAULT '' CHECK (decision = '' OR decision = 'allow-once' OR decision = 'allow-always' OR decision = 'deny'),
    reason        TEXT    NOT NULL DEFAULT '',
    note          TEXT    NOT NULL DEFAULT '',
    by_message    INTEGER NOT NULL DEFAULT 0 CHECK (by_message IN (0, 1)),
    decision_key  TEXT    NOT NULL DEFAULT '',
    attempt_id    TEXT    NOT NULL DEFAULT '',
    resolved_at   INTEGER NOT NULL DEFAULT 0,
    resolver_kind TEXT    NOT NULL DEFAULT '' CHECK (resolver_kind = '' OR resolver_kind = 'human' OR resolver_kind = 'policy'
            OR resolver_kind = 'runtime' OR resolver_kind = 'system'),
    resolver_id   TEXT    NOT NULL DEFAULT '',
    resolver_name TEXT    NOT NULL DEFAULT '',
    surface       TEXT    NOT NULL DEFAULT '',
    delivery_id   TEXT    NOT NULL DEFAULT '',
    proof         TEXT    NOT NULL DEFAULT '',
    partial_view  INTEGER NOT NULL DEFAULT 0 CHECK (partial_view IN (0, 1)),

    execution     TEXT    NOT NULL CHECK (execution = 'none' OR execution = 'unclaimed' OR execution = 'claimed'
            OR execution = 'succeeded' OR execution = 'failed' OR execution = 'unknown' OR execution = 'voided'),
    claim_by      INTEGER NOT NULL DEFAULT 0,
    claim_token   TEXT    NOT NULL DEFAULT '',
    consumed_at   INTEGER NOT NULL DEFAULT 0,
    consumed_by   TEXT    NOT NULL DEFAULT '',
    outcome_by    INTEGER NOT NULL DEFAULT 0,
    outcome_at    INTEGER NOT NULL DEFAULT 0,
    outcome_error TEXT    NOT NULL DEFAULT '',
    void_reason   TEXT    NOT NULL DEFAULT '' CHECK (void_reason = '' OR void_reason = 'lapsed' OR void_reason = 'run-aborted'
            OR void_reason = 'runtime-restart' OR void_reason = 'superseded' OR void_reason = 'storage-restored' OR void_reason = 'hash-mismatch'
            OR void_reason = 'policy-changed'),
    aftermath     TEXT    CHECK (aftermath IS NULL OR (json_valid(aftermath) AND status <> 'pending')), -- What people did about the outcome.

    revision      INTEGER NOT NULL CHECK (revision >= 1),
    card_revision INTEGER NOT NULL CHECK (card_revision BETWEEN 1 AND revision),

    CONSTRAINT times_in_order CHECK (expires_at > created_at AND updated_at >= created_at),
    CONSTRAINT auto_names_its_policy CHECK ((origin = 'auto') = (policy_id <> '')),
    CONSTRAINT reason_fits_status CHECK (CASE status
        WHEN 'pending'   THEN reason = ''
        WHEN 'allowed'   THEN reason IN ('user', 'policy')
        WHEN 'denied'    THEN reason = 'user' OR reason = 'policy' OR reason = 'message' OR reason = 'malformed-verdict'
            OR reason = 'hash-mismatch' OR reason = 'no-route' OR reason = 'sticky-decline' OR reason = 'storage-corrupt'
        WHEN 'expired'   THEN reason = 'timeout'
        WHEN 'cancelled' THEN reason = 'withdrawn' OR reason = 'admin' OR reason = 'run-aborted' OR reason = 'runtime-restart'
            OR reason = 'superseded' OR reason = 'storage-restored'
        END),
    CONSTRAINT pending_has_no_outcome CHECK (status <> 'pending' OR (decision = '' AND note = '' AND by_message = 0
        AND decision_key = '' AND attempt_id = '' AND resolved_at = 0 AND resolver_kind = '' AND resolver_id = ''
        AND resolver_name = '' AND surface = '' AND delivery_id = '' AND proof = '' AND partial_view = 0)),
    CONSTRAINT terminal_has_a_resolver CHECK (status = 'pending' OR (resolved_at >= created_at AND resolver_kind <> '')),
    CONSTRAINT only_a_person_or_a_policy_allows CHECK (status <> 'allowed'
        OR (origin = 'auto' AND decision = '' AND resolver_kind = 'policy' AND reason = 'policy')
        OR (origin = 'ask' AND decision IN ('allow-once', 'allow-always') AND resolver_kind = 'human'
            AND resolver_id <> '' AND reason = 'user' AND resolved_at < expires_at)),
    CONSTRAINT denied_says_deny CHECK (status <> 'denied'
        OR (decision = 'deny' AND (reason <> 'user' OR (resolver_kind = 'human' AND resolver_id <> '')))),
    CONSTRAINT nobody_decided CHECK (status NOT IN ('expired', 'cancelled') OR decision = ''),
    CONSTRAINT expired_at_the_deadline CHECK (status <> 'expired' OR resolved_at >= expires_at),
    CONSTRAINT only_allowed_has_a_grant CHECK ((status = 'allowed') = (execution <> 'none')
        AND (status = 'allowed') = (claim_by <> 0)),
    CONSTRAINT voided_has_a_reason CHECK ((execution = 'voided') = (void_reason <> '')),
    CONSTRAINT claimed_is_complete CHECK (CASE WHEN execution = 'claimed' OR execution = 'succeeded' OR execution = 'failed' OR execution = 'unknown'
        THEN consumed_at <> 0 AND claim_token <> '' AND outcome_by <> 0 AND consumed_at < claim_by
        ELSE consumed_at = 0 AND claim_token = '' AND outcome_by = 0 END),
    CONSTRAINT reported_has_a_time CHECK ((execution = 'succeeded' OR execution = 'failed' OR execution = 'unknown') = (outcome_at <> 0))
) STRICT;

CREATE UNIQUE INDEX approvals_key ON approvals (runtime, idempotency_key, key_generation) WHERE idempotency_key <> '';
CREATE INDEX approvals_history ON approvals (created_at, id);
CREATE INDEX approvals_runtime_history ON approvals (runtime, created_at, id);
CREATE INDEX approvals_pending_expiry ON approvals (expires_at) WHERE status = 'pending';
CREATE INDEX approvals_pending_list ON approvals (runtime, created_at, id, expires_at) WHERE status = 'pending';
-- What ran without asking, however rare it is among all that asked.
CREATE INDEX approvals_auto ON approvals (created_at, id) WHERE origin = 'auto';
CREATE INDEX approvals_unclaimed ON approvals (claim_by) WHERE execution = 'unclaimed';
CREATE INDEX approvals_claimed ON approvals (outcome_by) WHERE execution = 'claimed';
-- Declines that still answer the same action, by step 3 of the policy.
CREATE INDEX approvals_declined ON approvals (runtime, agent, action_hash, resolved_at, id) WHERE status = 'denied' AND reason = 'user';
CREATE INDEX approvals_run ON approvals (runtime, run_id, created_at) WHERE run_id <> '';

CREATE TABLE approval_details (
    approval_id TEXT    PRIMARY KEY REFERENCES approvals (id) ON DELETE CASCADE,
    text        TEXT    NOT NULL CHECK (octet_length(text) <= 65536),
    omitted     INTEGER NOT NULL DEFAULT 0 CHECK (omitted >= 0)
) STRICT;

-- Ids and refs of pruned approvals stay taken for ever where a caller chose the id.
CREATE TABLE spent_ids (
    id TEXT PRIMARY KEY
) STRICT, WITHOUT ROWID;

-- The outbox. AUTOINCREMENT: a number is never used twice, not even after pruning.
CREATE TABLE events (
    seq         INTEGER PRIMARY KEY AUTOINCREMENT,
    approval_id TEXT    NOT NULL,
    revision    INTEGER NOT NULL,
    type        TEXT    NOT NULL,
    runtime     TEXT    NOT NULL,
    previous    INTEGER NOT NULL DEFAULT 0, -- seq of the approval's event before this one; 0 for the first.
    caused_by   TEXT    NOT NULL DEFAULT '',
    created_at  INTEGER NOT NULL,
    payload     TEXT    NOT NULL, -- JSON, and not checked to be: it is made by an encoder, in the middle of every write.
    UNIQUE (approval_id, revision, type)
) STRICT;

-- What agents hear on a later turn: "look at this approval". A row is gone once it was
-- acknowledged, and comes again with the next change.
CREATE TABLE updates (
    approval_id     TEXT    NOT NULL REFERENCES approvals (id) ON DELETE CASCADE,
    kind            TEXT    NOT NULL CHECK (kind IN ('draft', 'ask-again')),
    runtime         TEXT    NOT NULL,
    agent           TEXT    NOT NULL,
    revision        INTEGER NOT NULL, -- Of the approval, when there was last something to tell.
    changed_at      INTEGER NOT NULL,
    claim_token     TEXT    NOT NULL DEFAULT '', -- Hash of the token of whoever holds it; '' for nobody.
    leased_until    INTEGER NOT NULL DEFAULT 0,
    leased_revision INTEGER NOT NULL DEFAULT 0, -- What they were given.
    PRIMARY KEY (approval_id, kind)
) STRICT, WITHOUT ROWID;
CREATE INDEX updates_queue ON updates (runtime, agent, changed_at, approval_id, kind);
CREATE INDEX updates_held ON updates (claim_token) WHERE claim_token <> '';

-- When a runtime last asked for the updates of an agent.
CREATE TABLE listeners (
    runtime  TEXT    NOT NULL CHECK (runtime <> ''),
    agent    TEXT    NOT NULL,
    heard_at INTEGER NOT NULL,
    PRIMARY KEY (runtime, agent)
) STRICT, WITHOUT ROWID;

-- Callbacks that are to be called, or that nobody could call. One that was taken is gone.
CREATE TABLE nudges (
    approval_id  TEXT    PRIMARY KEY REFERENCES approvals (id) ON DELETE CASCADE,
    revision     INTEGER NOT NULL, -- Of the approval, when there was last something to tell.
    since        INTEGER NOT NULL, -- When that was.
    due_at       INTEGER,          -- NULL once it was given up.
    attempts     INTEGER NOT NULL DEFAULT 0,
    lease_until  INTEGER NOT NULL DEFAULT 0,
    fence        INTEGER NOT NULL DEFAULT 0,
    last_error   TEXT    NOT NULL DEFAULT ''
) STRICT, WITHOUT ROWID;
CREATE INDEX nudges_due ON nudges (due_at) WHERE due_at IS NOT NULL;

-- The ledger. `destination` is as asked for; `address` as resolved, NULL before:
-- two rows of an approval never share an address. Closed duplicates give theirs up.
CREATE TABLE deliveries (
    id          TEXT    NOT NULL PRIMARY KEY,
    approval_id TEXT    NOT NULL REFERENCES approvals (id) ON DELETE CASCADE,
    channel     TEXT    NOT NULL CHECK (channel <> ''),
    account     TEXT    NOT NULL,
    destination TEXT    NOT NULL,
    person_id   TEXT    NOT NULL DEFAULT '',
    address     TEXT,
    locator     TEXT    NOT NULL DEFAULT '' CHECK (octet_length(locator) <= 1024),

    state          TEXT    NOT NULL CHECK (state = 'planned' OR state = 'sending' OR state = 'open' OR state = 'closed'),
    state_before   TEXT    NOT NULL DEFAULT '', -- What "sending" replaced: a send that never left returns to it.
    outcome        TEXT    NOT NULL DEFAULT '' CHECK (outcome = '' OR outcome = 'replaced' OR outcome = 'retired'
            OR outcome = 'unsupported' OR outcome = 'failed' OR outcome = 'skipped' OR outcome = 'possible-orphan'
            OR outcome = 'duplicate' OR outcome = 'moved'),
    closes_as      TEXT    NOT NULL DEFAULT '', -- Outcome that a follow-up will close the row with.
    step           TEXT    NOT NULL DEFAULT 'card' CHECK (step IN ('card', 'followup')),
    shown_revision INTEGER NOT NULL DEFAULT 0,
    view           INTEGER NOT NULL DEFAULT 0,
    shown_view     INTEGER NOT NULL DEFAULT 0,
    shown_hash     TEXT    NOT NULL DEFAULT '',
    offered        TEXT    CHECK (offered IS NULL OR json_valid(offered)),
    shown_complete INTEGER NOT NULL DEFAULT 0 CHECK (shown_complete IN (0, 1)),
    key_id         TEXT    NOT NULL DEFAULT '',

    attempts     INTEGER NOT NULL DEFAULT 0,
    generation   INTEGER NOT NULL DEFAULT 0,
    ambiguous    INTEGER NOT NULL DEFAULT 0 CHECK (ambiguous IN (0, 1)),
    unsettled    INTEGER NOT NULL DEFAULT 0 CHECK (unsettled IN (0, 1)),
    settle_at    INTEGER NOT NULL DEFAULT 0,
    due_at       INTEGER, -- NULL while nothing is to be done.
    answer_until  INTEGER NOT NULL DEFAULT 0, -- The answer to a click may paint the card: left alone before.
    edit_after    INTEGER NOT NULL DEFAULT 0, -- The platform takes no edit of this message before.
    told_revision INTEGER NOT NULL DEFAULT 0, -- Card revision that was told beside the card; 0 for none.
    give_up_at   INTEGER NOT NULL,
    lease_holder TEXT    NOT NULL DEFAULT '',
    lease_until  INTEGER NOT NULL DEFAULT 0,
    fence        INTEGER NOT NULL DEFAULT 0,
    stale_since  INTEGER NOT NULL DEFAULT 0, -- Since when the message does not show the record; 0 while it does.
    last_error      TEXT NOT NULL DEFAULT '',
    last_error_text TEXT NOT NULL DEFAULT '' CHECK (octet_length(last_error_text) <= 200),
    created_at   INTEGER NOT NULL,
    updated_at   INTEGER NOT NULL,

    CONSTRAINT closed_has_an_outcome CHECK ((state = 'closed') = (outcome <> '')),
    CONSTRAINT closed_is_not_due CHECK (state <> 'closed' OR due_at IS NULL),
    CONSTRAINT known_message_is_no_orphan CHECK (locator = '' OR (outcome <> 'possible-orphan' AND outcome <> 'skipped')),
    CONSTRAINT one_card_per_address UNIQUE (approval_id, channel, account, address)
) STRICT;
CREATE INDEX deliveries_due ON deliveries (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX deliveries_leased ON deliveries (lease_until) WHERE lease_holder <> '';
CREATE INDEX deliveries_live ON deliveries (give_up_at) WHERE state <> 'closed';
CREATE INDEX deliveries_message ON deliveries (channel, account, locator) WHERE locator <> '';

-- Chats that moved: from one address to the next, per bot.
CREATE TABLE chat_aliases (
    channel    TEXT    NOT NULL,
    account    TEXT    NOT NULL,
    address    TEXT    NOT NULL,
    moved_to   TEXT    NOT NULL CHECK (moved_to <> address),
    created_at INTEGER NOT NULL,
    PRIMARY KEY (channel, account, address)
) STRICT, WITHOUT ROWID;

-- No call to (account, address) before blocked_until; the address '' blocks the account.
CREATE TABLE blocks (
    channel       TEXT    NOT NULL,
    account       TEXT    NOT NULL,
    address       TEXT    NOT NULL DEFAULT '',
    blocked_until INTEGER NOT NULL,
    PRIMARY KEY (channel, account, address)
) STRICT, WITHOUT ROWID;

-- Destinations that failed for good when they were last tried, as asked for: a
-- person or a shared chat. A card that arrives deletes the row.
CREATE TABLE broken_routes (
    channel     TEXT    NOT NULL,
    account     TEXT    NOT NULL,
    destination TEXT    NOT NULL,
    person_id   TEXT    NOT NULL DEFAULT '',
    class       TEXT    NOT NULL CHECK (class <> ''),
    failures    INTEGER NOT NULL CHECK (failures >= 1),
    broken_at   INTEGER NOT NULL,
    retry_at    INTEGER NOT NULL CHECK (retry_at > broken_at),
    PRIMARY KEY (channel, account, destination)
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE broken_routes;
DROP TABLE blocks;
DROP TABLE chat_aliases;
DROP TABLE deliveries;
DROP TABLE nudges;
DROP TABLE listeners;
DROP TABLE updates;
DROP TABLE events;
DROP TABLE spent_ids;
DROP TABLE approval_details;
DROP TABLE approvals;
DROP TABLE reopened;
DROP TABLE policy_tables;
DROP TABLE policy_changes;
DROP TABLE rules;
DROP TABLE agents;
DROP TABLE runs;
DROP TABLE instances;
DROP TABLE prompts;
DROP TABLE code_failures;
DROP TABLE codes;
DROP TABLE tokens;
DROP TABLE sessions;
DROP TABLE agent_owners;
DROP TABLE identities;
DROP TABLE principals;
DROP TABLE leases;
DROP TABLE sealed_keys;
DROP TABLE deployment;
