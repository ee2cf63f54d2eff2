"""Trackers asked over real HTTP."""
