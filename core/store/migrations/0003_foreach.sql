-- Items of a foreach are tasks; one more task stands for the barrier of each.
ALTER TABLE tasks ADD COLUMN item_index INTEGER;
ALTER TABLE tasks ADD COLUMN step INTEGER NOT NULL DEFAULT 0;
ALTER TABLE tasks ADD COLUMN item TEXT;
ALTER TABLE tasks ADD COLUMN barrier INTEGER NOT NULL DEFAULT 0;

-- What a step of an item left: for its later steps alone (keep), or for its batch (write), which
-- nobody reads before the barrier. `value` is JSON.
CREATE TABLE item_values (
    task    INTEGER NOT NULL REFERENCES tasks(id),
    step    INTEGER NOT NULL,
    kind    TEXT NOT NULL CHECK (kind IN ('keep', 'write')),
    name    TEXT NOT NULL,              -- the name it is kept under, or the dotted path
    reducer TEXT,
    value   TEXT NOT NULL,
    PRIMARY KEY (task, step, kind)
) WITHOUT ROWID;

-- What a barrier committed is committed once, and for good: batches.committed says which rows of
-- item_values are the batch's values.
CREATE TRIGGER commits_are_final BEFORE UPDATE OF committed ON batches
WHEN OLD.committed IS NOT NULL AND NEW.committed IS NOT OLD.committed
BEGIN
    SELECT RAISE(ABORT, 'a committed barrier never changes');
END;
CREATE TRIGGER committed_values_stay BEFORE INSERT ON item_values
WHEN EXISTS (SELECT 1 FROM tasks JOIN batches ON batches.name = tasks.batch
             WHERE tasks.id = NEW.task AND batches.committed IS NOT NULL)
BEGIN
    SELECT RAISE(ABORT, 'the barrier of this batch has been committed');
END;
