"""How each kind of agent takes a turn."""
