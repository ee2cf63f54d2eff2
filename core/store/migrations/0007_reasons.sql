-- What was read off words before: who stopped a turn, and why a task has FAILED that did not fail.
ALTER TABLE turns ADD COLUMN stopped_by TEXT;
UPDATE turns SET stopped_by = substr(error, length('stopped by ') + 1)
WHERE state IN (2, 7) AND error LIKE 'stopped by %';
UPDATE turns SET stopped_by = substr(error, length('cancelled by ') + 1)
WHERE state = 7 AND error LIKE 'cancelled by %';

ALTER TABLE tasks ADD COLUMN because TEXT;
UPDATE tasks SET because = 'dependency'
WHERE status = 'FAILED' AND error LIKE 'dependency % failed';
UPDATE tasks SET because = 'cancelled' WHERE status = 'FAILED' AND error LIKE 'cancelled%';
