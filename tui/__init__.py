"""The terminal: dashboard and command line."""
