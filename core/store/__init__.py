"""The deck's rows in SQLite, a module per family."""
