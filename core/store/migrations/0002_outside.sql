-- What is known of the world outside: questions that block tasks, and what trackers' events led to.

-- A blocker is spent once its task has left BLOCKED: what was answered then says nothing later.
ALTER TABLE blockers ADD COLUMN spent INTEGER NOT NULL DEFAULT 0;
ALTER TABLE blockers ADD COLUMN opened_by TEXT;
ALTER TABLE blockers ADD COLUMN answered_by TEXT;
CREATE INDEX blockers_not_spent ON blockers(task) WHERE spent = 0;

-- The last event of a task's issue that was acted upon, and the move it led to. `moved_ms` is the
-- task's `updated_ms` of that move: another one means that somebody has moved it since.
CREATE TABLE issue_moves (
    task     INTEGER PRIMARY KEY REFERENCES tasks(id),
    event    TEXT NOT NULL,
    status   TEXT NOT NULL,
    moved_ms INTEGER NOT NULL
) WITHOUT ROWID;

CREATE INDEX turns_superseded ON turns(task) WHERE state = 9;
