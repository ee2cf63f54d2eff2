"""Screens: each shows the view and sends commands."""
