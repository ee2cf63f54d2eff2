-- Steps of several items may take their turns in one conversation of their batch, by its name.
ALTER TABLE conversations ADD COLUMN batch TEXT;
ALTER TABLE conversations ADD COLUMN name TEXT;
CREATE UNIQUE INDEX conversations_by_name ON conversations(batch, name) WHERE name IS NOT NULL;

-- The name of the conversation that an item's step goes on in; NULL: the item's own.
ALTER TABLE tasks ADD COLUMN shared TEXT;
