"""How each kind of output says what an agent achieved."""
