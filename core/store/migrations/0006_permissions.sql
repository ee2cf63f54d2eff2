-- Asks of agents that still run: what an answer "allow always" is about, and in words.
ALTER TABLE asks ADD COLUMN scope TEXT;
ALTER TABLE asks ADD COLUMN covers TEXT NOT NULL DEFAULT '';

-- What a person has allowed an agent for always; the id is that of the ask that was answered so.
CREATE TABLE allowances (
    id     INTEGER PRIMARY KEY,
    agent  TEXT NOT NULL,
    scope  TEXT NOT NULL,
    covers TEXT NOT NULL,
    by     TEXT NOT NULL,
    at_ms  INTEGER NOT NULL,
    UNIQUE (agent, scope)
);
