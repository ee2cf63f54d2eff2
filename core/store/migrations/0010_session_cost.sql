-- What a conversation's session has cost so far, by programs that tell no more than that: what an
-- attempt has cost is what came in addition. Attempts had these sums as their own cost before.
ALTER TABLE conversations ADD COLUMN session_cost REAL;
UPDATE conversations SET session_cost = (
    SELECT max(attempts.cost) FROM attempts JOIN turns ON turns.id = attempts.turn
    WHERE turns.conversation = conversations.id)
WHERE session IS NOT NULL;
