"""The engine: what may run and why, kept safe on disk; it does not know that there is a screen."""
