"""Widgets: each shows a part of the view, posts messages, decides nothing."""
