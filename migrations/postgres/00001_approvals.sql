-- +goose Up

-- The same tables and columns as on SQLite; what differs is how they are locked,
-- indexed and numbered. All text compares by its bytes: ids have one order.

-- The singleton row. `clock` and `batch` belong to the writer of the embedded
-- store: here the time is the server's and every write has a commit of its own.
CREATE TABLE deployment (
    singleton   bigint PRIMARY KEY CHECK (singleton = 1),
    id          text COLLATE "C" NOT NULL,
    incarnation bigint NOT NULL DEFAULT 1 CHECK (incarnation >= 1),
    sealed      boolean NOT NULL DEFAULT false, -- It does not serve;
    sealed_as   text COLLATE "C" NOT NULL DEFAULT '' CHECK (sealed_as IN ('', 'backup', 'moved', 'arriving', 'restoring')), -- why not.
    copy_id     text COLLATE "C" NOT NULL DEFAULT '', -- The copy that this store came with, or was moved away by.
    created_at  bigint NOT NULL DEFAULT 0,
    clock       bigint NOT NULL DEFAULT 0,
    batch       bigint NOT NULL DEFAULT 0,
    -- The greatest number that an event ever had where this record came from: events
    -- are numbered on behind it, also where all of them were pruned.
    last_event  bigint NOT NULL DEFAULT 0,
    -- What the server was at the last start: another one may have lost commits.
    cluster     text COLLATE "C" NOT NULL DEFAULT '',
    timeline    bigint NOT NULL DEFAULT 0,
    CONSTRAINT only_sealed_has_a_reason CHECK (sealed OR sealed_as = '')
);

CREATE TABLE sealed_keys (
    id         text COLLATE "C" NOT NULL,
    purpose    text COLLATE "C" NOT NULL,
    sealed     bytea    NOT NULL,
    created_at bigint NOT NULL,
    PRIMARY KEY (purpose, id)
);

CREATE TABLE leases (
    name       text COLLATE "C" PRIMARY KEY,
    holder     text COLLATE "C" NOT NULL,
    fence      bigint NOT NULL CHECK (fence >= 1),
    held_until bigint NOT NULL
);

-- People.

CREATE TABLE principals (
    id         text COLLATE "C" PRIMARY KEY,
    name       text COLLATE "C" NOT NULL,
    role       text COLLATE "C" NOT NULL CHECK (role IN ('admin', 'reviewer', 'viewer')),
    disabled   boolean NOT NULL DEFAULT false,
    revision   bigint NOT NULL CHECK (revision >= 1),
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL
);

CREATE TABLE identities (
    realm        text COLLATE "C" NOT NULL CHECK (realm <> ''),
    external_id  text COLLATE "C" NOT NULL CHECK (external_id <> ''),
    principal_id text COLLATE "C" NOT NULL REFERENCES principals (id),
    label        text COLLATE "C" NOT NULL DEFAULT '',
    channel      text COLLATE "C" NOT NULL,
    account      text COLLATE "C" NOT NULL DEFAULT '',
    direct_chat  text COLLATE "C" NOT NULL DEFAULT '',
    linked_at    bigint NOT NULL,
    broken       text COLLATE "C" NOT NULL DEFAULT '',
    PRIMARY KEY (realm, external_id)
);
CREATE INDEX identities_principal ON identities (principal_id);

CREATE TABLE agent_owners (
    runtime      text COLLATE "C" NOT NULL,
    agent        text COLLATE "C" NOT NULL,
    principal_id text COLLATE "C" NOT NULL REFERENCES principals (id),
    PRIMARY KEY (runtime, agent, principal_id)
);
CREATE INDEX agent_owners_principal ON agent_owners (principal_id);

CREATE TABLE sessions (
    id           text COLLATE "C" PRIMARY KEY,
    hash         text COLLATE "C" NOT NULL UNIQUE,
    principal_id text COLLATE "C" NOT NULL REFERENCES principals (id),
    kind         text COLLATE "C" NOT NULL CHECK (kind IN ('browser', 'cli')),
    label        text COLLATE "C" NOT NULL DEFAULT '',
    created_at   bigint NOT NULL,
    expires_at   bigint NOT NULL CHECK (expires_at > created_at),
    ended_at     bigint NOT NULL DEFAULT 0
);
CREATE INDEX sessions_principal ON sessions (principal_id, created_at);
CREATE INDEX sessions_expiry ON sessions (expires_at);

CREATE TABLE tokens (
    id         text COLLATE "C" PRIMARY KEY,
    hash       text COLLATE "C" NOT NULL UNIQUE,
    runtime    text COLLATE "C" NOT NULL,
    scopes     json NOT NULL,
    acts_for   text COLLATE "C" REFERENCES principals (id), -- NULL for nobody.
    label      text COLLATE "C" NOT NULL DEFAULT '',
    created_at bigint NOT NULL,
    expires_at bigint NOT NULL DEFAULT 0,
    revoked_at bigint NOT NULL DEFAULT 0
);

-- used_at is also set when a code is burned or replaced: it is good while it is 0.
CREATE TABLE codes (
    hash         text COLLATE "C" PRIMARY KEY,
    purpose      text COLLATE "C" NOT NULL CHECK (purpose IN ('bootstrap', 'pair', 'link')),
    principal_id text COLLATE "C" REFERENCES principals (id), -- NULL for bootstrap.
    created_at   bigint NOT NULL,
    expires_at   bigint NOT NULL CHECK (expires_at > created_at),
    used_at      bigint NOT NULL DEFAULT 0,
    CHECK ((purpose = 'bootstrap') = (principal_id IS NULL))
);
CREATE UNIQUE INDEX codes_open_bootstrap ON codes (purpose) WHERE purpose = 'bootstrap' AND used_at = 0;
CREATE INDEX codes_expiry ON codes (expires_at);

-- Wrong codes over the whole deployment: `failures` since `window_at`.
CREATE TABLE code_failures (
    singleton bigint PRIMARY KEY CHECK (singleton = 1),
    window_at bigint NOT NULL DEFAULT 0,
    failures  bigint NOT NULL DEFAULT 0
);
INSERT INTO code_failures (singleton) VALUES (1);

CREATE TABLE prompts (
    id           text COLLATE "C" PRIMARY KEY,
    ref          text COLLATE "C" NOT NULL UNIQUE,
    purpose      text COLLATE "C" NOT NULL CHECK (purpose IN ('note', 'link', 'test', 'menu', 'again')),
    channel      text COLLATE "C" NOT NULL,
    account      text COLLATE "C" NOT NULL,
    chat         text COLLATE "C" NOT NULL,
    message      text COLLATE "C" NOT NULL DEFAULT '',
    realm        text COLLATE "C" NOT NULL,
    external_id  text COLLATE "C" NOT NULL,
    label        text COLLATE "C" NOT NULL DEFAULT '',
    approval_id  text COLLATE "C" NOT NULL DEFAULT '',
    delivery_id  text COLLATE "C" NOT NULL DEFAULT '',
    code_hash    text COLLATE "C" NOT NULL DEFAULT '',
    principal_id text COLLATE "C" NOT NULL DEFAULT '',
    choices      text COLLATE "C" NOT NULL DEFAULT '', -- What the buttons of a menu do, as JSON; '' for none.
    created_at   bigint NOT NULL,
    expires_at   bigint NOT NULL CHECK (expires_at > created_at),
    done_at      bigint NOT NULL DEFAULT 0
);
CREATE INDEX prompts_message ON prompts (channel, account, message) WHERE message <> '';
CREATE INDEX prompts_expiry ON prompts (expires_at);

-- The runtimes' own bookkeeping.

-- One row per boot; the greatest epoch of (runtime, name) is the current one.
CREATE TABLE instances (
    runtime       text COLLATE "C" NOT NULL,
    name          text COLLATE "C" NOT NULL,
    epoch         bigint NOT NULL CHECK (epoch >= 1),
    boot_id       text COLLATE "C" NOT NULL,
    registered_at bigint NOT NULL,
    facts         text COLLATE "C" NOT NULL DEFAULT '', -- What the runtime attests of it, as JSON; '' for nothing.
    PRIMARY KEY (runtime, name, epoch),
    UNIQUE (runtime, name, boot_id)
);

CREATE TABLE runs (
    runtime    text COLLATE "C" NOT NULL,
    id         text COLLATE "C" NOT NULL CHECK (id <> ''),
    created_at bigint NOT NULL,
    aborted_at bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (runtime, id)
);
CREATE INDEX runs_age ON runs (created_at) WHERE aborted_at = 0;

-- What people set of agents. Every change of an agent's mode or rules raises its
-- generation and leaves a row of policy_changes under it.

CREATE TABLE agents (
    runtime       text COLLATE "C" NOT NULL CHECK (runtime <> ''),
    name          text COLLATE "C" NOT NULL,
    mode          text COLLATE "C" NOT NULL DEFAULT '' CHECK (mode IN ('', 'before-anything-outside', 'before-everything', 'only-money-and-deletes')),
    mode_revision bigint NOT NULL DEFAULT 0,
    mode_since    bigint NOT NULL DEFAULT 0, -- The generation that the mode came with.
    generation    bigint NOT NULL CHECK (generation >= 1),
    updated_at    bigint NOT NULL,
    paused_at      bigint NOT NULL DEFAULT 0, -- 0 while it is not paused.
    paused_by      text COLLATE "C" NOT NULL DEFAULT '',
    paused_name    text COLLATE "C" NOT NULL DEFAULT '',
    pause_revision bigint NOT NULL DEFAULT 0,
    reset_at       bigint NOT NULL DEFAULT 0, -- When the life began that goes on now.
    deleted_at     bigint NOT NULL DEFAULT 0, -- 0 again as soon as something is set.
    PRIMARY KEY (runtime, name)
);

CREATE TABLE rules (
    id                text COLLATE "C" PRIMARY KEY CHECK (id <> ''),
    runtime           text COLLATE "C" NOT NULL CHECK (runtime <> ''),
    agent             text COLLATE "C" NOT NULL,
    tool              text COLLATE "C" NOT NULL CHECK (tool <> ''),
    operation         text COLLATE "C" NOT NULL DEFAULT '',
    scope             text COLLATE "C" NOT NULL CHECK (scope IN ('recipient', 'host', 'operation', 'tool')),
    value             text COLLATE "C" NOT NULL DEFAULT '',
    class             text COLLATE "C" NOT NULL CHECK (class IN ('write', 'send', 'money')),
    label             text COLLATE "C" NOT NULL DEFAULT '',
    policy_digest     text COLLATE "C" NOT NULL DEFAULT '',
    policy_generation bigint NOT NULL,
    approval_id       text COLLATE "C" NOT NULL DEFAULT '',
    created_by        text COLLATE "C" NOT NULL CHECK (created_by <> ''),
    created_name      text COLLATE "C" NOT NULL DEFAULT '',
    created_at        bigint NOT NULL,
    expires_at        bigint NOT NULL DEFAULT 0,
    uses_allowed      bigint NOT NULL DEFAULT 0 CHECK (uses_allowed >= 0),
    uses              bigint NOT NULL DEFAULT 0,
    last_used_at      bigint NOT NULL DEFAULT 0,
    removed_at        bigint NOT NULL DEFAULT 0,
    removed_by        text COLLATE "C" NOT NULL DEFAULT '',
    removed_name      text COLLATE "C" NOT NULL DEFAULT '',
    CONSTRAINT value_unless_whole_tool CHECK ((scope = 'tool') = (value = '') AND (scope <> 'tool' OR operation = '')),
    CONSTRAINT money_is_switched_in_the_list CHECK ((class = 'money') = (approval_id = '') AND (class <> 'money' OR scope = 'tool')),
    CONSTRAINT expires_after_its_making CHECK (expires_at = 0 OR expires_at > created_at),
    CONSTRAINT never_overused CHECK (uses >= 0 AND (uses_allowed = 0 OR uses <= uses_allowed))
);
CREATE INDEX rules_live ON rules (runtime, agent, id) WHERE removed_at = 0;
CREATE INDEX rules_history ON rules (created_at, id);
CREATE UNIQUE INDEX rules_card ON rules (approval_id) WHERE approval_id <> '';

CREATE TABLE policy_changes (
    runtime     text COLLATE "C" NOT NULL,
    agent       text COLLATE "C" NOT NULL,
    generation  bigint NOT NULL,
    kind        text COLLATE "C" NOT NULL CHECK (kind IN ('mode-set', 'rule-made', 'rule-removed', 'rule-spent', 'restored', 'paused', 'resumed',
        'reset', 'deleted')),
    rule_id     text COLLATE "C" NOT NULL DEFAULT '',
    mode_before text COLLATE "C" NOT NULL DEFAULT '',
    mode_after  text COLLATE "C" NOT NULL DEFAULT '',
    by_id       text COLLATE "C" NOT NULL DEFAULT '',
    by_name     text COLLATE "C" NOT NULL DEFAULT '',
    created_at  bigint NOT NULL,
    PRIMARY KEY (runtime, agent, generation)
);
CREATE INDEX policy_changes_age ON policy_changes (created_at);

-- The policy files that were in force, by their digest; the greatest number is.
CREATE TABLE policy_tables (
    number     bigint PRIMARY KEY CHECK (number >= 1),
    digest     text COLLATE "C" NOT NULL CHECK (length(digest) = 71),
    put_by     text COLLATE "C" NOT NULL DEFAULT '',
    created_at bigint NOT NULL
);
CREATE INDEX policy_tables_digest ON policy_tables (digest, number);

-- Declined actions that a person let be asked again.
CREATE TABLE reopened (
    approval_id text COLLATE "C" PRIMARY KEY CHECK (approval_id <> ''),
    by_id       text COLLATE "C" NOT NULL CHECK (by_id <> ''),
    by_name     text COLLATE "C" NOT NULL DEFAULT '',
    created_at  bigint NOT NULL
);

-- The record. Lists are JSON. The checks repeat the rules of the decoder, so that
-- a tuple which the state machine cannot produce is not even written.
CREATE TABLE approvals (
    id              text COLLATE "C" NOT NULL PRIMARY KEY CHECK (id <> ''),
    ref             text COLLATE "C" NOT NULL UNIQUE CHECK (length(ref) = 43),
    kind            text COLLATE "C" NOT NULL CHECK (kind IN ('exec', 'plugin')),
    origin          text COLLATE "C" NOT NULL CHECK (origin IN ('ask', 'auto')),
    runtime         text COLLATE "C" NOT NULL CHECK (runtime <> ''),
    instance        text COLLATE "C" NOT NULL DEFAULT '',
    epoch           bigint NOT NULL DEFAULT 0,
    idempotency_key text COLLATE "C" NOT NULL DEFAULT '',
    key_generation  bigint NOT NULL DEFAULT 0,
    request_hash    text COLLATE "C" NOT NULL,
    supersedes      text COLLATE "C" NOT NULL DEFAULT '',
    sticky_of       text COLLATE "C" NOT NULL DEFAULT '',

    operation_id    text COLLATE "C" NOT NULL DEFAULT '',
    operation_type  text COLLATE "C" NOT NULL DEFAULT '',
    tool            text COLLATE "C" NOT NULL DEFAULT '',
    operation       text COLLATE "C" NOT NULL DEFAULT '',
    arguments_hash  text COLLATE "C" NOT NULL CHECK (length(arguments_hash) = 71),
    action_hash     text COLLATE "C" NOT NULL CHECK (length(action_hash) = 71),
    fingerprint     text COLLATE "C" NOT NULL,
    class           text COLLATE "C" NOT NULL CHECK (class IN ('read', 'write', 'send', 'money')),
    class_source    text COLLATE "C" NOT NULL DEFAULT '',
    risk            text COLLATE "C" NOT NULL DEFAULT '',
    presentation    json NOT NULL CHECK (octet_length(presentation::text) <= 4096),
    detail_bytes    bigint NOT NULL DEFAULT 0,
    detail_omitted  bigint NOT NULL DEFAULT 0,

    offered           json NOT NULL,
    always_offer      json,
    policy_id         text COLLATE "C" NOT NULL DEFAULT '',
    policy_generation bigint NOT NULL DEFAULT 0,
    trail             json,
    continuation      text COLLATE "C" NOT NULL CHECK (continuation IN ('live', 'durable', 'draft')),

    agent       text COLLATE "C" NOT NULL DEFAULT '',
    session_key text COLLATE "C" NOT NULL DEFAULT '',
    run_id      text COLLATE "C" NOT NULL DEFAULT '',
    frame_id    text COLLATE "C" NOT NULL DEFAULT '',
    group_id    text COLLATE "C" NOT NULL DEFAULT '',
    caused_by   text COLLATE "C" NOT NULL DEFAULT '',
    audience    json CHECK (audience IS NULL OR json_array_length(audience) <= 64),
    callback_url text COLLATE "C" NOT NULL DEFAULT '' CHECK (octet_length(callback_url) <= 2048),

    requested_by      text COLLATE "C" NOT NULL DEFAULT '',
    reviewers         json, -- NULL: no explicit list; '[]': nobody.
    exclude_requester boolean NOT NULL DEFAULT false,
    require_push      boolean NOT NULL DEFAULT false,

    created_at bigint NOT NULL CHECK (created_at > 0),
    expires_at bigint NOT NULL,
    updated_at bigint NOT NULL,

    status        text COLLATE "C" NOT NULL CHECK (status IN ('pending', 'allowed', 'denied', 'expired', 'cancelled')),
    decision      text COLLATE "C" NOT NULL DEFAULT '' CHECK (decision IN ('', 'allow-once', 'allow-always', 'deny')),
    reason        text COLLATE "C" NOT NULL DEFAULT '',
    note          text COLLATE "C" NOT NULL DEFAULT '',
    by_message    boolean NOT NULL DEFAULT false,
    decision_key  text COLLATE "C" NOT NULL DEFAULT '',
    attempt_id    text COLLATE "C" NOT NULL DEFAULT '',
    resolved_at   bigint NOT NULL DEFAULT 0,
    resolver_kind text COLLATE "C" NOT NULL DEFAULT '' CHECK (resolver_kind IN ('', 'human', 'policy', 'runtime', 'system')),
    resolver_id   text COLLATE "C" NOT NULL DEFAULT '',
    resolver_name text COLLATE "C" NOT NULL DEFAULT '',
    surface       text COLLATE "C" NOT NULL DEFAULT '',
    delivery_id   text COLLATE "C" NOT NULL DEFAULT '',
    proof         text COLLATE "C" NOT NULL DEFAULT '',
    partial_view  boolean NOT NULL DEFAULT false,

    execution     text COLLATE "C" NOT NULL CHECK (execution IN ('none', 'unclaimed', 'claimed', 'succeeded', 'failed', 'unknown', 'voided')),
    claim_by      bigint NOT NULL DEFAULT 0,
    claim_token   text COLLATE "C" NOT NULL DEFAULT '',
    consumed_at   bigint NOT NULL DEFAULT 0,
    consumed_by   text COLLATE "C" NOT NULL DEFAULT '',
    outcome_by    bigint NOT NULL DEFAULT 0,
    outcome_at    bigint NOT NULL DEFAULT 0,
    outcome_error text COLLATE "C" NOT NULL DEFAULT '',
    void_reason   text COLLATE "C" NOT NULL DEFAULT '' CHECK (void_reason IN ('', 'lapsed', 'run-aborted', 'runtime-restart', 'superseded', 'storage-restored', 'hash-mismatch',
        'policy-changed')),
    aftermath     json CHECK (aftermath IS NULL OR status <> 'pending'), -- What people did about the outcome.

    revision      bigint NOT NULL CHECK (revision >= 1),
    card_revision bigint NOT NULL CHECK (card_revision BETWEEN 1 AND revision),

    CONSTRAINT times_in_order CHECK (expires_at > created_at AND updated_at >= created_at),
    CONSTRAINT auto_names_its_policy CHECK ((origin = 'auto') = (policy_id <> '')),
    CONSTRAINT reason_fits_status CHECK (CASE status
        WHEN 'pending'   THEN reason = ''
        WHEN 'allowed'   THEN reason IN ('user', 'policy')
        WHEN 'denied'    THEN reason IN ('user', 'policy', 'message', 'malformed-verdict', 'hash-mismatch', 'no-route', 'sticky-decline', 'storage-corrupt')
        WHEN 'expired'   THEN reason = 'timeout'
        WHEN 'cancelled' THEN reason IN ('withdrawn', 'admin', 'run-aborted', 'runtime-restart', 'superseded', 'storage-restored')
        END),
    CONSTRAINT pending_has_no_outcome CHECK (status <> 'pending' OR (decision = '' AND note = '' AND NOT by_message
        AND decision_key = '' AND attempt_id = '' AND resolved_at = 0 AND resolver_kind = '' AND resolver_id = ''
        AND resolver_name = '' AND surface = '' AND delivery_id = '' AND proof = '' AND NOT partial_view)),
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
    CONSTRAINT claimed_is_complete CHECK (CASE WHEN execution IN ('claimed', 'succeeded', 'failed', 'unknown')
        THEN consumed_at <> 0 AND claim_token <> '' AND outcome_by <> 0 AND consumed_at < claim_by
        ELSE consumed_at = 0 AND claim_token = '' AND outcome_by = 0 END),
    CONSTRAINT reported_has_a_time CHECK ((execution IN ('succeeded', 'failed', 'unknown')) = (outcome_at <> 0))
);

-- Everything that is looked for by its state has a partial index: what is pending,
-- unclaimed, claimed or due is found in as many pages however many rows are
-- retained.
CREATE UNIQUE INDEX approvals_key ON approvals (runtime, idempotency_key, key_generation) WHERE idempotency_key <> '';
CREATE INDEX approvals_history ON approvals (created_at, id);
CREATE INDEX approvals_runtime_history ON approvals (runtime, created_at, id);
CREATE INDEX approvals_pending_expiry ON approvals (expires_at) WHERE status = 'pending';
CREATE INDEX approvals_pending_list ON approvals (runtime, created_at, id, expires_at) WHERE status = 'pending';
CREATE INDEX approvals_pending_newest ON approvals (created_at, id) WHERE status = 'pending';
-- What ran without asking, however rare it is among all that asked.
CREATE INDEX approvals_auto ON approvals (created_at, id) WHERE origin = 'auto';
CREATE INDEX approvals_unclaimed ON approvals (claim_by) WHERE execution = 'unclaimed';
CREATE INDEX approvals_claimed ON approvals (outcome_by) WHERE execution = 'claimed';
-- Declines that still answer the same action, by step 3 of the policy.
CREATE INDEX approvals_declined ON approvals (runtime, agent, action_hash, resolved_at, id) WHERE status = 'denied' AND reason = 'user';
CREATE INDEX approvals_run ON approvals (runtime, run_id, created_at) WHERE run_id <> '';

CREATE TABLE approval_details (
    approval_id text COLLATE "C" PRIMARY KEY REFERENCES approvals (id) ON DELETE CASCADE,
    text        text COLLATE "C" NOT NULL CHECK (octet_length(text) <= 65536),
    omitted     bigint NOT NULL DEFAULT 0 CHECK (omitted >= 0)
);

-- Ids and refs of pruned approvals stay taken for ever where a caller chose the id.
CREATE TABLE spent_ids (
    id text COLLATE "C" PRIMARY KEY
);

-- The outbox. An event is written without a number, in the transaction of its
-- change; a sequencer numbers what is visible, without gaps, and fills `previous`.
CREATE TABLE events (
    seq         bigint, -- NULL until it is numbered.
    approval_id text COLLATE "C" NOT NULL,
    revision    bigint NOT NULL,
    type        text COLLATE "C" NOT NULL,
    runtime     text COLLATE "C" NOT NULL,
    previous    bigint NOT NULL DEFAULT 0, -- seq of the approval's event before this one; 0 for the first.
    caused_by   text COLLATE "C" NOT NULL DEFAULT '',
    created_at  bigint NOT NULL,
    payload     json NOT NULL,
    PRIMARY KEY (approval_id, revision, type)
);
CREATE UNIQUE INDEX events_number ON events (seq) WHERE seq IS NOT NULL;
CREATE INDEX events_unnumbered ON events (created_at, approval_id, revision) WHERE seq IS NULL;

-- What agents hear on a later turn: "look at this approval". A row is gone once it was
-- acknowledged, and comes again with the next change.
CREATE TABLE updates (
    approval_id     text COLLATE "C" NOT NULL REFERENCES approvals (id) ON DELETE CASCADE,
    kind            text COLLATE "C" NOT NULL CHECK (kind IN ('draft', 'ask-again')),
    runtime         text COLLATE "C" NOT NULL,
    agent           text COLLATE "C" NOT NULL,
    revision        bigint NOT NULL, -- Of the approval, when there was last something to tell.
    changed_at      bigint NOT NULL,
    claim_token     text COLLATE "C" NOT NULL DEFAULT '', -- Hash of the token of whoever holds it; '' for nobody.
    leased_until    bigint NOT NULL DEFAULT 0,
    leased_revision bigint NOT NULL DEFAULT 0, -- What they were given.
    PRIMARY KEY (approval_id, kind)
);
CREATE INDEX updates_queue ON updates (runtime, agent, changed_at, approval_id, kind);
CREATE INDEX updates_held ON updates (claim_token) WHERE claim_token <> '';

-- When a runtime last asked for the updates of an agent.
CREATE TABLE listeners (
    runtime  text COLLATE "C" NOT NULL CHECK (runtime <> ''),
    agent    text COLLATE "C" NOT NULL,
    heard_at bigint NOT NULL,
    PRIMARY KEY (runtime, agent)
);

-- Callbacks that are to be called, or that nobody could call. One that was taken is gone.
CREATE TABLE nudges (
    approval_id text COLLATE "C" PRIMARY KEY REFERENCES approvals (id) ON DELETE CASCADE,
    revision    bigint NOT NULL, -- Of the approval, when there was last something to tell.
    since       bigint NOT NULL, -- When that was.
    due_at      bigint,          -- NULL once it was given up.
    attempts    bigint NOT NULL DEFAULT 0,
    lease_until bigint NOT NULL DEFAULT 0,
    fence       bigint NOT NULL DEFAULT 0,
    last_error  text COLLATE "C" NOT NULL DEFAULT ''
);
CREATE INDEX nudges_due ON nudges (due_at) WHERE due_at IS NOT NULL;

-- The ledger. `destination` is as asked for; `address` as resolved, NULL before:
-- two rows of an approval never share an address. Closed duplicates give theirs up.
CREATE TABLE deliveries (
    id          text COLLATE "C" NOT NULL PRIMARY KEY,
    approval_id text COLLATE "C" NOT NULL REFERENCES approvals (id) ON DELETE CASCADE,
    channel     text COLLATE "C" NOT NULL CHECK (channel <> ''),
    account     text COLLATE "C" NOT NULL,
    destination text COLLATE "C" NOT NULL,
    person_id   text COLLATE "C" NOT NULL DEFAULT '',
    address     text COLLATE "C",
    locator     text COLLATE "C" NOT NULL DEFAULT '' CHECK (octet_length(locator) <= 1024),

    state          text COLLATE "C" NOT NULL CHECK (state IN ('planned', 'sending', 'open', 'closed')),
    state_before   text COLLATE "C" NOT NULL DEFAULT '', -- What "sending" replaced: a send that never left returns to it.
    outcome        text COLLATE "C" NOT NULL DEFAULT '' CHECK (outcome IN ('', 'replaced', 'retired', 'unsupported', 'failed', 'skipped', 'possible-orphan', 'duplicate', 'moved')),
    closes_as      text COLLATE "C" NOT NULL DEFAULT '', -- Outcome that a follow-up will close the row with.
    step           text COLLATE "C" NOT NULL DEFAULT 'card' CHECK (step IN ('card', 'followup')),
    shown_revision bigint NOT NULL DEFAULT 0,
    view           bigint NOT NULL DEFAULT 0,
    shown_view     bigint NOT NULL DEFAULT 0,
    shown_hash     text COLLATE "C" NOT NULL DEFAULT '',
    offered        json,
    shown_complete boolean NOT NULL DEFAULT false,
    key_id         text COLLATE "C" NOT NULL DEFAULT '',

    attempts     bigint NOT NULL DEFAULT 0,
    generation   bigint NOT NULL DEFAULT 0,
    ambiguous    boolean NOT NULL DEFAULT false,
    unsettled    boolean NOT NULL DEFAULT false,
    settle_at    bigint NOT NULL DEFAULT 0,
    due_at       bigint, -- NULL while nothing is to be done.
    answer_until  bigint NOT NULL DEFAULT 0, -- The answer to a click may paint the card: left alone before.
    edit_after    bigint NOT NULL DEFAULT 0, -- The platform takes no edit of this message before.
    told_revision bigint NOT NULL DEFAULT 0, -- Card revision that was told beside the card; 0 for none.
    give_up_at   bigint NOT NULL,
    lease_holder text COLLATE "C" NOT NULL DEFAULT '',
    lease_until  bigint NOT NULL DEFAULT 0,
    fence        bigint NOT NULL DEFAULT 0,
    stale_since  bigint NOT NULL DEFAULT 0, -- Since when the message does not show the record; 0 while it does.
    last_error      text COLLATE "C" NOT NULL DEFAULT '',
    last_error_text text COLLATE "C" NOT NULL DEFAULT '' CHECK (octet_length(last_error_text) <= 200),
    created_at   bigint NOT NULL,
    updated_at   bigint NOT NULL,

    CONSTRAINT closed_has_an_outcome CHECK ((state = 'closed') = (outcome <> '')),
    CONSTRAINT closed_is_not_due CHECK (state <> 'closed' OR due_at IS NULL),
    CONSTRAINT known_message_is_no_orphan CHECK (locator = '' OR (outcome <> 'possible-orphan' AND outcome <> 'skipped')),
    CONSTRAINT one_card_per_address UNIQUE (approval_id, channel, account, address)
);
CREATE INDEX deliveries_due ON deliveries (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX deliveries_leased ON deliveries (lease_until) WHERE lease_holder <> '';
CREATE INDEX deliveries_live ON deliveries (give_up_at) WHERE state <> 'closed';
CREATE INDEX deliveries_message ON deliveries (channel, account, locator) WHERE locator <> '';

-- Chats that moved: from one address to the next, per bot.
CREATE TABLE chat_aliases (
    channel    text COLLATE "C" NOT NULL,
    account    text COLLATE "C" NOT NULL,
    address    text COLLATE "C" NOT NULL,
    moved_to   text COLLATE "C" NOT NULL CHECK (moved_to <> address),
    created_at bigint NOT NULL,
    PRIMARY KEY (channel, account, address)
);

-- No call to (account, address) before blocked_until; the address '' blocks the account.
CREATE TABLE blocks (
    channel       text COLLATE "C" NOT NULL,
    account       text COLLATE "C" NOT NULL,
    address       text COLLATE "C" NOT NULL DEFAULT '',
    blocked_until bigint NOT NULL,
    PRIMARY KEY (channel, account, address)
);

-- Destinations that failed for good when they were last tried, as asked for: a
-- person or a shared chat. A card that arrives deletes the row.
CREATE TABLE broken_routes (
    channel     text COLLATE "C" NOT NULL,
    account     text COLLATE "C" NOT NULL,
    destination text COLLATE "C" NOT NULL,
    person_id   text COLLATE "C" NOT NULL DEFAULT '',
    class       text COLLATE "C" NOT NULL CHECK (class <> ''),
    failures    bigint NOT NULL CHECK (failures >= 1),
    broken_at   bigint NOT NULL,
    retry_at    bigint NOT NULL CHECK (retry_at > broken_at),
    PRIMARY KEY (channel, account, destination)
);

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
