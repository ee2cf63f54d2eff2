"""The control socket: the deck's one door, reached from other processes."""
