"""Real agents' programs against a model server on this machine."""
