-- A large batch is added in several transactions. Until the last of them this is the first of its
-- new tasks, and nothing of it starts; what a crash left of such a batch is taken away again.
ALTER TABLE batches ADD COLUMN adding INTEGER;
