"""Examines a deck from outside: its files, its rows, its processes and what it stands on."""
