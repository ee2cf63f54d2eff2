-- What agents and batches have used, by `agent:NAME` and `batch:NAME`, as far as programs said so.
-- Kept as attempts end, and never counted anew.
CREATE TABLE spent (
    name     TEXT PRIMARY KEY,
    tokens   INTEGER NOT NULL,
    money    REAL NOT NULL,
    unknown  INTEGER NOT NULL,
    unpriced INTEGER NOT NULL,
    attempts INTEGER NOT NULL
) WITHOUT ROWID;
INSERT INTO spent
SELECT 'agent:' || turns.agent, sum(coalesce(tokens_in + tokens_out, 0)), sum(coalesce(cost, 0)),
    sum(tokens_in IS NULL OR tokens_out IS NULL), sum(cost IS NULL), count(*)
FROM attempts JOIN turns ON turns.id = attempts.turn
WHERE attempts.ended_ms IS NOT NULL GROUP BY turns.agent;
INSERT INTO spent
SELECT 'batch:' || turns.batch, sum(coalesce(tokens_in + tokens_out, 0)), sum(coalesce(cost, 0)),
    sum(tokens_in IS NULL OR tokens_out IS NULL), sum(cost IS NULL), count(*)
FROM attempts JOIN turns ON turns.id = attempts.turn
WHERE attempts.ended_ms IS NOT NULL AND turns.batch IS NOT NULL GROUP BY turns.batch;

-- What a batch may use. `granted`: how often a person has allowed as much.
CREATE TABLE budgets (
    batch   TEXT PRIMARY KEY,
    tokens  INTEGER,
    money   REAL,
    hard    INTEGER NOT NULL,
    granted INTEGER NOT NULL CHECK (granted >= 1)
) WITHOUT ROWID;
