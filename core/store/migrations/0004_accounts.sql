-- Accounts that are used up, until when, and how often in a row they were found so. `probe` is the
-- turn that tries the account again, once its time has come.
CREATE TABLE cooldowns (
    account  TEXT PRIMARY KEY,
    until_ms INTEGER NOT NULL,
    since_ms INTEGER NOT NULL,
    reason   TEXT NOT NULL,
    windows  INTEGER NOT NULL CHECK (windows >= 1),
    probe    INTEGER
) WITHOUT ROWID;
