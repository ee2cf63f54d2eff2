"""Numbered SQL files, applied in order by PRAGMA user_version."""
