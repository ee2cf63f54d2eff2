"""Where an agent's process is started, and the runner that owns it."""
