-- The deck. Times are UTC milliseconds; ids that people see are text, ids of rows are integers.

CREATE TABLE facts (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE agents (
    name       TEXT PRIMARY KEY,
    definition TEXT NOT NULL,           -- JSON, as in a batch file; never a secret, names only
    version    INTEGER NOT NULL,
    origin     TEXT NOT NULL,           -- the file or the command it came from
    changed_ms INTEGER NOT NULL,
    removed    INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;

CREATE TABLE batches (
    id                 INTEGER PRIMARY KEY,
    name               TEXT NOT NULL UNIQUE,
    state              TEXT NOT NULL,
    on_error           TEXT NOT NULL,
    collect_to         TEXT,
    interrupt          TEXT NOT NULL,
    max_attempts       INTEGER NOT NULL CHECK (max_attempts >= 1),
    reconcile_seconds  REAL NOT NULL,
    budget             TEXT,
    base               TEXT NOT NULL,
    file               TEXT,
    prepare            TEXT NOT NULL DEFAULT '[]',
    foreach            TEXT,
    created_ms         INTEGER NOT NULL,
    ended_ms           INTEGER,
    stopped_admitting  INTEGER NOT NULL DEFAULT 0,
    committed          TEXT               -- a foreach's barrier, once it is committed (JSON)
);

CREATE TABLE folders (
    id   INTEGER PRIMARY KEY,
    key  TEXT NOT NULL UNIQUE,
    path TEXT NOT NULL
);

-- Every folder with every folder above it, itself included: what the guard asks about overlap.
CREATE TABLE folders_above (
    folder INTEGER NOT NULL REFERENCES folders(id) ON DELETE CASCADE,
    above  TEXT NOT NULL,
    depth  INTEGER NOT NULL,
    PRIMARY KEY (folder, above)
) WITHOUT ROWID;
CREATE INDEX folders_above_by_key ON folders_above(above, folder);

CREATE TABLE defined_folders (
    name TEXT PRIMARY KEY,
    path TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE conversations (
    id         INTEGER PRIMARY KEY,
    agent      TEXT NOT NULL,
    task       INTEGER,
    session    TEXT,
    title      TEXT NOT NULL DEFAULT '',
    created_ms INTEGER NOT NULL
);

CREATE TABLE tasks (
    id           INTEGER PRIMARY KEY,
    key          TEXT NOT NULL,
    batch        TEXT NOT NULL REFERENCES batches(name),
    title        TEXT NOT NULL,
    agent        TEXT NOT NULL,
    prompt       TEXT NOT NULL,
    status       TEXT NOT NULL,
    conversation INTEGER NOT NULL REFERENCES conversations(id),
    position     INTEGER NOT NULL,
    priority     INTEGER NOT NULL,
    target       TEXT,
    folder       TEXT,
    issue        TEXT,
    turn         INTEGER,
    attempts     INTEGER NOT NULL DEFAULT 0,
    error        TEXT,
    fingerprint  TEXT NOT NULL,
    updated_ms   INTEGER NOT NULL,
    UNIQUE (batch, key)
);
CREATE INDEX tasks_by_issue ON tasks(issue) WHERE issue IS NOT NULL;

CREATE TABLE dependencies (
    task  INTEGER NOT NULL REFERENCES tasks(id) ON DELETE CASCADE,
    needs INTEGER NOT NULL REFERENCES tasks(id),
    PRIMARY KEY (task, needs)
) WITHOUT ROWID;
CREATE INDEX dependencies_by_needs ON dependencies(needs);

-- A turn's state is a number, so that what concerns every claim is cheap: 0 queued, 1 running,
-- 2 stopping, 3 waiting, then the ends: 4 succeeded, 5 failed, 6 incomplete, 7 cancelled, 8 lost,
-- 9 superseded. `turns_in_words` shows them as words.
CREATE TABLE turns (
    id            INTEGER PRIMARY KEY,
    agent         TEXT NOT NULL,
    conversation  INTEGER NOT NULL REFERENCES conversations(id),
    trigger       TEXT NOT NULL,
    position      INTEGER NOT NULL,
    state         INTEGER NOT NULL,
    priority      INTEGER NOT NULL,
    task          INTEGER REFERENCES tasks(id),
    batch         TEXT,
    target        TEXT,
    folder        INTEGER REFERENCES folders(id) ON DELETE SET NULL,
    lane          TEXT,
    not_before_ms INTEGER NOT NULL DEFAULT 0,
    held_by       TEXT,
    authorised    INTEGER NOT NULL DEFAULT 1,
    forced        TEXT NOT NULL DEFAULT '',   -- ',agent,global,': the gates it was sent past
    forced_by     TEXT,
    attempt       TEXT,
    attempts      INTEGER NOT NULL DEFAULT 0,
    queued_ms     INTEGER NOT NULL,
    started_ms    INTEGER,
    ended_ms      INTEGER,
    exit_code     INTEGER,
    error         TEXT,
    title         TEXT NOT NULL DEFAULT '',
    CHECK ((ended_ms IS NULL) = (state < 4))
);
CREATE INDEX turns_live ON turns(agent, batch, lane) WHERE state BETWEEN 1 AND 2;
CREATE INDEX turns_in_folders ON turns(folder) WHERE folder IS NOT NULL AND state BETWEEN 1 AND 3;
CREATE INDEX turns_begun ON turns(conversation) WHERE state BETWEEN 1 AND 3;
CREATE INDEX turns_begun_by_target ON turns(target)
    WHERE target IS NOT NULL AND state BETWEEN 1 AND 3;
CREATE INDEX turns_open_by_target ON turns(target, position, id)
    WHERE ended_ms IS NULL AND target IS NOT NULL;
CREATE INDEX turns_open_by_conversation ON turns(conversation, position, id)
    WHERE ended_ms IS NULL;

CREATE VIEW turns_in_words AS
SELECT turns.*, CASE state WHEN 0 THEN 'queued' WHEN 1 THEN 'running' WHEN 2 THEN 'stopping'
    WHEN 3 THEN 'waiting' WHEN 4 THEN 'succeeded' WHEN 5 THEN 'failed' WHEN 6 THEN 'incomplete'
    WHEN 7 THEN 'cancelled' WHEN 8 THEN 'lost' ELSE 'superseded' END AS state_word
FROM turns;

CREATE TABLE messages (
    id           INTEGER PRIMARY KEY,
    conversation INTEGER NOT NULL REFERENCES conversations(id),
    turn         INTEGER NOT NULL REFERENCES turns(id),
    role         TEXT NOT NULL CHECK (role IN ('operator','agent')),
    text         TEXT NOT NULL,
    at_ms        INTEGER NOT NULL
);
CREATE INDEX messages_by_conversation ON messages(conversation, id);
CREATE INDEX messages_by_turn ON messages(turn);

CREATE TABLE attempts (
    id            TEXT PRIMARY KEY,
    turn          INTEGER NOT NULL REFERENCES turns(id),
    number        INTEGER NOT NULL,
    agent_version INTEGER NOT NULL,
    claimed_ms    INTEGER NOT NULL,
    started_ms    INTEGER,
    ended_ms      INTEGER,
    "end"         TEXT,
    exit_code     INTEGER,
    leftovers     INTEGER NOT NULL DEFAULT 0,
    error         TEXT,
    tokens_in     INTEGER,
    tokens_out    INTEGER,
    cost          REAL
) WITHOUT ROWID;
CREATE INDEX attempts_by_turn ON attempts(turn);

CREATE TABLE asks (
    id          INTEGER PRIMARY KEY,
    turn        INTEGER NOT NULL REFERENCES turns(id),
    question    TEXT NOT NULL,
    choices     TEXT NOT NULL DEFAULT '[]',
    "schema"    TEXT,
    "default"   TEXT,
    alive       INTEGER NOT NULL,
    state       TEXT NOT NULL,
    answer      TEXT,
    opened_ms   INTEGER NOT NULL,
    answered_ms INTEGER,
    answered_by TEXT
);
CREATE INDEX asks_open ON asks(turn) WHERE state = 'open';

CREATE TABLE blockers (
    id          INTEGER PRIMARY KEY,
    task        INTEGER NOT NULL REFERENCES tasks(id),
    ask         INTEGER REFERENCES asks(id),
    question    TEXT NOT NULL,
    state       TEXT NOT NULL CHECK (state IN ('open','answered','resolved')),
    answer      TEXT,
    opened_ms   INTEGER NOT NULL,
    answered_ms INTEGER
);
CREATE INDEX blockers_by_task ON blockers(task);

CREATE TABLE receipts (
    delivery_id TEXT PRIMARY KEY,
    turn        INTEGER NOT NULL REFERENCES turns(id),
    at_ms       INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE limits (
    name       TEXT PRIMARY KEY,
    value      INTEGER CHECK (value >= 0),
    binding    INTEGER CHECK (binding >= 0),   -- what the guard counts against; NULL: nothing
    changed_by TEXT NOT NULL DEFAULT '',
    changed_ms INTEGER NOT NULL DEFAULT 0,
    origin     TEXT NOT NULL DEFAULT 'default',
    explicit   INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;

CREATE TABLE holds (
    what   TEXT PRIMARY KEY,
    by     TEXT NOT NULL,
    reason TEXT NOT NULL DEFAULT '',
    at_ms  INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE commands (
    id      TEXT PRIMARY KEY,
    kind    TEXT NOT NULL,
    by      TEXT NOT NULL,
    at_ms   INTEGER NOT NULL,
    receipt TEXT NOT NULL              -- JSON
) WITHOUT ROWID;

-- What happened, in order: one row per transaction, with its events as JSON arrays of
-- [seq, at_ms, kind, turn, task, batch, agent, by, fields]. `events_in_rows` has them one by one.
CREATE TABLE events (
    last_seq  INTEGER PRIMARY KEY,
    first_seq INTEGER NOT NULL,
    at_ms     INTEGER NOT NULL,
    body      TEXT NOT NULL
);

CREATE VIEW events_in_rows AS
SELECT json_extract(value, '$[0]') AS seq, json_extract(value, '$[1]') AS at_ms,
    json_extract(value, '$[2]') AS kind, json_extract(value, '$[3]') AS turn,
    json_extract(value, '$[4]') AS task, json_extract(value, '$[5]') AS batch,
    json_extract(value, '$[6]') AS agent, json_extract(value, '$[7]') AS by,
    json_extract(value, '$[8]') AS fields
FROM events, json_each(events.body);

-- The last word on every claim: a claim that would break a limit is ignored, and so not returned.
-- It counts rows, never counters; a forced turn passes only the gates named in it, and no closed one.
CREATE TRIGGER guard BEFORE UPDATE OF state ON turns
WHEN NEW.state = 1 AND OLD.state = 0
BEGIN
    SELECT RAISE(IGNORE) WHERE
        NEW.held_by IS NOT NULL OR NEW.authorised = 0
        OR EXISTS (
            SELECT 1 FROM limits WHERE name = 'global'
            AND (SELECT count(*) FROM turns WHERE state BETWEEN 1 AND 2) >= binding
            AND (binding = 0 OR instr(NEW.forced, ',global,') = 0))
        OR EXISTS (
            SELECT 1 FROM limits WHERE name = 'agent:' || NEW.agent
            AND (SELECT count(*) FROM turns
                 WHERE state BETWEEN 1 AND 2 AND agent = NEW.agent) >= binding
            AND (binding = 0 OR instr(NEW.forced, ',agent,') = 0))
        OR (NEW.batch IS NOT NULL AND EXISTS (
            SELECT 1 FROM limits WHERE name = 'batch:' || NEW.batch
            AND (SELECT count(*) FROM turns
                 WHERE state BETWEEN 1 AND 2 AND batch = NEW.batch) >= binding
            AND (binding = 0 OR instr(NEW.forced, ',batch,') = 0)))
        OR (NEW.batch IS NOT NULL AND NEW.lane IS NOT NULL AND EXISTS (
            SELECT 1 FROM limits WHERE name = 'status:' || NEW.batch || '/' || NEW.lane
            AND (SELECT count(*) FROM turns
                 WHERE state BETWEEN 1 AND 2
                 AND batch = NEW.batch AND lane = NEW.lane) >= binding
            AND (binding = 0 OR instr(NEW.forced, ',status,') = 0)))
        OR (NEW.target IS NOT NULL AND EXISTS (
            SELECT 1 FROM turns WHERE target = NEW.target AND ended_ms IS NULL
            AND (position, id) < (NEW.position, NEW.id)))
        OR (NEW.target IS NOT NULL AND EXISTS (
            SELECT 1 FROM turns WHERE target = NEW.target AND state BETWEEN 1 AND 3))
        OR EXISTS (
            SELECT 1 FROM turns WHERE conversation = NEW.conversation AND ended_ms IS NULL
            AND (position, id) < (NEW.position, NEW.id))
        OR EXISTS (
            SELECT 1 FROM turns WHERE conversation = NEW.conversation AND state BETWEEN 1 AND 3)
        OR (NEW.folder IS NOT NULL AND EXISTS (
            SELECT 1 FROM turns AS live JOIN folders AS theirs ON theirs.id = live.folder
            JOIN folders AS mine ON mine.id = NEW.folder
            WHERE live.folder IS NOT NULL AND live.state BETWEEN 1 AND 3 AND (
                EXISTS (SELECT 1 FROM folders_above
                        WHERE folder = NEW.folder AND above = theirs.key)
                OR EXISTS (SELECT 1 FROM folders_above
                           WHERE folder = live.folder AND above = mine.key))));
END;

-- Ends are final.
CREATE TRIGGER ends_are_final BEFORE UPDATE OF state ON turns
WHEN OLD.state >= 4 AND NEW.state <> OLD.state
BEGIN
    SELECT RAISE(ABORT, 'an ended turn never changes its state');
END;
